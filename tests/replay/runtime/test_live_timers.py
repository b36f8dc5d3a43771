"""Timers of live attempts: late but never early, held back with the task, and not while it repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from replay.jobs.graphs import ORIGIN_MS
from replay.model import Record, TaskId, Vertex
from replay.runtime.body.task import TaskBody
from replay.runtime.costs import Costs
from replay.runtime.engine import Engine
from replay.runtime.failing.kills import Blow, Kill
from replay.runtime.operators import Context, Operator, Timer
from tests.replay.runtime import eventful


class Watching(Operator):
    """Sets a timer every few milliseconds; emits much when it fires, if it is told to."""

    def __init__(self, seen: list[tuple[int, int, int]], emits: int) -> None:
        self.seen = seen
        self.emits = emits
        self.fired = 0

    def on_record(self, record: Record, context: Context) -> None:
        context.emit(record)
        context.set_timer(record.timestamp + 20, name="much")

    def on_timer(self, timer: Timer, context: Context) -> None:
        self.fired += 1
        assert isinstance(context, TaskBody)
        now_ms = context.clock.now_ms()
        self.seen.append((timer.at_ms, now_ms, max(writer.queued_bytes for writer in context.writers)))
        for n in range(self.emits):
            context.emit(Record(f"k{n}", timer.at_ms, {"n": n, "filled": "x" * 40}, ()))

    def snapshot(self) -> dict[str, Any]:
        return {"fired": self.fired}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.fired = state["fired"]


def watched(
    *, emits: int = 0, blows: tuple[Blow, ...] = (), costs: Costs = eventful.COSTS
) -> tuple[Engine, list[tuple[int, int, int]]]:
    seen: list[tuple[int, int, int]] = []

    def operator(vertex: Vertex) -> Operator:
        return Watching(seen, emits) if vertex.id == "one" else eventful.operator_of(vertex)

    manifest = eventful.manifest(services={}, ships=("hash", "hash", "hash"), parallelism=1, buffer_bytes=200)
    engine, _ = eventful.engine_of(manifest, seed=3, blows=blows, operator=operator, costs=costs)
    engine.run()
    return engine, seen


def test_timers_fire_late_and_never_early() -> None:
    _, seen = watched()
    late_ms = [now_ms - at_ms for at_ms, now_ms, _ in seen]
    assert len(seen) > 30 and min(late_ms) >= 0
    assert max(late_ms) <= 2, "nothing kept the task from firing it"
    assert [at_ms for at_ms, _, _ in seen] == sorted(at_ms for at_ms, _, _ in seen)


@pytest.mark.parametrize("room", [1, 3])
def test_a_timer_that_emits_much_waits_while_its_receiver_is_full(room: int) -> None:
    engine, seen = watched(emits=60, costs=replace(eventful.COSTS, credits=room))
    limit = 4 * engine.buffer_bytes
    assert len(seen) > 30
    assert max(queued for _, _, queued in seen) <= limit
    assert max(now_ms - at_ms for at_ms, now_ms, _ in seen) > 5, "it had to wait"


def test_timers_that_were_due_meanwhile_fire_once_a_recovery_is_over() -> None:
    strike = Blow((Kill(TaskId("one.0"), 40.0),))
    slow = replace(eventful.COSTS, loss_notice_us=25_000)
    engine, seen = watched(blows=(strike,), costs=slow)
    assert engine.current[TaskId("one.0")].number == 1
    late = [(at_ms, now_ms) for at_ms, now_ms, _ in seen if now_ms - at_ms > 4]
    assert late and all(at_ms - ORIGIN_MS >= 39 for at_ms, _ in late), "due while nobody was there to fire them"
    assert min(now_ms - at_ms for at_ms, now_ms, _ in seen) >= 0
    assert {at_ms for at_ms, _, _ in seen} >= {record.timestamp + 20 for record in _records_until(engine, 60)}


def _records_until(engine: Engine, ms: int) -> list[Record]:
    partition = engine.partition_of(TaskId("source.0"))
    assert partition is not None
    return [partition.record(offset) for offset in range(partition.there_at(ms * 1000))]
