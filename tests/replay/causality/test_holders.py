"""Holders and frontiers against a brute-force reading of the bytes, and against what the live tasks answered."""

from __future__ import annotations

import pytest

from replay.causality.frontiers import frontiers
from replay.causality.holders import holders
from replay.model import TaskId
from replay.simulation.world import World
from tests.replay.causality.brute_force import as_raw
from tests.replay.debugger.worlds import bundle_of, world_of

pytestmark = pytest.mark.slow

SEEDS = range(1, 17)


@pytest.mark.parametrize("seed", SEEDS)
def test_holders_are_what_the_bytes_say(seed: int) -> None:
    world, members = world_of(seed)
    bundle, raw = bundle_of(members), as_raw(members)
    moments = sorted({event["t_us"] for event in bundle.events()})
    sampled = [*moments[:: max(1, len(moments) // 6)], 1 << 62]
    for task in bundle.tasks():
        found = holders(bundle, task)
        assert not found.faults, world.reproduce_with
        for holder in bundle.graph.all_downstream(task):
            for attempt in bundle.attempts(holder):
                for t_us in sampled:
                    expected = {
                        (thread, epoch): data
                        for (of, thread, epoch), data in raw.held(holder, attempt, t_us).items()
                        if of == task
                    }
                    copies = found.held_at(holder, attempt, t_us)
                    assert {(c.log.thread, c.epoch): c.data for c in copies if c.data} == expected, (
                        f"{holder} attempt {attempt} of {task} at {t_us} us: {world.reproduce_with}"
                    )


@pytest.mark.parametrize("seed", SEEDS)
def test_growth_is_told_once_and_in_order(seed: int) -> None:
    world, members = world_of(seed)
    bundle = bundle_of(members)
    for task in bundle.tasks():
        upto: dict[tuple[object, ...], int] = {}
        last_us = -1
        for one in holders(bundle, task).growths:
            assert one.t_us >= last_us and one.sent_us <= one.t_us, world.reproduce_with
            assert one.taken_us == -1 or one.taken_us >= one.t_us
            last_us = one.t_us
            key = (one.attempt, one.thread, one.epoch, one.holder, one.holder_attempt)
            assert one.before == upto.get(key, 0) < one.upto, world.reproduce_with
            upto[key] = one.upto
            own = bundle.log_bytes(task, one.attempt, one.thread, one.epoch)
            assert one.upto <= len(own), f"{one}: more than its attempt ever had: {world.reproduce_with}"


@pytest.mark.parametrize("seed", range(1, 33))
def test_survivors_answered_what_they_are_derived_to_have_held(seed: int) -> None:
    """The engine's own answers, by the running tasks that were asked: the extents must agree to the byte."""
    world, members = world_of(seed)
    bundle = bundle_of(members)
    relays = {
        (event["at"], event["attempt"], event["of"])
        for event in bundle.events()
        if event["type"] == "determinants-requested" and event["of"] != event["at"]
    }
    compared = 0
    for event in bundle.events():
        if event["type"] != "determinants-returned" or (event["at"], event["attempt"], event["of"]) in relays:
            continue
        asked = next(e for e in bundle.events() if e["n"] == event["re"])
        # Deltas that arrived within the same microsecond may have come before or after the answer.
        held = holders(bundle, TaskId(event["of"]))
        at_most = held.held_at(event["at"], event["attempt"], event["t_us"], from_epoch=asked["epoch"])
        at_least = held.held_at(event["at"], event["attempt"], event["t_us"] - 1, from_epoch=asked["epoch"])
        most = {(c.log.thread, c.epoch): len(c.data) for c in at_most if c.data}
        least = {(c.log.thread, c.epoch): len(c.data) for c in at_least if c.data}
        if any(one.t_us == event["t_us"] for one in held.shortened(event["at"], event["attempt"])):
            least = most  # a stable storage forgot what an orphan had written, and answers with all that is left
        said = {(thread, epoch): upto for _, thread, epoch, upto in event["logs"]}
        assert set(least) <= set(said) <= set(most), f"event {event['n']}: {world.reproduce_with}"
        assert all(least.get(log, 0) <= upto <= most[log] for log, upto in said.items()), world.reproduce_with
        compared += 1
    if not world.schedule.size:
        assert compared == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_frontiers_are_what_recursion_over_all_buffers_says(seed: int) -> None:
    world, members = world_of(seed)
    bundle, raw = bundle_of(members), as_raw(members)
    rows = frontiers(bundle)
    for task in bundle.tasks():
        for attempt in bundle.attempts(task):
            mine = [row for row in rows if (row.task, row.attempt) == (task, attempt)]
            assert [row.t_us for row in mine] == sorted(row.t_us for row in mine)
            moments = sorted({row.t_us for row in mine})
            for t_us in [*moments[:: max(1, len(moments) // 4)], *moments[-1:]]:
                upto = {(row.of_task, row.thread, row.epoch): row.upto for row in mine if row.t_us <= t_us}
                assert upto == raw.depends(task, attempt, t_us), f"{task} at {t_us} us: {world.reproduce_with}"


FULL_DEPTH_SEEDS = [seed for seed in range(1, 24) if World.random(seed).manifest.protocol.sharing_depth is None]


@pytest.mark.parametrize("seed", FULL_DEPTH_SEEDS)
def test_nobody_depends_on_what_only_the_owner_knows(seed: int) -> None:
    """Always-no-orphans at full depth: what a task depends on, it holds."""
    world, members = world_of(seed)
    bundle, raw = bundle_of(members), as_raw(members)
    for row in frontiers(bundle)[::7]:
        held = raw.held(row.task, row.attempt, row.t_us).get((row.of_task, row.thread, row.epoch), b"")
        restored = next(
            (
                e["checkpoint"]
                for e in bundle.events()
                if e["type"] == "attempt-started" and (e["task"], e["attempt"]) == (row.task, row.attempt)
            ),
            0,
        )
        if row.epoch >= restored:
            assert len(held) >= row.upto, f"{row}: {world.reproduce_with}"


def test_attempts_are_looked_up_once_for_each_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lookup goes through the names of all members: with thousands of channels that took minutes."""
    _, members = world_of(SEEDS[0])
    bundle, asked = bundle_of(members), list[str]()
    attempts = bundle.attempts
    monkeypatch.setattr(bundle, "attempts", lambda task: asked.append(task) or attempts(task))
    holders(bundle, bundle.tasks()[0])
    assert asked and len(asked) == len(set(asked))
