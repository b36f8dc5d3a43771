"""What a step caused: the steps that name it as their cause."""

from __future__ import annotations

from typing import Any

from dashboard.queries.steps import numbered
from ingest.lake.step_reader import StepReader

MOST = 500
_COUNT = "SELECT count(DISTINCT step) FROM effects WHERE cause = $cause"


def of(written: StepReader, step: int, most: int = MOST) -> dict[str, Any]:
    """The nearest of them, and how many more there are."""
    found = numbered(written, written.effects(step, limit=most))
    in_all = int(written.rows(_COUNT, {"cause": f"step:{step}"})[0][0])
    return {"steps": [found[number] for number in sorted(found)], "left_out": max(0, in_all - len(found))}
