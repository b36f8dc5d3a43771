"""Spark Structured Streaming with its real engine: recorded, killed for real, recorded on through its recovery."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.reader import Bundle
from replay.guarantees.observed.delivery import delivery
from replay.guarantees.outside import Held, How, outside
from tests.clonoscope.adapted import dumped, gaps, place_of, shown, side_by_side
from tests.clonoscope.engines import JOBS
from tests.clonoscope.recorded import calls_in
from tests.clonoscope.replayed_here import replayed
from tests.clonoscope.spark_jobs import SparkJob

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ORDERS_A_FILE = 4
DAEMON = "spark.python.daemon.module=clonoscope.adapters.spark_daemon"
# How many times each asks, and what, in the two batches of the first query that a partition sees whole.
ASKED = {"by_row": "time", "by_column": "seed", "by_frames": "time_ns", "by_batches": "uuid4"}


def put_orders(folder: Path, files: int) -> None:
    """A batch a file, in their order."""
    (folder / "in").mkdir()
    for number in range(files):
        orders = range(ORDERS_A_FILE * number, ORDERS_A_FILE * (number + 1))
        path = folder / "in" / f"{number}.json"
        path.write_text("".join(json.dumps({"order": order}) + "\n" for order in orders))
        os.utime(path, (1_000_000 + number, 1_000_000 + number))


def lines(bundle: Bundle, task: str, attempt: int, member: str) -> list[dict[str, Any]]:
    name = f"tasks/{task}/{attempt}/{member}.ndjson"
    return [json.loads(line) for line in bundle.members.read(name).splitlines()] if name in bundle.members else []


def values_taken(bundle: Bundle, task: str, attempt: int, epoch: int) -> list[Any]:
    """The records of an epoch, and that there is a hash of them."""
    (hashed,) = lines(bundle, task, attempt, f"inputs/{epoch}")
    found = [line["record"][2] for line in lines(bundle, task, attempt, f"source/{epoch}")]
    assert hashed["records"] == len(found) and len(hashed["sha256"]) == 64
    return found


@dataclass(frozen=True)
class Kinds:
    """The job with functions of every kind, whose worker was killed at order 5, in its second batch."""

    mode: str
    folder: Path
    bundle: Bundle


@pytest.fixture(scope="module", params=["wrapped", "plain"])
def kinds(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kinds]:
    """By wrapping each function, and by the daemon, where the job knows of nothing."""
    folder = tmp_path_factory.mktemp(request.param)
    put_orders(folder, 3)
    variables = {"NAME": "kinds", "DIR": folder / "recordings", "PAYLOAD": "full"}
    settings = [DAEMON, *(f"spark.executorEnv.CLONOSCOPE_{name}={value}" for name, value in variables.items())]
    more = settings if request.param == "plain" else []
    SparkJob(JOBS / "spark_kinds.py", folder, request.param, *more, logs=folder).succeed()
    assert (folder / "died").exists()
    with dumped(folder / "recordings" / "kinds", folder / "kinds.zip") as bundle:
        yield Kinds(request.param, folder, bundle)


def test_tasks_are_functions_and_partitions(kinds: Kinds) -> None:
    tasks = {task.id for task in kinds.bundle.manifest.tasks}
    assert {f"counts-{name}.0" for name in ASKED} <= tasks
    assert any(task.startswith("counts-by_group.") for task in tasks)
    assert any(task.startswith("seen-Counting.") for task in tasks)
    only_wrapped = {"counts-by_batch.0", "seen-Writer.0"} & tasks
    assert bool(only_wrapped) == (kinds.mode == "wrapped")
    assert gaps(kinds.folder / "recordings" / "kinds") == []
    named = {vertex.id: vertex.operator for vertex in kinds.bundle.manifest.vertices}
    assert named["counts-by_row"] == "spark_kinds:by_row"


def test_a_batch_whose_worker_was_killed_is_another_attempt(kinds: Kinds) -> None:
    logs = [list(kinds.bundle.epochs("counts-by_row.0", attempt, "main")) for attempt in (0, 1)]
    assert logs == [[0, 1], [1, 2]] and len(kinds.bundle.attempts("counts-by_row.0")) == 2
    failed = [
        one for one in kinds.bundle.events() if (one["type"], one.get("task")) == ("task-failed", "counts-by_row.0")
    ]
    assert [(one["attempt"], one["cause"]) for one in failed] == [(0, "its process ended without a word")]
    (began,) = [
        one
        for one in kinds.bundle.events()
        if (one["type"], one.get("task"), one.get("attempt")) == ("attempt-started", "counts-by_row.0", 1)
    ]
    assert began["checkpoint"] == 1 and "attempt 1 of its task" in began["why"]
    # The killed one had come to order 5, the second of its batch.
    assert [one["record"][2] for one in lines(kinds.bundle, "counts-by_row.0", 0, "source/1")] == [4, 5]
    assert [one["record"][2] for one in lines(kinds.bundle, "counts-by_row.0", 1, "source/1")] == [4, 5, 6, 7]


@pytest.mark.parametrize(("name", "call"), ASKED.items())
def test_what_functions_asked_and_took_is_there(kinds: Kinds, name: str, call: str) -> None:
    task = f"counts-{name}.0"
    last = max(kinds.bundle.attempts(task))
    asked = [one["call"] for one in calls_in(kinds.bundle, task, last, 2)]
    assert asked.count(call) == (ORDERS_A_FILE if name == "by_row" else 1), asked
    taken = values_taken(kinds.bundle, task, last, 2)
    assert [one.get("order") if isinstance(one, dict) else one for one in taken] == [8, 9, 10, 11]


def test_stateful_functions_are_told_the_batchs_time_from_the_recording(kinds: Kinds) -> None:
    for vertex, asked in (
        ("counts-by_group", "getCurrentProcessingTimeMs"),
        ("seen-Counting", "getCurrentProcessingTimeInMs"),
    ):
        tasks = [task.id for task in kinds.bundle.manifest.tasks if task.vertex == vertex]
        calls = [
            call["call"] for task in tasks for call in calls_in(kinds.bundle, task, max(kinds.bundle.attempts(task)), 2)
        ]
        assert calls.count(asked) == 2, (vertex, calls)


def test_what_sinks_were_given_is_there_where_they_are_wrapped(kinds: Kinds) -> None:
    if kinds.mode == "plain":  # the daemon sees workers only
        assert not [name for name in kinds.bundle.members.names() if "/sink/" in name]
        return
    given = [
        line["record"] for epoch in range(3) for line in lines(kinds.bundle, "counts-by_batch.0", 0, f"sink/{epoch}")
    ]
    wanted = [line.split() for line in (kinds.folder / "counts").read_text().splitlines()]
    assert [[str(key), str(value["order"])] for key, _, value in given] == [one[1:] for one in wanted]
    (first, *_) = lines(kinds.bundle, "counts-by_batch.0", 0, "sink/2")
    assert first["source"] == [["counts-by_batch.0", 4]] and first["id"] == str(first["record"][0])
    tasks = [task.id for task in kinds.bundle.manifest.tasks if task.vertex == "seen-Writer"]
    rows = [
        line["record"][2]
        for task in tasks
        for epoch in range(3)
        for line in lines(kinds.bundle, task, 0, f"sink/{epoch}")
    ]
    wanted = [line.split() for line in (kinds.folder / "sink").read_text().splitlines()]
    assert sorted((str(row["order"]), str(row["shard"])) for row in rows) == sorted(map(tuple, wanted))
    # A task of Spark's ran again, so that the job's lines prove nothing; what the sink holds does.
    verdict = delivery(kinds.bundle)
    assert verdict is not None and verdict["verdict"] == "undecided", verdict
    held = Held.of("sink", [dict(zip(("order", "shard"), one, strict=True)) for one in wanted])
    how = How.parse("order,shard", "order,shard", source=("seen-Writer",))
    assert outside(kinds.bundle, held, how).verdict == "exactly once"


@pytest.mark.parametrize(("attempt", "said"), [(0, "up to where the recording breaks off"), (1, "again: 8 results")])
def test_a_function_gives_the_same_again_where_no_spark_is(
    kinds: Kinds, attempt: int, said: str, tmp_path: Path
) -> None:
    # The worker that is to be killed has been, as that folder says.
    called = ("--attempt", attempt, "--", kinds.folder, kinds.mode)
    code = (JOBS / "spark_kinds.py").read_text()
    (tmp_path / "spark_kinds.py").write_text(code)
    found = replayed(tmp_path, kinds.folder / "kinds.zip", "counts-by_row.0", *called)
    assert found["verdict"] == "identical" and said in found["sentence"], found
    (tmp_path / "spark_kinds.py").write_text(code.replace("    return found\n", "    return found + 1\n"))
    found = replayed(tmp_path, kinds.folder / "kinds.zip", "counts-by_row.0", *called)
    assert found["verdict"] == "diverged" and found["detail"]["line"]["text"] == "return found + 1", found


def test_a_cogroup_gives_the_same_again_for_both_of_its_sides(kinds: Kinds, tmp_path: Path) -> None:
    called = ("--", kinds.folder, kinds.mode)
    code = (JOBS / "spark_kinds.py").read_text()
    tasks = [task.id for task in kinds.bundle.manifest.tasks if task.vertex == "counts-by_sides"]
    assert tasks
    for task in tasks:
        epochs = kinds.bundle.epochs(task, 0, "main")
        taken = [line["record"][2] for epoch in epochs for line in lines(kinds.bundle, task, 0, f"source/{epoch}")]
        assert {tuple(sorted(one)) for one in taken} == {("order", "shard"), ("most", "shard")}
        (tmp_path / "spark_kinds.py").write_text(code)
        found = replayed(tmp_path, kinds.folder / "kinds.zip", task, *called)
        assert found["verdict"] == "identical" and "results" in found["sentence"], found
        (tmp_path / "spark_kinds.py").write_text(code.replace('limits["most"].max()', 'limits["most"].min()'))
        found = replayed(tmp_path, kinds.folder / "kinds.zip", task, *called)
        assert found["verdict"] == "diverged" and found["detail"]["line"]["text"] == "return orders", found


def test_timers_by_event_time_and_grouped_aggregates_give_the_same_again_by_the_daemon(
    kinds: Kinds, tmp_path: Path
) -> None:
    tasks = {task.id: task.vertex for task in kinds.bundle.manifest.tasks}
    if kinds.mode == "wrapped":  # other tests have them
        assert not {"due-Due", "due-by_whole"} & set(tasks.values())
        return
    changes = {
        "due-Due": ("order * 10_000", "order * 10_001", "self.handle.registerTimer(order * 10_001)"),
        "due-by_whole": ("(orders + shards)", "(orders - shards)", "return float((orders - shards).sum()) * share"),
    }

    def told(task: str) -> list[dict[str, Any]]:
        epochs = kinds.bundle.epochs(task, 0, "main")
        return [one for epoch in epochs for one in lines(kinds.bundle, task, 0, f"border/{epoch}")]

    code, called = (JOBS / "spark_kinds.py").read_text(), ("--", kinds.folder, kinds.mode)
    expired = 0
    for vertex, (before, after, line) in changes.items():
        # Keys may all be of one partition.
        task = max((one for one, of in tasks.items() if of == vertex), key=lambda one: len(told(one)))
        assert code.count(before) == 1
        (tmp_path / "spark_kinds.py").write_text(code)
        found = replayed(tmp_path, kinds.folder / "kinds.zip", task, *called)
        assert found["verdict"] == "identical" and "results" in found["sentence"], found
        (tmp_path / "spark_kinds.py").write_text(code.replace(before, after))
        found = replayed(tmp_path, kinds.folder / "kinds.zip", task, *called)
        assert found["verdict"] == "diverged" and found["detail"]["line"]["text"] == line, found
        expired += sum(one.get("method") == "handleExpiredTimer" for one in told(task))
    assert expired > 0


def test_the_product_shows_partitions_and_their_attempts(kinds: Kinds, tmp_path: Path) -> None:
    seen = shown(kinds.folder / "kinds.zip", tmp_path)
    assert seen.attempts["counts-by_row.0"] == 2
    assert ("counts-by_row.0", 0) in {(one.task, one.attempt) for one in seen.failures}
    report = side_by_side(kinds.bundle, "counts-by_row.0")
    first = report["differences"][0]
    assert (first["stream"], first["first"]["line"]) == (
        "determinant",
        place_of("spark_kinds.py", "found = time.time()"),
    )
