"""What an operator is given: where a record came from, its lineage, how elements count, when it is told what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from replay.errors import InvariantError, ReplayError
from replay.jobs.graphs import manifest_of
from replay.log.determinants import Order, TimerTrigger, Timestamp
from replay.model import Edge, Graph, Job, Manifest, Protocol, Record, Vertex
from replay.runtime.body.gate import arrival
from replay.runtime.body.records import RecordReader, record_bytes
from replay.runtime.body.task import TaskBody
from replay.runtime.body.watermarks import IDLE
from replay.runtime.operators import Context, Operator, Timer, merged_lineage
from tests.replay.runtime.test_body_recovery import START_MS, World


class Told(Operator):
    """Writes down what it is told; emits nothing of its own."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.emits: list[Record] = []

    def on_record(self, record: Record, context: Context) -> None:
        self.told.append((record.key, context.origin, context.watermark_ms))
        context.emit(Record(record.key, record.timestamp, record.value))

    def on_timer(self, timer: Timer, context: Context) -> None:
        self.told.append((timer.at_ms, timer.name, context.origin))
        context.emit(Record("by timer", timer.at_ms, 0))

    def on_watermark(self, watermark_ms: int, context: Context) -> None:
        self.told.append((watermark_ms, context.watermark_ms, context.origin))


class Quiet(Operator):
    """A source that keeps a record for itself."""

    def on_record(self, record: Record, context: Context) -> None:
        """Emits nothing."""


def manifest(options: Mapping[str, Any] | None = None) -> Manifest:
    """Two sources into one operator into a sink."""
    vertices = [
        Vertex("source-a", "source", "t", dict(options or {})),
        Vertex("source-b", "source", "t"),
        Vertex("both", "operator", "t"),
        Vertex("sink", "sink", "t"),
    ]
    edges = [Edge("source-a", "both", "hash"), Edge("source-b", "both", "hash"), Edge("both", "sink", "forward")]
    return manifest_of(Job("t"), Protocol("clonos"), vertices, edges)


def body(task: str, operator: Operator, options: Mapping[str, Any] | None = None) -> tuple[TaskBody, World]:
    world = World(f"context {task}", live=True)
    world.log.open(0)
    one = TaskBody(Graph(manifest(options)), task, operator, driver=world, wall=world, append=world.append)
    one.start()
    return one, world


def bring(one: TaskBody, i: int, payload: bytes, *, event: bool = False) -> None:
    one.gate.offer(i, arrival(one.input_seqs[i], payload, event))
    one.take(i)
    one.process(100)


def written(one: TaskBody) -> tuple[list[Record], list[bytes]]:
    """(records, events) on output 0."""
    reader, records, events = RecordReader("x>y"), [], []
    while one.writers[0].available_bytes:
        cut = one.cut(0, one.writers[0].available_bytes)
        if cut.is_event:
            events.append(cut.payload)
        else:
            records += reader.feed(cut.payload)
    return records, events


def record(key: str, offset: int) -> bytes:
    return record_bytes(Record(key, START_MS, 0, (("source-a.0", offset),)))


def test_a_record_knows_its_origin_also_after_a_timer_between_two_of_them() -> None:
    operator = Told()
    one, world = body("both.0", operator)
    one.set_timer(START_MS, name="t")
    one.gate.offer(0, arrival(0, record("k1", 1) + record("k2", 2), False))
    one.take(0)
    one.process(1)
    one.fire_timer("internal:t")
    one.process(1)
    bring(one, 1, record("k3", 3))
    assert operator.told == [
        ("k1", "source-a", None), (START_MS, "t", ""), ("k2", "source-a", None), ("k3", "source-b", None),
    ]  # fmt: skip
    records, _ = written(one)
    assert [one.lineage for one in records] == [(("source-a.0", 1),), None, (("source-a.0", 2),), (("source-a.0", 3),)]
    assert [type(one) for one in world.appended if not isinstance(one, Timestamp)] == [Order, TimerTrigger, Order]


def test_watermarks_count_as_elements_and_release_timers_before_the_operator_hears() -> None:
    operator = Told()
    one, _ = body("both.0", operator)
    bring(one, 0, record("k1", 1))
    one.set_timer(START_MS + 5, name="early", time="event")
    one.set_timer(START_MS + 9, name="late", time="event")
    bring(one, 0, b'{"watermark":%d}' % (START_MS + 7), event=True)
    assert one.record_count == 2 and operator.told[1:] == []
    bring(one, 1, b'{"watermark":%d}' % (START_MS + 6), event=True)
    assert one.record_count == 3
    assert operator.told[1:] == [(START_MS + 5, "early", ""), (START_MS + 6, START_MS + 6, "")]
    bring(one, 1, b'{"watermark":%d}' % IDLE, event=True)
    assert operator.told[-1] == (START_MS + 7, START_MS + 7, "")
    bring(one, 0, b'{"watermark":%d}' % IDLE, event=True)
    _, events = written(one)
    assert events == [b'{"watermark":%d}' % mark for mark in (START_MS + 6, START_MS + 7, IDLE)]
    assert one.record_count == 5


def test_a_sources_elements_count_as_they_are_emitted() -> None:
    operator = Told()
    one, _ = body("source-a.0", operator, {"watermarks": {"every_records": 2}})
    one.feed_source([Record("k", START_MS + n, n) for n in range(4)])
    counts = []
    while one.process(1):
        counts.append(one.record_count)
    assert counts == [1, 3, 4, 6], "every second record brings a watermark"
    records, events = written(one)
    assert [one.lineage for one in records] == [(("source-a.0", n),) for n in range(4)]
    assert events == [b'{"watermark":%d}' % (START_MS + n - 1) for n in (1, 3)]


def test_ingestion_time_stamps_records_by_the_clock() -> None:
    one, world = body("source-a.0", Told(), {"time": "ingestion", "watermarks": {"every_ms": 10}})
    for ms in (3, 4):
        world.ms = START_MS + ms
        one.feed_source([Record("k", 0, 0)])
        one.process(1)
    world.ms = START_MS + 12
    one.fire_timer("watermark")
    records, events = written(one)
    assert [one.timestamp for one in records] == [START_MS + 3, START_MS + 4]
    assert events == [b'{"watermark":%d}' % (START_MS + 11)], "a record of this millisecond may still come"


def test_a_source_that_keeps_a_record_is_found_out() -> None:
    one, _ = body("source-a.0", Quiet())
    one.feed_source([Record("k", 0, 0)])
    with pytest.raises(InvariantError, match=r"at least one element per record, and source-a\.0 did not"):
        one.process(1)


def test_a_timer_fires_only_while_it_is_set_and_never_by_itself_in_a_replay() -> None:
    one, _ = body("both.0", Told())
    with pytest.raises(InvariantError, match="no timer internal:x is set"):
        one.fire_timer("internal:x")
    one.set_timer(START_MS, name="x")
    one.cancel_timer(START_MS, name="x")
    with pytest.raises(InvariantError, match="no timer internal:x is set"):
        one.fire_timer("internal:x")


def test_a_watermark_that_is_no_number_names_its_buffer() -> None:
    with pytest.raises(ReplayError, match="the event in buffer 4 of a>b can't be read: a watermark is an integer"):
        arrival(4, b'{"watermark":"soon"}', True, channel="a>b")


def test_lineages_are_merged_in_order_and_each_pair_once() -> None:
    assert merged_lineage((("b", 2), ("a", 1)), None, (), (("a", 1), ("a", 0))) == (("a", 0), ("a", 1), ("b", 2))
    assert merged_lineage() == ()
