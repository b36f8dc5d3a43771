"""The bench of moving writes steps like a replay's, and asks what it says it asks."""

import random
from pathlib import Path

from bench.moving import SEARCHES, measured, write
from ingest.lake.step_reader import StepReader

STEPS = 20_000
# Too far into the replay for so few steps, or not there at all.
NO_HITS = {"a state", "a channel's buffer", "a determinant", "a key", "absent", "in one record"}


def test_every_search_hits_as_the_steps_are_made(tmp_path: Path) -> None:
    write(tmp_path, STEPS)
    reader = StepReader(tmp_path)
    assert STEPS <= reader.steps < STEPS + 10 and reader.complete
    result = measured(reader, 2, random.Random(1))
    assert set(result["continue"]) == set(result["scan"]) == set(SEARCHES)
    assert {name for name, one in result["scan"].items() if not one["hits"]} == NO_HITS
