"""The independent reader's complaints about recordings of the engine."""

from __future__ import annotations

from pathlib import Path

from tests.oracle_reader import complaints

_TAKEN_TWICE = (": took buffers [", ": the next buffer from ")


def complaints_about(folder: Path, *, sharing_depth: int | None) -> list[str]:
    """All of them; but at depth 0 a new sender begins again at its checkpoint, and survivors take buffers twice."""
    found = complaints(folder)
    return [one for one in found if sharing_depth != 0 or not any(twice in one for twice in _TAKEN_TWICE)]
