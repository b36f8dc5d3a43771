"""Quantities as pages write them; the cases are shared with tests/js/format.test.mjs."""

import json
from pathlib import Path

import pytest

from dashboard import measures

CASES = json.loads((Path(__file__).parents[1] / "js" / "format-cases.json").read_text())
NAMES = {"count": "count", "byteSize": "byte_size", "duration": "duration", "moment": "moment", "share": "share"}


@pytest.mark.parametrize("name", sorted(CASES))
def test_server_and_browser_write_the_same(name):
    written = [getattr(measures, NAMES[name])(*(v if isinstance(v, list) else [v])) for v, _ in CASES[name]]
    assert written == [text for _, text in CASES[name]]
