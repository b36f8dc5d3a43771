"""What tasks are told apart by in a picture, against what plain Python reads of the bundle."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from dashboard.queries.failures import Failure, job_failures
from dashboard.queries.lanes import last_event_us
from dashboard.queries.task_measures import MEASURES, Values, task_measures, time_down
from ingest.lake.readers import Lake
from replay.bundle.reader import Bundle, open_bundle
from replay.causality.holders import holders
from replay.model import WORLD, Graph
from tests.ingest.inprocess import ingested_here
from tests.ingest.test_causal_tables import packed

END_US = 900


@pytest.mark.parametrize("seed", range(1, 9))
def test_every_measure_is_what_the_bundle_tells(seed: int, tmp_path: Path) -> None:
    pack, rng = packed(seed, tmp_path), random.Random(seed)
    ingested_here(pack, tmp_path / "data")
    lake = Lake(tmp_path / "data")
    with open_bundle(pack) as bundle:
        graph = Graph(bundle.manifest)
        log_of = rng.choice([task.id for task in bundle.manifest.tasks])
        expected = {**_told(bundle), **_logged(bundle), "held": _held(bundle, log_of)}
        expected |= {"waiting": _waits(bundle), "pressure": _pressure(bundle)}
    for by in MEASURES:
        found = task_measures(lake, job="j_1", graph=graph, by=by, task=log_of)
        if by == "recovering":
            assert found == time_down(job_failures(lake, job="j_1"), last_event_us(lake, job="j_1")), f"seed {seed}"
        else:
            assert found == expected[by], f"seed {seed}, {by}, held of {log_of}"


def _told(bundle: Bundle) -> dict[str, Values]:
    records: Values = defaultdict(int)
    worst: Values = {}
    for event in bundle.events():
        if event["type"] == "metric":
            records[event["task"]] += event["records_in"]
            if event.get("records_in") and "latency_p99_us" in event:
                worst[event["task"]] = max(worst.get(event["task"], 0), event["latency_p99_us"])
    return {"records": dict(records), "latency": worst}


def _logged(bundle: Bundle) -> dict[str, Values]:
    size: Values = defaultdict(int)
    number: Values = defaultdict(int)
    for task in bundle.manifest.tasks:
        for attempt, thread in product(bundle.attempts(task.id), task.threads):
            for epoch in bundle.epochs(task.id, attempt, str(thread)):
                for _, length, _ in bundle.determinants(task.id, attempt, thread, epoch):
                    size[task.id] += length
                    number[task.id] += 1
    return {"bytes": dict(size), "determinants": dict(number)}


def _waits(bundle: Bundle) -> Values:
    waits: dict[str, list[int]] = defaultdict(list)
    for task in bundle.manifest.tasks:
        for attempt, place in product(bundle.attempts(task.id), range(len(task.inputs))):
            for one in bundle.receipts(task.id, attempt, place):
                if one.taken_us >= one.received_us:
                    waits[task.id].append(one.taken_us - one.received_us)
    return {task: sum(each) // len(each) for task, each in waits.items()}


def _pressure(bundle: Bundle) -> Values:
    waits: dict[str, list[int]] = defaultdict(list)
    for task in bundle.manifest.tasks:
        for attempt, k in product(bundle.attempts(task.id), range(len(task.outputs))):
            cut_us = {one.seq: one.t_us for one in bundle.buffers(task.id, attempt, k)}
            sent = (one for one in bundle.sendings(task.id, attempt, k) if not one.sending and one.seq in cut_us)
            waits[task.id] += [one.t_us - cut_us[one.seq] for one in sent if one.t_us >= cut_us[one.seq]]
    return {task: sum(each) // len(each) for task, each in waits.items() if each}


def _held(bundle: Bundle, log_of: str) -> Values:
    """The most that any attempt of a holder got of each copy of the log, summed."""
    copies: dict[tuple[str, int, str, int], int] = defaultdict(int)
    for one in holders(bundle, log_of).growths:
        if one.holder != WORLD:
            key = str(one.holder), one.attempt, str(one.thread), one.epoch
            copies[key] = max(copies[key], one.upto)
    total: Values = defaultdict(int)
    for (holder, *_), upto in copies.items():
        total[holder] += upto
    return dict(total)


FAILED = Failure(
    failure=0, task="join.2", attempt=0, cause=None, together=None, failed_us=100, detected_us=None, detected_by=None,
    action=None, action_us=None, next_attempt=None, started_us=None, checkpoint=None, running_us=None,
    escalated_us=None, escalated_why=None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([], {}),
        ([FAILED], {"join.2": END_US - 100}),
        ([replace(FAILED, running_us=250)], {"join.2": 150}),
        ([replace(FAILED, again_us=130), replace(FAILED, failed_us=130, running_us=200)], {"join.2": 100}),
        (
            [replace(FAILED, rollback_us=101), replace(FAILED, task="sink.0", running_us=110)],
            {"join.2": 1, "sink.0": 10},
        ),
        ([replace(FAILED, failed_us=None)], {}),
    ],
)
def test_a_task_is_down_until_it_runs_again_or_something_else_ends_its_recovery(
    failures: list[Failure], expected: Values
) -> None:
    assert time_down(failures, END_US) == expected
