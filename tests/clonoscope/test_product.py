"""A recording in the product: it is ingested, its pages' questions are answered, and a replay walks its log."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from clonoscope import Recording
from dashboard.queries.failures import job_failures
from dashboard.queries.tasks import task_summaries
from dashboard.queries.timeline import timeline
from ingest.lake.readers import Lake
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.model import Manifest
from tests.clonoscope.recorded import recording
from tests.ingest.inprocess import ingested_here, rows_of
from tests.replay.debugger.worlds import Kept

RECORDS = 10


class OutOfStock(Exception):
    """What the sample job fails with, once."""


def look_up(key: int) -> dict[str, int]:
    return {"price": key * 100}


def run_job(made: Recording, fail_at: tuple[int, int]) -> None:
    """Two partitions, three batches; one batch fails on its way and runs again."""
    for batch in range(3):
        for partition in range(2):
            task = made.task("orders", partition, operator="jobs.orders:process")
            again = fail_at == (batch, partition)
            if again:
                with contextlib.suppress(OutOfStock), task.epoch(batch):
                    _batch(task, batch, partition, fails=True)
            with task.epoch(batch):
                _batch(task, batch, partition, fails=False)


def _batch(task: clonoscope.Task, batch: int, partition: int, *, fails: bool) -> None:
    for offset in range(batch * RECORDS, (batch + 1) * RECORDS):
        task.take(offset, topic="orders", partition=partition, record=[offset, 0, {"n": offset}])
        price = clonoscope.external(look_up, offset, name="price")
        task.output([offset, clonoscope.time_ns() // 1_000_000, price])
        if fails and offset == batch * RECORDS + 4:
            raise OutOfStock(offset)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    with recording(tmp_path / "recorded") as made:
        run_job(made, fail_at=(1, 1))
        made.task("orders", 0).log.gap("the test says so")
        assert made.faults == []
    return made.dump(tmp_path / "orders.zip")


def ingested(bundle: Path, folder: Path) -> tuple[Any, Manifest]:
    container = open_container(bundle)
    write_pack(container, folder / "bundle.pack")
    container.close()
    job, result = ingested_here(folder / "bundle.pack", folder / "data")
    assert result["status"] == "ready" and rows_of(job, "rejects") == []
    with open_bundle(bundle) as opened:
        return job, opened.manifest


def test_tasks_are_partitions_and_attempts_stand_side_by_side(bundle: Path, tmp_path: Path) -> None:
    _, manifest = ingested(bundle, tmp_path)
    lake = Lake(tmp_path / "data")
    assert [task.id for task in manifest.tasks] == ["orders.0", "orders.1"] and manifest.complete
    (failure,) = job_failures(lake, job="j_1")
    assert (failure.task, failure.attempt) == ("orders.1", 0) and "OutOfStock: 14" in str(failure)
    tasks = [(task.id, task.vertex) for task in manifest.tasks]
    summaries = task_summaries(lake, job="j_1", tasks=tasks, failed=["orders.1"])
    assert {one.task: one.attempts for one in summaries} == {"orders.0": 1, "orders.1": 2}
    picture = timeline(lake, job="j_1", manifest=manifest, failures=[failure])
    starts = [band["startUs"] for band in picture["epochs"]]
    assert len(starts) == 3 and starts == sorted(set(starts)), picture["epochs"]
    (lane,) = picture["lanes"]
    assert [(span["state"], span["attempt"]) for span in lane["spans"]] == [
        ("Running", 0),
        ("Failed", 0),
        ("Running", 1),
    ]


def test_what_was_asked_taken_and_given_is_in_the_lake(bundle: Path, tmp_path: Path) -> None:
    job, _ = ingested(bundle, tmp_path)
    determinants = rows_of(job, "determinants")
    asked = [row for row in determinants if row["kind"] == "serializable"]
    taken = [row for row in determinants if row["kind"] == "take"]
    records = 3 * RECORDS * 2 + 5
    assert len(asked) == 2 * records and sum(row["records"] for row in taken) == records
    sources, sinks = rows_of(job, "sources"), rows_of(job, "sinks")
    assert len(sources) == len(sinks) == records
    again = [row for row in sources if (row["task"], row["epoch"], row["ref_offset"]) == ("orders.1", 1, 12)]
    assert [(row["attempt"], row["offset"], row["topic"]) for row in again] == [(0, 12, "orders"), (1, 12, "orders")]
    assert {row["text"] for row in rows_of(job, "sites")} >= {
        'price = clonoscope.external(look_up, offset, name="price")'
    }
    (gap,) = [row for row in rows_of(job, "events") if row["type"] == "gap"]
    assert (gap["task"], gap["attempt"], gap["epoch"], gap["why"]) == ("orders.0", 0, 2, "the test says so")


@pytest.mark.parametrize(("task", "attempt"), [("orders.0", 0), ("orders.1", 0), ("orders.1", 1)])
def test_a_replay_walks_the_log_and_says_what_it_cannot_show(bundle: Path, task: str, attempt: int) -> None:
    kept = Kept()
    with open_bundle(bundle) as opened:
        outcome = replay(opened, task=task, attempt=attempt, sink=kept)
        epochs = opened.epochs(task, attempt, "main")
        wanted = sum(len(list(opened.determinants(task, attempt, "main", epoch))) for epoch in epochs)
    walked = [row for row in kept.rows if row.kind == "take-determinant"]
    assert outcome.verdict == "unknown" and len(walked) == wanted > 0
    lacks = "no state/1.json" if attempt else "jobs.orders:process"
    assert lacks in outcome.sentence


def test_the_recovery_of_an_engine_that_was_only_observed_is_free(bundle: Path) -> None:
    kept = Kept()
    with open_bundle(bundle) as opened:
        outcome = replay(opened, sink=kept)
        wanted = sum(len(list(opened.determinants("orders.1", 1, "main", epoch))) for epoch in (1, 2))
    assert (outcome.verdict, outcome.task, outcome.attempt, outcome.exit_status) == ("free", "orders.1", 1, 0)
    assert "attempt 1 of orders.1 chose anew" in outcome.sentence
    assert len([row for row in kept.rows if row.kind == "take-determinant"]) == wanted > 0


def test_several_partitions_of_one_task_are_inputs_of_their_own(tmp_path: Path) -> None:
    with recording(tmp_path / "recorded") as made, made.task("orders").epoch(0) as task:
        for offset in range(4):
            for partition in range(3):
                task.take(offset, topic="orders", partition=partition)
                clonoscope.random()
    with open_bundle(made.dump(tmp_path / "out.zip")) as opened:
        assert opened.manifest.tasks[0].partitions == ("orders[0]", "orders[1]", "orders[2]")
        outcome = replay(opened, task="orders.0", attempt=0)
    assert outcome.verdict == "unknown" and outcome.steps > 24, outcome.sentence
