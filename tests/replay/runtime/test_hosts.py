"""Hosts: slots and anti-affinity hold at every moment, a host fails whole, and nobody waits for ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from replay.errors import ReplayError
from replay.model import TaskId
from replay.runtime.costs import Costs
from replay.runtime.failing.kills import Blow, Kill, KillHost
from replay.runtime.failing.suspicion import Suspicion
from tests.replay.runtime.runs import Done, run

COSTS = Costs(heartbeat_us=5_000, heartbeat_timeout_us=12_000, deploy_us=20_000, host_restart_us=60_000)


def tasks_by_host(done: Done) -> Iterator[tuple[int, Counter[str], dict[str, str]]]:
    """After each event, how many attempts a host has and where each task is, as the events alone tell."""
    where: dict[str, str] = {}
    for event in done.events:
        if event["type"] in ("attempt-started", "task-rescheduled"):
            where[event["task"]] = event["host"]
        elif event["type"] == "task-failed":
            where.pop(event["task"], None)
        else:
            continue
        yield event["n"], Counter(where.values()), dict(where)


@pytest.mark.parametrize("seed", range(10))
def test_no_host_is_ever_beyond_its_slots_and_no_standby_beside_its_task(seed: int) -> None:
    draw = Random(f"hosts {seed}")
    hosts, slots, standby = draw.choice(((3, 3, 1), (4, 2, 0), (3, 4, 1), (4, 6, 2)))
    blows = [Blow((KillHost(f"host-{draw.randrange(hosts)}", draw.uniform(10, 150)),)) for _ in range(2)]
    blows.append(Blow((Kill(TaskId(f"map-1.{draw.randrange(2)}"), draw.uniform(10, 150)),)))
    done = run(seed=seed, blows=blows, hosts=hosts, slots=slots, standby=standby, costs=COSTS)
    for n, taken, _ in tasks_by_host(done):
        assert max(taken.values(), default=0) <= slots, f"seed {seed}, event {n}: {taken}"
    where = {}
    for event in done.events:
        where.update({event["task"]: event["host"]} if event["type"] == "attempt-started" else {})
        if event["type"] == "restore-started" and "host" in event:
            assert where[event["task"]] != event["host"], f"seed {seed}: {event}"
    assert done.violations() == [], f"seed {seed}"


def test_a_host_fails_with_all_its_tasks_in_one_blow_and_takes_nobody_until_it_is_back() -> None:
    done = run(blows=[Blow((KillHost("host-1", 60),))], costs=COSTS)
    failed = done.of("task-failed")
    assert [one["task"] for one in failed] == ["source.1", "map-1.1", "sink.1"]
    assert {one["host"] for one in failed} == {"host-1"}
    assert {one["together"] for one in failed} == {failed[0]["failure"]}
    assert {one["cause"] for one in failed} == {"host killed"}
    back_us = failed[0]["t_us"] + COSTS.host_restart_us * 0.4
    began = [one for one in done.of("attempt-started") if one["attempt"] > 0]
    assert len(began) == 3
    assert not [one for one in began if one["host"] == "host-1" and one["t_us"] < back_us]
    assert done.violations() == []


def test_a_task_waits_for_a_slot_and_says_so() -> None:
    done = run(hosts=2, slots=3, standby=0, blows=[Blow((KillHost("host-0", 50),))], costs=COSTS)
    rescheduled = done.of("task-rescheduled")
    assert len(rescheduled) == 3
    assert all(one["waited_us"] > 0 and one["why"] == "no standbys are kept" for one in rescheduled)
    assert done.violations() == []


def test_a_standby_makes_room_for_a_task() -> None:
    """All slots are taken, by tasks and by standbys: the tasks of the lost host go before the standbys of others."""
    costs = Costs(heartbeat_us=5_000, heartbeat_timeout_us=12_000, deploy_us=20_000, host_restart_us=10_000_000)
    done = run(hosts=3, slots=3, standby=1, parallelism=1, depth=4, events=300, blows=[], costs=costs)
    assert sum(len(one) for one in done.engine.failures.standbys.of.values()) == 4
    blows = [Blow((KillHost("host-1", 30),)), Blow((KillHost("host-0", 90),))]
    done = run(hosts=3, slots=4, standby=1, parallelism=1, depth=4, events=300, blows=blows, costs=costs)
    last = {one["task"]: one["host"] for one in done.of("attempt-started")}
    assert set(last.values()) == {"host-2"}
    assert done.violations() == []


def test_a_blow_at_an_empty_host_strikes_nothing_and_is_told() -> None:
    done = run(hosts=6, standby=0, blows=[Blow((KillHost("host-5", 40),))])
    assert done.of("task-failed") == []
    assert [one.host for one in done.engine.failures.kills.struck_nothing] == ["host-5"]


def test_a_local_copy_is_loaded_where_the_task_was() -> None:
    costs = Costs(state_bytes=64 << 20, upload_bytes_per_s=8 << 30)
    blows = [Blow((Kill(TaskId("map-1.0"), 150),))]
    spans = []
    for local in (False, True):
        done = run(standby=0, blows=blows, costs=costs, local_copies=local, events=600)
        (failed,), (began,) = done.of("task-failed"), [one for one in done.of("attempt-started") if one["attempt"]]
        assert (began["host"] == failed["host"]) is local
        assert began["checkpoint"] > 0
        phases = done.engine.failures.all[0].phases.in_order()
        spans.append(phases["restored"] - phases["started"])
        assert done.violations() == []
    assert spans[1] < spans[0] / 2


@pytest.mark.parametrize(
    ("hosts", "slots", "standby", "said"),
    [(2, 2, 0, "do not fit on 2 hosts of 2 slots"), (1, 9, 1, "there is only one host")],
)
def test_too_few_hosts_are_refused(hosts: int, slots: int, standby: int, said: str) -> None:
    with pytest.raises(ReplayError, match=said):
        run(hosts=hosts, slots=slots, standby=standby)


def test_a_suspected_task_keeps_its_slot_until_it_knows() -> None:
    """Both hosts are full, so its successor waits until the old one has ended."""
    costs = Costs(heartbeat_us=5_000, heartbeat_timeout_us=12_000)
    done = run(hosts=2, slots=3, standby=0, suspicions=[Suspicion(TaskId("map-1.0"), 60, 100)], costs=costs)
    (failed,), (rescheduled,) = done.of("task-failed"), done.of("task-rescheduled")
    assert failed["t_us"] < 80_000 < 160_000 <= rescheduled["t_us"]
    assert done.violations() == []
