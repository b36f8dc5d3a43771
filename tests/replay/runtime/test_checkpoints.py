"""Checkpoints: one pending at most, given up in time, with pauses and a back-off; uploads cost what changed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from replay.errors import WrongSetting
from replay.model import TaskId
from replay.runtime.checkpoint_policy import CheckpointPolicy, upload_bytes
from replay.runtime.costs import Costs
from replay.runtime.failing.kills import Blow, Kill
from tests.replay.runtime.runs import Done, run

KILLED = [Blow((Kill(TaskId("map-1.0"), 120),))]


def pending_spans(done: Done) -> list[tuple[int, int, str]]:
    """From when to when each was pending, and how it ended; fails where two are pending at once."""
    spans, begun = [], None
    for event in done.of("checkpoint-triggered", "checkpoint-completed", "checkpoint-aborted"):
        if event["type"] == "checkpoint-triggered":
            assert begun is None, f"{event} while {begun} is pending"
            begun = event
        else:
            assert begun is not None
            assert begun["checkpoint"] == event["checkpoint"]
            spans.append((begun["t_us"], event["t_us"], event["type"].removeprefix("checkpoint-")))
            begun = None
    return spans


@pytest.mark.parametrize("upload_bytes_per_s", [64 << 20, 1 << 30])
def test_a_slow_upload_makes_epochs_longer_and_never_two_pending(upload_bytes_per_s: int) -> None:
    costs = Costs(state_bytes=16 << 20, upload_bytes_per_s=upload_bytes_per_s)
    done = run(interval_ms=50, costs=costs, blows=KILLED, events=600)
    completed = [end - begin for begin, end, how in pending_spans(done) if how == "completed"]
    upload_us = costs.upload_us(costs.state_bytes)
    assert min(completed) > upload_us / 2
    assert (min(completed) > 100_000) == (upload_bytes_per_s == 64 << 20)
    assert done.violations() == []


def test_after_a_failure_none_begins_for_as_long_as_is_asked_for() -> None:
    for intervals in (0, 2, 6):
        policy = CheckpointPolicy(back_off_intervals=intervals)
        done = run(interval_ms=40, blows=KILLED, checkpoints=policy, events=600)
        detected_us = done.of("failure-detected")[0]["t_us"]
        following = min(begin for begin, _, _ in pending_spans(done) if begin > detected_us)
        assert following - detected_us >= intervals * 40_000
        assert following - detected_us <= (intervals + 2) * 80_000
        assert done.violations() == []


def test_between_two_there_is_the_pause_that_is_asked_for() -> None:
    done = run(interval_ms=20, checkpoints=CheckpointPolicy(min_pause_us=70_000), events=600)
    spans = pending_spans(done)
    assert len(spans) >= 3
    assert all(after[0] - before[1] >= 70_000 for before, after in pairwise(spans))


def test_one_that_takes_too_long_is_given_up_and_the_job_goes_on() -> None:
    """While a task is away for long, nothing can complete; what was begun meanwhile is not waited for for ever."""
    costs = Costs(heartbeat_us=5_000, heartbeat_timeout_us=12_000, deploy_us=900_000)
    policy = CheckpointPolicy(timeout_us=60_000, back_off_intervals=1)
    done = run(standby=0, interval_ms=40, blows=KILLED, checkpoints=policy, costs=costs, events=600)
    aborted = [one for one in done.of("checkpoint-aborted") if "not complete after 60 ms" in one["why"]]
    assert len(aborted) >= 2
    for begin, end, how in pending_spans(done):
        assert how == "completed" or end - begin < 60_000 + 2 * 80_000
    assert done.violations() == []


def test_a_job_whose_last_checkpoint_takes_long_by_its_costs_ends_all_the_same() -> None:
    done = run(events=40, costs=Costs(state_bytes=100_000 << 20), jitter=0)
    uploads_us = Costs().upload_us(100_000 << 20)
    assert done.engine.scheduler.now_us > uploads_us > 500_000_000
    assert done.violations() == []


def test_a_job_that_can_never_end_for_want_of_a_checkpoint_says_so() -> None:
    policy = CheckpointPolicy(timeout_us=60_000)
    with pytest.raises(WrongSetting, match="10 checkpoints after the last record were not complete after 60 ms"):
        run(events=40, costs=Costs(state_bytes=200 << 20), checkpoints=policy)


def test_why_one_was_aborted_is_said() -> None:
    costs = Costs(state_bytes=16 << 20)
    done = run(interval_ms=110, blows=[Blow((Kill(TaskId("map-1.0"), 150),))], costs=costs, jitter=0.1)
    assert [one["why"] for one in done.of("checkpoint-aborted")][:1] == ["map-1.0 failed"]


def test_an_incremental_upload_weighs_what_changed() -> None:
    before = {"operator": {"records": 9, "by_key": [["a", 1], ["b", 2], ["c", 3]]}}
    same = upload_bytes(before, before, 400, 1000)
    one_key = {"operator": {"records": 9, "by_key": [["a", 1], ["b", 7], ["c", 3]]}}
    changed = upload_bytes(before, one_key, 400, 1000)
    entries = len(b"9") + 3 * len(b'["a",1]')
    assert same == 400 - entries
    assert changed == same + len(b'["b",7]') + round(1000 * len(b'["b",7]') / entries)
    gone = {"operator": {"records": 9, "by_key": [["a", 1], ["c", 3]]}}
    assert upload_bytes(before, gone, 390, 0) > 390 - entries + len(b'["b",2]')
    assert upload_bytes(None, before, 400, 1000) == 1400


def test_incremental_checkpoints_are_smaller_and_restore_the_same() -> None:
    sizes = {}
    for incremental in (False, True):
        policy = CheckpointPolicy(incremental=incremental)
        done = run(
            interval_ms=20,
            rate_per_s=60,
            events=100,
            blows=KILLED,
            checkpoints=policy,
            costs=Costs(state_bytes=1 << 20),
        )
        maps = [one for one in done.of("checkpoint-acknowledged") if one["task"].startswith("map")]
        sizes[incremental] = sum(one["bytes"] for one in maps) / len(maps)
        assert done.violations() == []
    assert sizes[True] < 0.8 * sizes[False]


def test_standbys_load_every_completed_checkpoint_and_take_over_with_it() -> None:
    done = run(standby=2, interval_ms=40, blows=KILLED, events=600)
    failed = done.of("task-failed")[0]
    completed = [one for one in done.of("checkpoint-completed") if one["n"] < failed["n"]]
    loads = [one for one in done.of("state-restored") if "host" in one and one["n"] < failed["n"]]
    for one in completed[:-1]:
        of_map = [load for load in loads if (load["task"], load["checkpoint"]) == ("map-1.0", one["checkpoint"])]
        assert len({load["host"] for load in of_map}) == 2, one
    (activated,) = done.of("standby-activated")
    began = next(one for one in done.of("attempt-started") if one["attempt"] == 1)
    assert began["standby"] is True
    assert began["host"] == activated["host"] != failed["host"]
    later = [one for one in done.of("restore-started") if "host" in one and one["task"] == "map-1.0"]
    hosts = {one["host"] for one in later if one["t_us"] > began["t_us"] + 400_000}
    assert began["host"] not in hosts
    assert len(hosts) in (0, 2), "the one that was used up is replaced"
