"""Optimistic logging: orphans go back as far as they must, and nobody else does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from replay.bundle.reader import Bundle, open_bundle
from replay.causality.holders import holders
from replay.causality.life import ORPHAN
from replay.debugger.replay import replay
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.model import TaskId
from replay.protocols import PROTOCOLS, Optimistic
from replay.protocols.dependencies import Ends, Extents, Followed, Taking, merge
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.engine import Engine
from replay.runtime.outside.world import World as Outside
from replay.simulation.plan import Plan
from replay.simulation.trial import trial_of
from tests.oracle_reader import complaints
from tests.replay.protocols.worlds import check_worlds, world_under

pytestmark = pytest.mark.slow

WORLDS = 90


@pytest.mark.parametrize("first", range(0, WORLDS, 30))
def test_random_worlds_hold_what_optimistic_logging_promises(first: int) -> None:
    check_worlds(range(first, first + 30), "optimistic")


# --- planted faults ---


def faults_of(seeds: range) -> Iterator[str]:
    return (fault for seed in seeds for fault in trial_of(world_under(seed, "optimistic").plan).faults)


Judge = Callable[[Optimistic, Engine, Attempt], Extents | None]
judged: Judge = Optimistic._orphaned


def all_it_has(protocol: Optimistic, engine: Engine, attempt: Attempt) -> Extents:
    """A task's logs as far as they go, as if none of its states were an orphan."""
    logs = attempt.causal.own.items()
    own = {(thread, epoch): log.length_of(epoch) for thread, log in logs for epoch in log.epochs}
    return {place: max(upto, own.get(place, 0)) for place, upto in (own | protocol._held(engine, attempt.task)).items()}


def missing_the_sinks(protocol: Optimistic, engine: Engine, attempt: Attempt) -> Extents | None:
    return judged(protocol, engine, attempt) if attempt.shape.outputs else None


def taking_survivors_for_orphans(protocol: Optimistic, engine: Engine, attempt: Attempt) -> Extents | None:
    found = judged(protocol, engine, attempt)
    runs = attempt.counts and attempt.executing and attempt.shape.inputs
    return all_it_has(protocol, engine, attempt) if found is None and runs else found


def going_back_to_the_checkpoint(protocol: Optimistic, engine: Engine, attempt: Attempt) -> Extents | None:
    found = judged(protocol, engine, attempt)
    return None if found is None else dict.fromkeys(found, 0)


def writing_nothing_at_last(protocol: Optimistic, engine: Engine, attempt: Attempt) -> Extents | None:
    found, held = judged(protocol, engine, attempt), protocol._held(engine, attempt.task)
    return None if found is None else {place: min(upto, held.get(place, 0)) for place, upto in found.items()}


@pytest.mark.parametrize(
    ("planted", "shown"),
    [
        (missing_the_sinks, "left orphans"),
        (taking_survivors_for_orphans, "nobody of them was an orphan"),
        (going_back_to_the_checkpoint, "follow from nothing lost"),
        (writing_nothing_at_last, "follow from nothing lost"),
    ],
)
def test_a_wrong_judgement_is_caught(planted: Judge, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Optimistic, "_orphaned", planted)
    assert any(shown in fault for fault in faults_of(range(200)))


def test_an_orphan_that_goes_back_too_little_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps the choice to take the very buffer that is lost."""
    allows = Taking.allows
    monkeypatch.setattr(
        Taking, "allows", lambda one, thread, epoch: allows(one, thread, epoch) + 2 * (thread == "main")
    )
    assert any("were left" in fault for fault in faults_of(range(200)))


def test_a_storage_that_forgets_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Outside, "cut", lambda *_: None)
    assert any("were left" in fault for fault in faults_of(range(200)))


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


def test_worlds_show_orphans_beside_recoveries_alone_and_failures_of_those_that_went_back() -> None:
    met: Counter[str] = Counter()
    for seed in range(60):
        recording = world_under(seed, "optimistic").run()
        orphaned: set[tuple[str, int]] = set()
        for one in (one for one in recording.events if one["type"] == "task-failed"):
            is_orphan = one["cause"].startswith(ORPHAN)
            met["orphan" if is_orphan else "alone"] += 1
            met["went back again"] += (one["task"], one["attempt"] - 1) in orphaned
            if is_orphan:
                orphaned.add((one["task"], one["attempt"]))
        assert not recording.rolled_back
    assert min(met["orphan"], met["alone"], met["went back again"]) > 10, met


# --- recordings ---


def recorded(out: Path, *kills: str, seed: int = 7) -> tuple[Bundle, list[int]]:
    """The bundle, and the numbers of its failures."""
    options = RecordOptions(protocol="optimistic", seed=seed, events=2000, checkpoint_interval_ms=200, kills=kills)
    summary = record(options, out, protocols=PROTOCOLS)
    return open_bundle(out), [one["failure"] for one in summary["failures"]]


def test_a_recording_of_it_is_replayed_as_far_as_its_logs_were_stable(tmp_path: Path) -> None:
    bundle, failures = recorded(tmp_path / "out", "map-1.0@310", "sink.0@620")
    assert complaints(tmp_path / "out") == []
    events = [json.loads(line) for line in (tmp_path / "out" / "events.ndjson").read_text().splitlines()]
    gone = {one["task"]: one["cause"] for one in events if one["type"] == "task-failed"}
    above = bundle.graph.all_upstream("map-1.0")
    assert not above & gone.keys(), "what is above never follows from it"
    assert any(cause.startswith(ORPHAN) and "map-1.0" in cause for cause in gone.values())
    verdicts = Counter(replay(bundle, failure=failure).verdict for failure in failures)
    assert set(verdicts) <= {"free", "identical"}
    assert verdicts["identical"] > len(failures) // 2


def test_what_the_storage_forgot_is_followed_in_the_recording(tmp_path: Path) -> None:
    """An orphan's next attempt writes over what it had written: both are told, each as of its time."""
    found = 0
    for seed in (1,):  # cuts six
        bundle, failures = recorded(
            tmp_path / str(seed), "source.0@410", "source.0@900", "map-1.0@903", "source.1@1400", seed=seed
        )
        for failure in failures:
            assert replay(bundle, failure=failure).verdict in ("identical", "free"), f"seed {seed}, failure {failure}"
        for task in bundle.tasks():
            held = holders(bundle, task)
            assert not held.faults, f"seed {seed}"
            for one in held.shortenings:
                found += 1
                before = held.held_at(one.holder, one.holder_attempt, one.t_us - 1)
                after = {
                    (c.log.thread, c.epoch): c.data for c in held.held_at(one.holder, one.holder_attempt, one.t_us)
                }
                assert any(len(copy.data) > len(after.get((copy.log.thread, copy.epoch), b"")) for copy in before)
                for copy in before:
                    assert copy.data.startswith(after.get((copy.log.thread, copy.epoch), b""))
    assert found, "no orphan's stable log was ever cut"


# --- what follows from what ---

MAP = TaskId("map-1.0")


def test_the_least_that_was_left_of_an_attempt_decides_what_is_lost() -> None:
    ends = Ends()
    ends.add(MAP, 0, {("main", 3): 40})
    ends.add(MAP, 2, {("main", 3): 70})
    place = (MAP, "main", 3)
    known = {(0, 40): False, (0, 41): True, (1, 70): False, (1, 71): True, (2, 71): True, (3, 99): False}
    for upto, lost in known.items():
        assert list(ends.lost({place: upto}, completed=3)) == ([place] if lost else []), upto
        assert list(ends.lost({place: upto}, completed=4)) == []
    ends.add(MAP, 3, {("main", 3): 30})
    assert list(ends.lost({place: (0, 40)}, completed=3)) == [place], "what it went on from was cut later"


def test_a_length_counts_as_the_newer_attempts_too() -> None:
    known = {(MAP, "main", 3): (0, 40)}
    merge(known, {(MAP, "main", 3): (1, 35), (MAP, "out-0", 3): (1, 5)})
    assert known == {(MAP, "main", 3): (1, 40), (MAP, "out-0", 3): (1, 5)}


def test_a_buffer_follows_from_what_was_taken_before_it_was_cut_first() -> None:
    takings = [Taking((0, n), 3, {"main": 2 * n, "out-0": 5 * n}, {(MAP, "main", 3): (0, 10 * n)}) for n in range(1, 4)]
    followed = Followed()
    assert followed.advance(takings, "out-0", 2, 50) is takings[0], "the epoch before was over, but for its last cuts"
    assert followed.vector == {}
    assert followed.advance(takings, "out-0", 3, 15) is takings[2]
    assert followed.vector == {(MAP, "main", 3): (0, 20)}
    assert followed.advance(takings, "out-0", 4, 5) is None
    assert followed.vector == {(MAP, "main", 3): (0, 30)}
    assert takings[0].binds({("out-0", 3): 6}) and not takings[0].binds({("out-0", 3): 5, ("main", 2): 99})
