"""What other depths would have carried: against brute force, against what was recorded, and against new recordings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from replay.bundle.reader import Bundle
from replay.causality.carried import Carried, Depth, Followed
from replay.causality.depths import follow
from replay.causality.life import lives
from replay.causality.turns import turns_of
from replay.errors import PoolExhausted, WrongSetting
from replay.model import WORLD, TaskId
from replay.runtime.attempts.memory import Memory
from replay.simulation.plan import Plan
from replay.simulation.world import World, random_plan
from tests.replay.causality.brute_force import as_raw
from tests.replay.causality.brute_force_depths import Travelling
from tests.replay.debugger.worlds import MemoryMembers, bundle_of, recorded, world_of

pytestmark = pytest.mark.slow

SEEDS = range(1, 17)


def followed(bundle: Bundle, task: str, attempt: int = 0) -> Followed:
    events = list(bundle.events())
    return follow(bundle, TaskId(task), attempt, float("inf"), turns_of(events), lives(events))


def shares(bundle: Bundle) -> bool:
    protocol = bundle.manifest.protocol
    return protocol.logs and not protocol.in_storage


@pytest.mark.parametrize("seed", range(1, 49))
def test_computed_for_the_recorded_depth_every_sending_carries_what_was_recorded(seed: int) -> None:
    world, members = world_of(seed)
    bundle = bundle_of(members)
    for task in bundle.tasks():
        found = followed(bundle, task)
        assert (found.unlike, found.unknown) == (0, 0), f"{task}: {found.first_unlike}: {world.reproduce_with}"
        assert not found.uncompared and not any(one.faults for one in (found.recorded, *found.computed))


def by_channel(bundle: Bundle, task: str, n: int) -> dict[str, Counter[str]]:
    """At that depth, of all attempts of the task together."""
    found: dict[str, Counter[str]] = {}
    for attempt in bundle.attempts(task):
        for channel, one in followed(bundle, task, attempt).computed[n - 1].carried.items():
            counts = found.setdefault(channel, Counter())
            counts.update(sent=one.bytes, new=one.new, again=one.again)
    return {channel: counts for channel, counts in found.items() if not channel.endswith(f">{WORLD}")}


def test_other_depths_carry_what_going_through_every_byte_says() -> None:
    compared = 0
    for seed in SEEDS:
        world, members = world_of(seed)
        bundle, raw = bundle_of(members), as_raw(members)
        for task in bundle.tasks() if shares(bundle) else ():
            for n in range(1, len(followed(bundle, task).computed) + 1):
                expected = Travelling(raw, task, n).run()
                if not expected.ambiguous:
                    told = {one: Counter(counts) for one, counts in expected.channels.items()}
                    assert by_channel(bundle, task, n) == told, f"{task} at depth {n}: {world.reproduce_with}"
                    compared += n > 1
    assert compared > 70


def test_each_byte_is_new_to_a_receiver_once() -> None:
    again = 0
    for seed in SEEDS:
        world, members = world_of(seed)
        bundle = bundle_of(members)
        for task in bundle.tasks():
            news: Counter[str] = Counter()
            for attempt in bundle.attempts(task):
                found = followed(bundle, task, attempt).recorded
                for channel, one in found.carried.items():
                    news[channel.split(">")[1]] += one.new
                    again += one.again
            held: Counter[str] = Counter()
            for (holder, _), copies in followed(bundle, task).recorded.copies.items():
                held[holder] += sum(copies.at(1 << 62).values())
            assert +news == +held, f"{task}: {world.reproduce_with}"
    assert again > 0


# --- the same jobs, recorded again ---


def without_weight(plan: Plan, depth: int | None) -> Plan:
    """Where bytes take no time, buffers don't depend on the deltas they carry."""
    costs = replace(plan.costs, bandwidth_bytes_per_s=1 << 62)
    return replace(plan, costs=costs, memory=Memory(), protocol=replace(plan.protocol, sharing_depth=depth))


def traffic(members: MemoryMembers) -> dict[str, bytes]:
    return {name: data for name, data in members.members.items() if name.endswith((".buf", ".rcv"))}


def test_what_is_computed_for_another_depth_is_what_a_recording_at_that_depth_has() -> None:
    compared = other = 0
    for seed in range(1, 81):
        plan = random_plan(seed)
        if plan.protocol.name != "clonos" or plan.protocol.on_lost != "rollback":
            continue
        try:
            first, second = (recorded(World(without_weight(plan, depth))) for depth in (1, None))
        except (PoolExhausted, WrongSetting):
            continue
        if traffic(first) != traffic(second):  # a recovery went otherwise
            other += 1
            continue
        shallow, deep = bundle_of(first), bundle_of(second)
        for task in (task for task in shallow.tasks() if shallow.graph.all_downstream(task)):
            most = len(followed(shallow, task).computed)
            unclear = Travelling(as_raw(first), task, most).run().ambiguous
            for attempt in shallow.attempts(task):
                at_one, at_full = followed(shallow, task, attempt), followed(deep, task, attempt)
                said = f"{task} attempt {attempt}: {World(without_weight(plan, None)).reproduce_with}"
                assert within(at_full.computed[0]) == within(at_one.recorded), said
                if not unclear:
                    assert within(at_one.computed[-1]) == within(at_full.recorded), said
                    compared += most > 1
    assert compared > 40, f"{compared} compared, {other} recordings went otherwise"


def within(depth: Depth) -> dict[str, Carried]:
    """What stays among the tasks: what is left with the world has the times of its records."""
    return {str(channel): one for channel, one in depth.carried.items() if not channel.endswith(f">{WORLD}")}
