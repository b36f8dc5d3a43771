"""Rows of which nothing is kept but that they were taken go a way of their own: it records what the other one does."""

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.taskcontext import TaskContext

import clonoscope
from clonoscope.adapters.spark import recorder
from clonoscope.reading import attempts_of
from clonoscope.words import ADVANCE_MOST
from tests.clonoscope.adapted import gaps

WORLDS = 100
COMPARED = ("why", "input", "first", "until", "records", "epoch", "how", "cause", "form")
# One for all calls: the next one might have its number.
OTHER_THREAD = ThreadPoolExecutor(1)


class Refused(Exception):
    """What the function raises."""


def function(asks: int, fails: bool = False) -> int:
    for _ in range(asks):
        clonoscope.random()
    if fails:
        raise Refused
    return asks


def calls_of(seed: int) -> list[tuple[str, int]]:
    """Runs of rows, of which some ask; calls by name; from another thread; with a fault; the next batch."""
    draw = random.Random(seed)
    hows = draw.choices(["row", "named", "thread", "batch", "fault"], [12, 2, 1, 3, 1], k=draw.randrange(1, 12))
    return [(how, draw.choice([0, 0, 1, 2])) for how in hows for _ in range(draw.choice([1, 1, 3, 40]))]


def run(folder: Path, calls: list[tuple[str, int]], *, hashes: bool) -> list[Any]:
    """Of every attempt what it took and was asked, in order; for hashes, which are left out, each row is looked at."""
    recorded = recorder("orders", dir=folder, hashes=hashes)(function)
    batch = begun(0)
    for how, asks in calls:
        if how == "batch":
            batch = begun(batch + 1)
        elif how == "named":
            recorded(asks=asks)
        elif how == "thread":
            assert OTHER_THREAD.submit(recorded, asks).result() == asks
        elif how == "fault":
            with pytest.raises(Refused):
                recorded(asks, True)
            batch = begun(batch if asks else batch + 1)
        else:
            assert recorded(asks) == asks
    TaskContext._setTaskContext(None)
    return [
        (attempt.task, attempt.attempt, [told(one) for one in attempt.entries() if one.kind != "hash"])
        for attempt in attempts_of(folder / "orders")
        if attempt.task != "outside.0"
    ]


def begun(batch: int) -> int:
    TaskContext._setTaskContext(None)
    named = {"streaming.sql.batchId": str(batch), "sql.streaming.queryId": "query"}
    TaskContext(stageId=0, partitionId=0, attemptNumber=0, taskAttemptId=batch, localProperties=named)
    return batch


def told(one: Any) -> tuple[Any, ...]:
    fields = one.fields if isinstance(one.fields, dict) else {}
    return one.kind, one.epoch, one.taken, {name: fields[name] for name in COMPARED if name in fields}


def test_rows_that_are_only_counted_are_those_that_are_looked_at(tmp_path: Path) -> None:
    seen = Counter[str]()
    for seed in range(WORLDS):
        calls = calls_of(seed)
        counted = run(tmp_path / f"{seed}-counted", calls, hashes=False)
        looked_at = run(tmp_path / f"{seed}-looked-at", calls, hashes=True)
        assert counted == looked_at, f"seed {seed}"
        seen.update(kind for _, _, entries in counted for kind, *_ in entries)
    assert seen["call"] > WORLDS and seen["gap"] and seen["end"], seen


def test_more_rows_than_a_word_can_tell_of_are_all_counted(tmp_path: Path) -> None:
    count = 2 * ADVANCE_MOST + 7
    ((_, _, entries),) = run(tmp_path, [("row", 0)] * count + [("row", 1)], hashes=False)
    assert [taken for kind, _, taken, _ in entries if kind == "call"] == [count + 1]
    assert gaps(tmp_path / "orders") == []
