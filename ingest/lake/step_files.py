"""Which files hold the tables of a replay's steps, as they stand now."""

from __future__ import annotations

import json
from pathlib import Path

from ingest.lake.errors import NotPublished
from ingest.lake.step_schema import STEP_TABLES


def step_files(folder: Path) -> dict[str, tuple[str, ...]]:
    """By table. Raises `NotPublished` where no step is written yet."""
    real = folder.resolve()  # a replay done again is a link to another folder
    try:
        files = json.loads((real / "manifest.json").read_bytes())["files"]
    except FileNotFoundError as missing:
        raise NotPublished("no step of this replay is written yet") from missing
    return {name: tuple(str(real / path) for path in files.get(name, ())) for name in STEP_TABLES}
