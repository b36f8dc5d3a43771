"""Recordings that an older version made contradict nothing by what came to be written since."""

from pathlib import Path

import pytest

from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay

RECORDINGS = sorted((Path(__file__).parents[3] / "recordings").glob("*/*.tar.gz"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_older_recording_replays_identical(path: Path) -> None:
    with open_bundle(path) as bundle:
        outcome = replay(bundle, failure=0)
    assert outcome.verdict == "identical", outcome.sentence
