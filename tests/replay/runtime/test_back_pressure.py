"""Credits, the flush timeout and records that span buffers: what a slow receiver does to those above it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from unittest import mock

import pytest

from replay.bundle.frames import read_buffers
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.model import Record
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine, Run
from replay.runtime.network import Connection
from replay.runtime.outside.partition_log import Partition
from replay.runtime.recorder import MemoryMembers

OPTIONS: dict[str, Any] = {"seed": 11, "events": 1200, "parallelism": 3, "checkpoint_interval_ms": 400}


@dataclass(frozen=True, slots=True)
class OneKey:
    """The records of another partition, all of one key: one task of each hash edge is given everything."""

    of: Partition

    @property
    def records(self) -> int:
        return self.of.records

    def arrival_us(self, offset: int) -> int:
        return 0

    def there_at(self, t_us: int) -> int:
        return self.of.records

    def record(self, offset: int) -> Record:
        made = self.of.record(offset)
        return Record("always the same", made.timestamp, made.value)


def skewed(**options: Any) -> Run:
    run = run_of(RecordOptions(**{**OPTIONS, "buffer_bytes": 256, **options}), PROTOCOLS)
    return replace(run, partitions={task: OneKey(one) for task, one in run.partitions.items()})


def finished(run: Run, look: Callable[[Engine], None] | None = None) -> tuple[Engine, MemoryMembers]:
    members = MemoryMembers()
    engine = Engine(run, members)
    if look is not None:
        engine.on_event = lambda *_: look(engine)
    engine.run()
    return engine, members


@pytest.mark.parametrize("given", [1, 2, 8])
def test_no_more_buffers_are_under_way_or_waiting_than_the_receiver_gave_credits(given: int) -> None:
    send, most = Connection.send_down, 0

    def counted(self: Connection, size: int, deliver: Callable[[], None]) -> None:
        nonlocal most
        most = max(most, self.in_use)
        assert 0 <= self.in_use <= given
        send(self, size, deliver)

    run = skewed(kills=("map-1.0@100",))
    with mock.patch.object(Connection, "send_down", counted):
        finished(replace(run, costs=replace(run.costs, credits=given)))
    assert most == given


def test_a_slow_task_slows_its_sources_and_what_waits_between_them_stays_bounded() -> None:
    queued = 0

    def look(engine: Engine) -> None:
        nonlocal queued
        for attempt in engine.current.values():
            if attempt.executing:
                queued = max(queued, *(one.queued_bytes for one in attempt.body.writers), 0)

    engine, members = finished(skewed(record_cost_us=1000, checkpoint_interval_ms=50), look)
    read_us = [
        json.loads(line)["t_us"]
        for name, data in members.members.items()
        if "/source/" in name
        for line in bytes(data).splitlines()
    ]
    record_us = engine.costs.record_us
    # All three sources could have read in a third of the time that the one busy task needs.
    assert max(read_us) > 0.8 * OPTIONS["events"] * record_us
    largest_batch = engine.costs.batch_records * 200
    assert 0 < queued <= 4 * 256 + largest_batch


def test_records_span_buffers_of_every_size_and_come_out_whole() -> None:
    written = []
    for buffer_bytes in (64, 100, 1 << 16):
        _, members = finished(run_of(RecordOptions(**OPTIONS, buffer_bytes=buffer_bytes), PROTOCOLS))
        sinks = sorted(
            str(json.loads(line)["source"])
            for name, data in members.members.items()
            if "/sink/" in name
            for line in bytes(data).splitlines()
        )
        written.append(sinks)
        sizes = [
            len(frame.payload)
            for name, data in members.members.items()
            if name.endswith(".buf")
            for _, frame in read_buffers(bytes(data), epoch=0)
            if not frame.is_event
        ]
        assert max(sizes) <= buffer_bytes
        assert (max(sizes) == buffer_bytes) == (buffer_bytes < 1 << 16)
    assert written[0] == written[1] == written[2] and len(written[0]) == OPTIONS["events"]


@pytest.mark.parametrize("flush_ms", [1.0, 100.0])
def test_a_buffer_that_does_not_fill_leaves_after_the_flush_timeout(flush_ms: float) -> None:
    run = run_of(RecordOptions(**OPTIONS, flush_ms=flush_ms, rate_per_s=300.0, buffer_bytes=1 << 20), PROTOCOLS)
    engine, members = finished(replace(run, jitter=0.0))
    gaps = []
    for name, data in members.members.items():
        if name.startswith("tasks/source") and name.endswith(".buf"):
            times = [frame.t_us for _, frame in read_buffers(bytes(data), epoch=0) if not frame.is_event]
            gaps += [after - before for before, after in pairwise(times)]
    assert min(gaps) >= min(flush_ms * 1000, 1000)
    mean_us = sum(gaps) / len(gaps)
    assert flush_ms * 1000 <= mean_us <= flush_ms * 1000 + 1e6 / 300 * 9 * 3
    assert engine.totals.buffers_sent > 0


def test_an_event_does_not_wait_for_the_part_filled_buffer_before_it() -> None:
    """It closes that buffer: nothing can be added any more, so both leave at once, in their order."""
    options: dict[str, Any] = {"rate_per_s": 60.0, "buffer_bytes": 1 << 20, "flush_ms": 10_000.0}
    slow = RecordOptions(**{**OPTIONS, "events": 240, "parallelism": 2, **options})
    engine, members = finished(replace(run_of(slow, PROTOCOLS), jitter=0.0))
    triggered = {e["checkpoint"]: e["t_us"] for e in events(members) if e["type"] == "checkpoint-triggered"}
    late_us, closed = [], 0
    for name, data in members.members.items():
        if not (name.startswith("tasks/source") and name.endswith(".buf")):
            continue
        before, last = [frame for _, frame in read_buffers(bytes(data), epoch=0)][-2:]
        barrier = json.loads(last.payload).get("barrier")
        if barrier is not None:
            late_us.append(last.t_us - triggered[barrier])
            closed += not before.is_event
            assert last.t_us - before.t_us <= 2 * engine.costs.cut_us, name
    assert len(late_us) >= 2 * 2 * 5 and closed > len(late_us) / 2
    assert max(late_us) <= 2 * engine.costs.rpc_us + 4 * engine.costs.cut_us


def events(members: MemoryMembers) -> list[dict[str, Any]]:
    return [json.loads(line) for line in bytes(members.members["events.ndjson"]).splitlines()]
