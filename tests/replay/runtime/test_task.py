"""The body of a task: records across buffers, barriers, interruptions, and the same again from its log."""

from __future__ import annotations

from typing import Any

import pytest

from replay.errors import CorruptMember, InvariantError
from replay.jobs.pass_through_job import pass_through_manifest
from replay.jobs.registry import new_operator
from replay.log.determinants import BufferBuilt, IgnoreCheckpoint, Order, Timestamp
from replay.log.thread_log import ThreadLog
from replay.model import Graph, Job, Protocol, Record
from replay.runtime.body.gate import arrival
from replay.runtime.body.output import OutputWriter
from replay.runtime.body.records import RecordReader, record_bytes
from replay.runtime.body.task import TaskBody

GRAPH = Graph(pass_through_manifest(Job("test"), Protocol("clonos"), parallelism=2, depth=3))


class Driver:
    def __init__(self) -> None:
        self.logs: dict[str, ThreadLog] = {}
        self.appended: list[Any] = []
        self.epochs: list[int] = []
        self.snapshots: dict[int, dict[str, Any]] = {}
        self.ms = 100

    def append(self, thread: str, determinant: Any, epoch: int) -> None:
        self.logs.setdefault(thread, ThreadLog()).append(determinant, epoch)
        self.appended.append((thread, determinant))

    def now_ms(self) -> int:
        self.ms += 1
        return self.ms

    def random_int32(self) -> int:
        raise AssertionError("a map leaves nothing to chance")

    def external(self, call: str, request: Any, effect: str) -> Any:
        raise AssertionError("a map asks nobody")

    def wrote(self, record: Record) -> None:
        raise AssertionError("a map writes nothing to the outside")

    def timer_set(self, callback: str, at_ms: int) -> None:
        raise AssertionError("a map sets no timer")

    def sealed(self, checkpoint: int) -> list[dict[str, Any]]:
        return []

    def epoch_started(self, epoch: int) -> None:
        self.epochs.append(epoch)

    def snapshot_taken(self, checkpoint: int, state: dict[str, Any]) -> None:
        self.snapshots[checkpoint] = state


def body(driver: Driver, main_logs: dict[int, bytes] | None = None) -> TaskBody:
    operator = new_operator(GRAPH.vertex_of("map-1.0"))
    return TaskBody(GRAPH, "map-1.0", operator, driver=driver, wall=driver, append=driver.append, main_logs=main_logs)


def stream(*keys: str) -> bytes:
    return b"".join(record_bytes(Record(key, 5, {"n": n}, (("source.0", n),))) for n, key in enumerate(keys))


def offer(one: TaskBody, i: int, seq: int, payload: bytes, *, event: bool = False) -> None:
    one.gate.offer(i, arrival(seq, payload, event))


def barrier(checkpoint: int) -> bytes:
    return b'{"barrier":%d}' % checkpoint


def drain(one: TaskBody) -> None:
    while (i := one.next_input(lambda ready: ready[0])) is not None:
        one.take(i)
        one.process(100)


def feed(one: TaskBody, cut_at: int = 20) -> None:
    data = stream("a", "b", "c")
    offer(one, 0, 0, data[:cut_at])
    offer(one, 1, 0, stream("d"))
    offer(one, 0, 1, data[cut_at:])


def outputs(one: TaskBody) -> list[bytes]:
    found = []
    for k, writer in enumerate(one.writers):
        while writer.available_bytes:
            found.append(one.cut(k, writer.available_bytes).payload)
    return found


@pytest.mark.parametrize("cut_at", [1, 3, 4, 5, 20, 60])
def test_records_span_buffers(cut_at: int) -> None:
    reader, data = RecordReader("x>y"), stream("a", "b", "c")
    found = [*reader.feed(data[:cut_at]), *reader.feed(data[cut_at:])]
    assert [one.key for one in found] == ["a", "b", "c"]
    assert reader.partial_bytes == 0


@pytest.mark.parametrize("damage", [b"\xff\xff\xff\xff", b"\x00\x00\x00\x02{]", b"\x00\x00\x00\x02[]"])
def test_a_damaged_record_is_named_with_its_channel(damage: bytes) -> None:
    with pytest.raises(CorruptMember, match="x>y"):
        RecordReader("x>y").feed(damage)


def test_taken_buffers_and_read_clocks_are_logged_in_order() -> None:
    driver = Driver()
    one = body(driver)
    feed(one)
    drain(one)
    kinds = [type(determinant) for thread, determinant in driver.appended if thread == "main"]
    assert kinds == [Order, Order, Timestamp, Timestamp, Timestamp, Order, Timestamp]
    assert one.record_count == 4


def test_the_same_buffers_and_choices_give_the_same_bytes() -> None:
    lost = Driver()
    before = body(lost)
    feed(before)
    before.take(1)  # a choice that nothing but the log can repeat
    before.process(1)
    before.ignore_checkpoint(1)
    drain(before)
    log = lost.logs["main"].bytes_of(0)
    again = Driver()
    again.ms = 9_000
    after = body(again, {0: log})
    feed(after)
    after.fire_due()
    drain(after)
    assert again.logs["main"].bytes_of(0) == log
    assert not after.replaying
    assert outputs(after) == outputs(before)
    assert after.operator.snapshot() == before.operator.snapshot()


def test_a_barrier_waits_for_the_other_inputs_and_is_the_last_of_its_epoch() -> None:
    driver = Driver()
    one = body(driver)
    offer(one, 0, 0, barrier(1), event=True)
    offer(one, 0, 1, stream("late"))
    drain(one)
    assert driver.epochs == []
    assert one.gate.blocked == {0}
    offer(one, 1, 0, barrier(1), event=True)
    drain(one)
    assert driver.epochs == [1]
    assert (one.epoch, one.record_count) == (1, 1)
    assert [type(one) for _, one in driver.appended] == [Order, Timestamp], "barriers are not logged"
    cut = one.cut(0, one.writers[0].available_bytes)
    assert (cut.barrier, cut.epoch) == (1, 0)


def test_a_snapshot_is_complete_once_every_output_has_cut_its_barrier() -> None:
    driver = Driver()
    one = body(driver)
    for i in (0, 1):
        offer(one, i, 0, barrier(1), event=True)
    drain(one)
    one.cut(0, one.writers[0].available_bytes)
    assert driver.snapshots == {}
    one.cut(1, one.writers[1].available_bytes)
    state = driver.snapshots[1]
    assert state["inputs"] == {"source.0>map-1.0": 1, "source.1>map-1.0": 1}
    assert state["outputs"] == {"map-1.0>sink.0": 1, "map-1.0>sink.1": 1}


def test_an_ignored_checkpoint_unblocks_and_its_later_barriers_are_dropped() -> None:
    driver = Driver()
    one = body(driver)
    offer(one, 0, 0, barrier(1), event=True)
    drain(one)
    assert one.ignore_checkpoint(1)
    assert not one.ignore_checkpoint(1), "once is enough"
    assert one.gate.blocked == set()
    offer(one, 1, 0, barrier(1), event=True)
    drain(one)
    assert driver.epochs == []
    assert driver.appended == [("main", IgnoreCheckpoint(0, 1))]


def test_a_channel_that_went_on_to_a_later_barrier_gives_the_earlier_one_up() -> None:
    driver = Driver()
    one = body(driver)
    offer(one, 0, 0, barrier(1), event=True)
    offer(one, 1, 0, barrier(2), event=True)
    drain(one)
    assert one.gate.blocked == {1}
    offer(one, 0, 1, barrier(2), event=True)
    drain(one)
    assert driver.epochs == [2]


def test_a_cut_is_logged_by_the_thread_that_made_it() -> None:
    driver = Driver()
    one = body(driver)
    offer(one, 0, 0, stream("a"))
    drain(one)
    k = next(k for k, writer in enumerate(one.writers) if writer.available_bytes)
    first, second = one.cut(k, 7), one.cut(k, 9)
    assert (first.seq, second.seq) == (0, 1)
    assert (len(first.payload), len(second.payload)) == (7, 9)
    assert driver.appended[-2:] == [(f"out-{k}", BufferBuilt(7)), (f"out-{k}", BufferBuilt(9))]


def test_an_event_is_cut_whole_and_never_together_with_records() -> None:
    writer = OutputWriter()
    writer.write(b"abc")
    writer.write_barrier(1)
    writer.write(b"def")
    assert not writer.can_cut(4)
    assert writer.cut(3).payload == b"abc"
    assert not writer.can_cut(3)
    with pytest.raises(InvariantError):
        writer.cut(3)
    event = writer.cut(writer.available_bytes)
    assert (event.is_event, event.epoch, event.barrier) == (True, 0, 1)
    after = writer.cut(3)
    assert (after.payload, after.epoch, after.seq) == (b"def", 1, 2)
