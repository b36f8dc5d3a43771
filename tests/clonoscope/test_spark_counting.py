"""Rows of which nothing is kept but that they were taken go a way of their own: it records what the other one does."""

import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.taskcontext import TaskContext
from pyspark.util import fail_on_stopiteration

import clonoscope
from clonoscope.adapters.spark import recorder
from clonoscope.reading import attempts_of
from clonoscope.unrecorded import UNRECORDED, current
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


def run(folder: Path, calls: list[tuple[str, int]], *, hashes: bool = False, worker: str = "") -> list[Any]:
    """Of every attempt what it took and was asked, in order; for hashes, which are left out, each row is looked at.

    `worker`: it is called as that one does, which executes nothing else."""
    recorded = recorder("orders", dir=folder, hashes=hashes)(function)
    call = called_by_worker(worker, recorded) if worker else recorded
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
                call(asks, True)
            batch = begun(batch if asks else batch + 1)
        else:
            assert call(asks) == asks
        if not worker:
            clonoscope.random()  # whoever else asks between two rows asks as nobody's
    TaskContext._setTaskContext(None)
    clonoscope.random()
    return [
        (attempt.task, attempt.attempt, [told(one) for one in attempt.entries() if one.kind != "hash"])
        for attempt in attempts_of(folder / "orders")
        if attempt.task != "outside.0"
    ]


# As PySpark's worker calls functions: of rows that are pickled, and of columns of Arrow. The first's result is given.
WORKERS = {
    "rows": """
def calls(functions):
    def made(func):
        return lambda *a: func(*a)

    udfs = [((0, 1), made(fail_on_stopiteration(one))) for one in functions]

    def func(data):
        if len(udfs) == 1:
            arg_offsets, f = udfs[0]
            return (f(*[row[offset] for offset in arg_offsets]) for row in data)
        return (tuple(f(*[row[offset] for offset in arg_offsets]) for arg_offsets, f in udfs)[0] for row in data)

    return lambda row: next(func([row]))
""",
    "columns": """
def calls(udf_infos):
    @fail_on_stopiteration
    def _evaluate_batch_udf(udf_func, rows):
        return [udf_func(*row) for row in rows]

    def func(row):
        found = []
        for one in udf_infos:
            found += _evaluate_batch_udf(one, [row])
        return found[0]

    return func
""",
}


def called_by_worker(worker: str, *functions: Callable[..., Any]) -> Callable[..., Any]:
    """Row by row, through the frames that a worker has."""
    found: dict[str, Any] = {"__name__": "pyspark.worker", "fail_on_stopiteration": fail_on_stopiteration}
    exec(WORKERS[worker], found)  # noqa: S102 - the test's own
    call = found["calls"](functions)
    return lambda asks, fails=False: call((asks, fails))


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
        for worker in WORKERS:
            alone = run(tmp_path / f"{seed}-{worker}", calls, worker=worker)
            assert counted == alone, f"seed {seed}, {worker}"
        seen.update(kind for _, _, entries in counted for kind, *_ in entries)
    assert seen["call"] > WORLDS and seen["gap"] and seen["end"], seen


def test_more_rows_than_a_word_can_tell_of_are_all_counted(tmp_path: Path) -> None:
    count = 2 * ADVANCE_MOST + 7
    for worker in ("", *WORKERS):
        folder = tmp_path / f"by {worker}"
        ((_, _, entries),) = run(folder, [("row", 0)] * count + [("row", 1)], worker=worker)
        assert [taken for kind, _, taken, _ in entries if kind == "call"] == [count + 1]
        assert gaps(folder / "orders") == []


@pytest.mark.parametrize("worker", WORKERS)
def test_what_another_function_of_the_worker_asks_is_nobodys(worker: str, tmp_path: Path) -> None:
    recorded = recorder("orders", dir=tmp_path, hashes=False)(function)
    for others in ([], [function]):
        call = called_by_worker(worker, recorded, *others)
        begun(len(others))
        for _ in range(5):
            call(1)
        assert (current.get() is UNRECORDED) == bool(others)
    TaskContext._setTaskContext(None)
    assert current.get() is UNRECORDED
    (attempt,) = (one for one in attempts_of(tmp_path / "orders") if one.task != "outside.0")
    assert [one.taken for one in attempt.entries() if one.kind == "call"] == [*range(1, 11)]
