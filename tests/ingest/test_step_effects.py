"""What follows from a step is found wherever it stands, and few row groups are looked at for it."""

import random
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ingest.lake import step_effects
from ingest.lake.step_effects import write_effects
from ingest.lake.step_schema import CAUSES
from ingest.lake.writers import TableWriter

STEP = re.compile("step:(0|[1-9][0-9]{0,17})")
ODD = ("step:", "step:x", "step:007", "step:-1", "step:٣", "step:1\n", f"step:{10**30}", "step:1 ", "det:a#1")


@pytest.mark.parametrize("seed", range(6))
def test_they_are_the_causes_in_another_order(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rng = random.Random(seed)
    monkeypatch.setattr(step_effects, "NEAR_STEPS", rng.choice((0, 5, 60)))
    monkeypatch.setattr(step_effects, "STRETCH_ROWS", rng.choice((1, 7, 100, 5000)))
    monkeypatch.setattr(step_effects, "STEP_ROW_GROUP_ROWS", 64)
    causes = [
        (step, cause)
        for step in range(1, rng.choice((2, 30, 900)))
        for cause in (f"step:{max(0, step - rng.choice((1, 2, 50, 10**6)))}", f"event:{step % 7}", rng.choice(ODD))
        if rng.random() < 0.8
    ]
    if not causes:
        causes = [(1, "step:0")]
    writer = TableWriter(CAUSES, tmp_path, "all", row_group_rows=64)
    writer.add_rows(causes)
    near, far, other = write_effects([tmp_path / file.path for file in writer.close()], tmp_path)
    found = [tuple(row.values()) for path in (*near, *far, *other) for row in pq.read_table(path).to_pylist()]
    assert sorted(found) == sorted(causes), f"seed {seed}"
    for paths, wanted in ((near, True), (far, True), (other, False)):
        for path in paths:
            assert all(bool(STEP.fullmatch(cause)) == wanted for cause in pq.read_table(path)["cause"].to_pylist())


def test_without_causes_there_are_no_files(tmp_path: Path):
    assert write_effects([], tmp_path) == [[], [], []]


def test_a_step_is_looked_for_in_few_row_groups(tmp_path: Path):
    """Each step follows from the one before it, and from the very first."""
    writer = TableWriter(CAUSES, tmp_path, "all")
    writer.add_rows([(step, f"step:{of}") for step in range(1, 200_000) for of in (step - 1, 0)])
    near, far, _ = write_effects([tmp_path / file.path for file in writer.close()], tmp_path)
    spans = [
        says.row_group(n).column(1).statistics
        for says in map(pq.read_metadata, (*near, *far))
        for n in range(says.num_row_groups)
    ]
    assert len(spans) > 20
    for wanted in ("step:150000", "step:70001", "step:199998"):
        # Beside its own few that hold numbers of more and of fewer digits, which are all the others as words.
        assert sum(span.min <= wanted <= span.max for span in spans) <= 4
