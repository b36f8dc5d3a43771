"""Optimistic logging: orphans are rolled back, and without an orphan nobody is."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.model import TaskId
from replay.protocols import PROTOCOLS, Optimistic
from replay.protocols.dependencies import Ends
from replay.simulation.plan import Plan
from replay.simulation.trial import trial_of
from tests.replay.protocols.worlds import check_worlds, world_under
from tests.replay.simulation.reader import complaints_about

WORLDS = 90


@pytest.mark.parametrize("first", range(0, WORLDS, 30))
def test_random_worlds_hold_what_optimistic_logging_promises(first: int) -> None:
    check_worlds(range(first, first + 30), "optimistic")


def faults_of(seeds: range) -> list[str]:
    return [fault for seed in seeds for fault in trial_of(world_under(seed, "optimistic").plan).faults]


def test_orphans_that_go_on_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Optimistic, "_is_orphan", lambda *_: False)
    assert any("left orphans" in fault for fault in faults_of(range(40)))


def test_a_rollback_without_an_orphan_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Optimistic, "_is_orphan", lambda *_: True)
    assert any("nobody was an orphan" in fault for fault in faults_of(range(40)))


def slow_world(seed: int) -> Plan:
    """Buffers wait for a busy receiver for longer than a log waits to be written: what is lost was not taken yet."""
    plan = world_under(seed, "optimistic").plan
    return replace(plan, rate_per_s=400.0, costs=replace(plan.costs, record_us=4000, log_interval_us=20_000))


def test_a_message_of_lost_choices_that_comes_late_is_not_received(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Optimistic, "accepts", lambda *_: True)
    caught = next((seed for seed in range(300) if trial_of(slow_world(seed)).faults), None)
    assert caught is not None, "nothing under way ever came too late"
    monkeypatch.undo()
    assert not trial_of(slow_world(caught)).faults


def test_worlds_show_both_rollbacks_and_recoveries_alone() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(60):
        recording = world_under(seed, "optimistic").run()
        kinds.update(one["type"] for one in recording.events)
    assert min(kinds["global-rollback"], kinds["standby-activated"] + kinds["task-rescheduled"]) > 10


def test_a_recording_of_it_is_replayed_as_far_as_its_logs_were_stable(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = RecordOptions(
        protocol="optimistic", seed=7, events=2000, checkpoint_interval_ms=200, kills=("map-1.0@310", "sink.0@620")
    )
    summary = record(options, out, protocols=PROTOCOLS)
    assert complaints_about(out, sharing_depth=0) == []
    events = [json.loads(line) for line in (out / "events.ndjson").read_text().splitlines()]
    (rollback,) = [one for one in events if one["type"] == "global-rollback"]
    assert rollback["failure"] == 0
    assert "sink." in rollback["why"]
    verdicts = [replay(open_bundle(out), failure=one["failure"]).verdict for one in summary["failures"]]
    assert verdicts == ["free", "identical"], "nobody follows from a sink, so what it had stored binds it"


def test_the_last_end_that_an_attempt_can_have_decides_what_is_lost() -> None:
    ends = Ends()
    ends.add(TaskId("map-1.0"), 0, {("main", 3): 40})
    ends.add(TaskId("map-1.0"), 2, {("main", 3): 70})
    place = (TaskId("map-1.0"), "main", 3)
    known = {(0, 40): False, (0, 41): True, (1, 70): False, (1, 71): True, (2, 71): True, (3, 99): False}
    for upto, lost in known.items():
        assert list(ends.lost({place: upto}, completed=3)) == ([place] if lost else []), upto
        assert list(ends.lost({place: upto}, completed=4)) == []
