"""What a manifest says of a task's recovery: whom it asks, how far others are, and what stays after a failure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replay.errors import InvariantError, UnexpectedEvent
from replay.jobs.pass_through_job import pass_through_manifest
from replay.log.causal_log import Copy
from replay.model import MAIN, ChannelId, Graph, Job, LogId, Protocol, TaskId
from replay.recovery import (
    ChannelLost,
    ChannelReconnected,
    DeterminantsReturned,
    Logs,
    RecoveryManager,
    RecoveryStarted,
    RequestDeterminants,
    Setting,
)

US, WORLD = TaskId("map-2.0"), ChannelId("map-2.0>world")
OUTPUTS = tuple(ChannelId(f"map-2.0>sink.{k}") for k in range(3))
CLONOS = Protocol("clonos")


def graph(protocol: Protocol) -> Graph:
    return Graph(pass_through_manifest(Job("test"), protocol, parallelism=3, depth=4))


def setting(task: str, protocol: Protocol = CLONOS) -> Setting:
    return Setting.of(graph(protocol), TaskId(task))


def waiting(one: Setting) -> RecoveryManager:
    manager = RecoveryManager(one)
    for channel, side in sorted(one.channels):
        manager.handle(ChannelReconnected(channel, side))  # type: ignore[arg-type]
    manager.handle(RecoveryStarted())
    return manager


def test_the_distance_counts_the_hops_of_the_longest_way_and_the_one_that_came_in() -> None:
    channel = ChannelId("map-2.1>sink.1")
    for depth in (1, 2):
        sink = setting("sink.1", replace(CLONOS, sharing_depth=depth))
        for of, hops in (("map-2.1", 1), ("map-1.1", 2), ("source.1", 3)):
            assert sink.distance(channel, TaskId(of)) == hops
            assert sink.within_depth(TaskId(of), channel) == (hops <= depth)


@pytest.mark.parametrize("name", ["pessimistic", "optimistic"])
def test_logs_in_a_storage_are_asked_for_there_and_nowhere_else(name: str) -> None:
    one = setting(US, Protocol(name, sharing_depth=0))
    assert one.logs, "sharing none, it logs all the same"
    assert one.asked == (WORLD,)
    manager = waiting(one)
    with pytest.raises(UnexpectedEvent):
        manager.handle(DeterminantsReturned(OUTPUTS[0], US, "held"))
    manager.handle(ChannelLost(OUTPUTS[0], "output"))
    assert manager.handle(ChannelReconnected(OUTPUTS[0], "output")) == (), "it never owed an answer"


@pytest.mark.parametrize(("task", "world"), [(US, None), ("sink.0", ChannelId("sink.0>world"))])
def test_only_what_writes_to_the_outside_asks_a_world_that_keeps_determinants(
    task: str, world: ChannelId | None
) -> None:
    one = setting(task, replace(CLONOS, sink="determinant"))
    assert one.world == world
    assert one.asked == (one.outputs if world is None else (world,))


def test_at_depth_zero_nobody_is_asked_and_nothing_is_logged() -> None:
    one = setting(US, replace(CLONOS, sharing_depth=0))
    assert (one.logs, one.asked) == (False, ())


def test_one_that_recovers_past_lost_choices_asks_nobody_for_its_own_and_all_for_others() -> None:
    one = Setting.of(graph(CLONOS), US, diverged=True)
    assert (one.asked_for_own, one.asked) == ((), OUTPUTS)


def test_holders_that_disagree_are_named_at_once_and_not_after_the_last_answer() -> None:
    manager = waiting(setting(US))
    copies = [Copy(f"sink.{k}", LogId(US, MAIN), 0, data) for k, data in enumerate((b"\0\1", b"\0\2"))]
    manager.handle(DeterminantsReturned(OUTPUTS[0], US, "held", Logs((copies[0],))))
    with pytest.raises(Exception, match=r"sink\.0.*sink\.1"):
        manager.handle(DeterminantsReturned(OUTPUTS[1], US, "held", Logs((copies[1],))))


def test_an_answer_with_logs_of_another_task_is_refused() -> None:
    manager = waiting(setting(US))
    other = Copy("sink.0", LogId(TaskId("map-2.1"), MAIN), 0, b"\0\1")
    with pytest.raises(InvariantError, match="logs of others"):
        manager.handle(DeterminantsReturned(OUTPUTS[0], US, "held", Logs((other,))))


def test_all_outputs_are_asked() -> None:
    one = setting(US)
    manager = RecoveryManager(one)
    manager.handle(RecoveryStarted())
    effects = [effect for channel, side in sorted(one.channels) for effect in manager.handle(_there(channel, side))]
    assert [e.channel for e in effects if isinstance(e, RequestDeterminants)] == list(OUTPUTS)


def _there(channel: ChannelId, side: str) -> ChannelReconnected:
    return ChannelReconnected(channel, side)  # type: ignore[arg-type]
