"""Situations in which random worlds once found the engine at fault, each run over many seeds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from unittest import mock

import pytest

from replay.causality.life import ORPHAN
from replay.log.codec import decode_all
from replay.log.determinants import TimerTrigger
from replay.model import Edge, Protocol
from replay.recovery import Setting
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.attempts.memory import Memory
from replay.runtime.checkpoint_policy import CheckpointPolicy
from replay.runtime.costs import Costs
from replay.runtime.failing.doubts import CAUSE
from replay.simulation.plan import Plan, changed
from replay.simulation.recording import Recording
from replay.simulation.schedule import Aim, Schedule, Suspected
from replay.simulation.settings import under
from replay.simulation.site import Site
from replay.simulation.trial import Verdict, trial_of
from replay.simulation.workloads import PassingThrough
from tests.replay.simulation.planted_outside import forgets_that_it_began_anew

SEEDS = 24


def plan_of(ends: str, schedule: Schedule, *, sizes: dict[str, int] | None = None, **settings: object) -> Plan:
    """`ends`: vertex>vertex, by hash, in the order of the edges."""
    edges = tuple(Edge(*pair.split(">"), "hash") for pair in ends.split())  # type: ignore[call-arg]
    names = list(dict.fromkeys(name for edge in edges for name in (edge.source, edge.target)))
    names.sort(key=lambda name: (name == "sink", not name.startswith("source")))
    vertices = tuple(PassingThrough().vertex(Random(1), name, (sizes or {}).get(name, 1)) for name in names)
    protocol = replace(Protocol("clonos", standby=1, checkpoint_interval_ms=10, buffer_bytes=64), **settings)  # type: ignore[arg-type]
    return Plan(0, "pass-through", vertices, edges, protocol, 60, 1500.0, Costs(metric_us=10_000_000), 0.8, schedule)


def kept_plan(name: str, ends: str) -> Plan:
    """A plan that was found and made small, kept as what makes it of a plain one."""
    kept = Path(__file__).with_name("found") / f"{name}.json"
    return changed(plan_of(ends, Schedule()), kept.read_text())


def verdicts(plan: Plan) -> Iterator[Verdict]:
    for seed in range(SEEDS):
        verdict = trial_of(replace(plan, seed=seed))
        assert not verdict.faults, f"seed {seed}: {verdict.world.describes}\n{verdict.faults}"
        yield verdict


def events_of(verdict: Verdict) -> bytes:
    return bytes(verdict.world.members.members["events.ndjson"])


def test_a_task_whose_answerer_failed_begins_again_when_the_task_above_failed_too() -> None:
    blow = (("source.0", 25.0), ("map-1.0", 25.0))
    aim = Aim("determinants-returned", 0, "self", 0)
    plan = plan_of("source>map-1 map-1>sink", Schedule((blow,), aims=(aim,)), checkpoint_interval_ms=30)
    assert any(CAUSE.encode() in events_of(verdict) for verdict in verdicts(plan))


def test_on_a_long_way_logs_stop_short_though_a_short_one_brings_them() -> None:
    """The sink knows of the source what it was sent directly, and not what came through the map at depth 1."""
    blow = (("source.0", 15.0), ("map-1.0", 15.0))
    plan = plan_of("source>map-1 source>sink map-1>sink", Schedule((blow,)), sharing_depth=1)
    assert any(b'"result":"beyond-depth"' in events_of(verdict) for verdict in verdicts(plan))


@pytest.mark.parametrize("depth, within", [(1, False), (2, True), (None, True)])
def test_the_longest_way_to_an_input_decides_what_is_within_the_depth(depth: int | None, within: bool) -> None:
    world = next(verdicts(plan_of("source>map-1 source>sink map-1>sink", Schedule(), sharing_depth=depth))).world
    assert world.engine is not None
    setting = Setting.of(world.engine.graph, world.engine.graph.task("sink.0").id)
    direct, through = setting.inputs
    assert setting.within_depth(world.engine.graph.task("source.0").id, direct)
    assert setting.within_depth(world.engine.graph.task("source.0").id, through) == within


def test_barriers_of_an_aborted_checkpoint_are_let_go_below_every_task_that_fails_later() -> None:
    """Else sinks wait for a barrier of the recovering task, and it for a source that they hold back."""
    first, later = (("sink.0", 40.5),), (("map-1.0", 44.0),)
    plan = plan_of(
        "source>map-1 map-1>sink",
        Schedule((first, later)),
        sizes={"map-1": 3, "sink": 2},
        checkpoint_interval_ms=40,
        buffer_bytes=24,
    )
    slow = replace(plan.costs, credits=1, rtt_us=10_000, loss_notice_us=20, heartbeat_timeout_us=200_000)
    ignoring = [
        event
        for verdict in verdicts(replace(plan, events=160, costs=slow))
        for event in map(json.loads, events_of(verdict).splitlines())
        if event["type"] == "checkpoint-ignored"
    ]
    assert "sink.1" in {event["task"] for event in ignoring}, "it survived, and waited for map-1.0"


def test_a_failed_task_finds_a_slot_that_standbys_were_given_while_its_orphans_were_looked_for() -> None:
    """All slots are full; the one that the failed task left is given away before its successor can ask."""
    plan = plan_of("source>map-1 map-1>sink", Schedule(((("map-1.0", 12.0),),)), sizes={"map-1": 2})
    plan = replace(plan, protocol=under("optimistic", plan.protocol), site=Site(hosts=2, slots=2))
    waited = [
        event
        for verdict in verdicts(replace(plan, costs=replace(plan.costs, log_interval_us=500)))
        for event in map(json.loads, events_of(verdict).splitlines())
        if event["type"] == "task-rescheduled"
    ]
    assert any("no other host has had a free slot" in event["why"] for event in waited)


def test_a_source_whose_clock_stands_still_fires_a_timer_once_a_period() -> None:
    """A clock that is read every 20 ms, and watermarks every 5: else the timer that is set anew is always due."""
    plan = plan_of("source>map-1 map-1>sink", Schedule(), checkpoint_interval_ms=40)
    source = replace(plan.vertices[0], options={"watermarks": {"every_ms": 5}}, services={"time": "periodic:20"})
    plan = replace(plan, vertices=(source, *plan.vertices[1:]), costs=replace(plan.costs, timer_late_us=1))
    for verdict in verdicts(plan):
        world = verdict.world
        recording = Recording(world.manifest, world.members.members, ())
        fired = [
            one.timestamp
            for epoch in recording.epochs("source.0", 0, "main")
            for _, _, one in decode_all(recording.log("source.0", 0, "main", epoch))
            if isinstance(one, TimerTrigger) and one.callback == "periodic-watermark-extractor"
        ]
        assert fired and len(fired) == len(set(fired)), f"seed {verdict.world.seed}: {fired}"


def test_who_begins_anew_shares_nothing_that_contradicts_its_attempt_before() -> None:
    """Past the depth the job goes on; below the loss a task fails in an epoch of which it has shared something."""
    lost = (("source.0", 25.0), ("map-2.0", 25.0))
    plan = plan_of(
        "source>map-1 source>map-2 map-1>map-3 map-2>map-3 map-3>sink",
        Schedule((lost,), aims=(Aim("checkpoint-triggered", 1, "any", 20_000, pick=1),)),
        sharing_depth=1,
        on_lost="continue",
    )
    assert [task.id for task in plan.manifest().tasks][1] == "map-1.0"
    clocked = [replace(one, options={"clock_every": 1} if one.kind == "operator" else {}) for one in plan.vertices]
    plan = replace(plan, vertices=tuple(clocked), events=240, costs=replace(plan.costs, snapshot_us=20_000))
    began = [
        event["task"]
        for verdict in verdicts(plan)
        for event in map(json.loads, events_of(verdict).splitlines())
        if event["type"] == "attempt-started" and event.get("diverged")
    ]
    assert "map-1.0" in began
    with forgets_that_it_began_anew():
        assert trial_of(plan).faults


def test_under_gap_recovery_no_barrier_goes_to_a_fenced_task_that_waits_for_a_slot() -> None:
    """It takes the barrier in vain, and its successor is never sent it again."""
    schedule = Schedule(suspicions=(Suspected("sink.1", 15.0, 400.0),))
    plan = plan_of("source>map-1 map-1>sink", schedule, sizes={"sink": 2})
    plan = replace(plan, protocol=under("none", plan.protocol), site=Site(hosts=2, slots=2))
    quick = replace(plan.costs, heartbeat_us=2_000, heartbeat_timeout_us=5_000)
    for verdict in verdicts(replace(plan, costs=quick, checkpoints=CheckpointPolicy(back_off_intervals=0))):
        assert b'"waited_us":' in events_of(verdict), f"seed {verdict.world.seed}"


def test_under_gap_recovery_a_flush_that_begins_again_counts_once() -> None:
    plan = plan_of("source>map-1 map-1>sink", Schedule(aims=(Aim("flush-began", 3, "self", 400),)), sink="idempotent")
    plan = replace(plan, protocol=under("none", plan.protocol), costs=replace(plan.costs, flush_write_us=300))
    repeated = 0
    for verdict in verdicts(plan):
        recording = Recording(verdict.world.manifest, verdict.world.members.members, ())
        ids = [line["id"] for attempt in range(2) for _, line in recording.sink_lines("sink.0", attempt)]
        repeated += len(ids) - len(set(ids))
    assert repeated, "no flush was interrupted"


def test_a_job_that_waits_for_room_before_each_buffer_is_slow_and_not_stalled() -> None:
    """One buffer is kept in memory, and written once a second: each task sends one a second."""
    plan = plan_of("source>map-1 map-1>sink", Schedule(), spill="availability", buffer_bytes=24)
    plan = replace(plan, memory=Memory(in_flight_buffers=1, spill_interval_us=1_000_000))
    for verdict in verdicts(plan):
        world = verdict.world
        assert world.engine is not None and world.engine.scheduler.now_us > 120_000_000


def test_a_task_that_keeps_what_it_received_is_bound_beyond_the_depth() -> None:
    """The join runs again and keeps what the filter's attempt before had sent it; of the source it knows nothing."""
    ends = "source>persons source>auctions persons>join auctions>join join>sink"
    plan = kept_plan("kept-beyond-the-depth", ends)
    verdict = trial_of(plan)
    assert not verdict.faults
    assert b'"result":"beyond-depth"' in events_of(verdict)
    with mock.patch.object(Attempt, "_touched", lambda self, channel: False):
        assert trial_of(plan).faults


def test_an_orphan_whose_log_is_cut_before_it_is_told_of_it_goes_on_and_may_be_cut_again() -> None:
    """The sink waits for its connections when a second failure cuts what it is going to be told, and again later."""
    failing = (("map-1.0", 20.0), ("map-1.1", 28.0), ("map-1.0", 80.0), ("map-1.2", 88.0))
    plan = plan_of(
        "source>map-1 map-1>sink",
        Schedule(tuple((one,) for one in failing)),
        sizes={"map-1": 3},
        checkpoint_interval_ms=1000,
    )
    costs = replace(plan.costs, log_interval_us=1_000_000, connect_us=20_000, cancel_us=100, deploy_us=500)
    plan = replace(plan, protocol=under("optimistic", plan.protocol), costs=costs, events=240)
    for verdict in verdicts(plan):
        events = [json.loads(line) for line in events_of(verdict).splitlines()]
        orphaned = [
            one["attempt"] for one in events if one["type"] == "task-failed" and one["cause"].startswith(ORPHAN)
        ]
        assert orphaned == [0, 1], f"seed {verdict.world.seed}"


def test_who_was_asked_by_an_orphan_that_is_gone_sends_it_nothing() -> None:
    """What the orphan had received is cut off the stable log before the task above, recovering itself, is given it."""
    plan = kept_plan("asked-by-an-orphan", "source>map-1 source-2>map-1 map-1>sink")
    verdict = trial_of(plan)
    assert not verdict.faults
    assert b"orphan: it followed from choices of source-2.0" in events_of(verdict)


def test_two_failures_that_are_decided_in_one_moment_have_each_orphan_once() -> None:
    """The second finds given up whom the first gave up, though all of it has one time."""
    verdict = trial_of(kept_plan("decided-in-one-moment", "source>map-1 map-1>map-2 source-2>map-2 map-2>sink"))
    assert not verdict.faults
    decided = [
        (event["t_us"], event["task"])
        for event in map(json.loads, events_of(verdict).splitlines())
        if event["type"] == "standby-activated"
    ]
    assert any(at == later for (at, _), (later, _) in pairwise(decided))


def test_timers_that_are_always_due_leave_time_for_records() -> None:
    """Watermarks every 2 ms, each held back until a storage that is slower has stored the one before."""
    verdict = trial_of(kept_plan("timers-always-due", "source>bids bids>count count>sink"))
    assert not verdict.faults
    assert verdict.world.engine is not None and verdict.world.engine.scheduler.now_us < 10_000_000
