"""Recoverability of a bundle: its rows come from `replay.causality`, and are swept in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.causality.frames import Fault
from replay.causality.frontiers import frontiers
from replay.causality.holders import holders
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError
from replay.guarantees.recoverability.course import Course, course_of
from replay.guarantees.recoverability.outside import Stands, Take, depended_outside, uncertain_us
from replay.guarantees.recoverability.port import Depended, Held, Place, Question, Situation, Swept, Written
from replay.guarantees.recoverability.sweep import Rows, situation, sweep
from replay.log.codec import decode_all
from replay.log.determinants import Order
from replay.log.determinants import Take as TakenRun
from replay.model import MAIN, WORLD, Graph, Manifest, Task


class BundleCausality:
    """A `Causality` over a recording's members."""

    def __init__(self, source: RecordingSource) -> None:
        self.source = source
        self.faults: list[Fault] = []

    @property
    def manifest(self) -> Manifest:
        """`job.json`."""
        return self.source.manifest

    @property
    def graph(self) -> Graph:
        """Tasks and channels."""
        return self.source.graph

    def events(self) -> Iterable[Mapping[str, Any]]:
        """All of them."""
        return self.source.events()

    @cached_property
    def course(self) -> Course:
        """Read once."""
        return course_of(self.events(), self.graph)

    @cached_property
    def rows(self) -> Rows:
        """Of all tasks, and of the outside as a dependent."""
        depended = [
            Depended(one.task, one.attempt, one.t_us, Place(one.of_task, one.thread, one.epoch), one.upto)
            for one in frontiers(self.source)
        ]
        return Rows.of(self._held(), [*depended, *depended_outside(depended, self.written)])

    def _held(self) -> Iterator[Held]:
        for task in self.graph.order:
            found = holders(self.source, task)
            self.faults += found.faults
            for one in found.growths:
                place = Place(one.task, one.thread, one.epoch)
                yield Held(place, one.attempt, one.holder, one.holder_attempt, one.t_us, one.upto)

    def sweep(self, questions: Sequence[Question], buckets: Sequence[int]) -> Swept:
        """Answers all questions."""
        found = sweep(self.rows, self.course, self.graph, questions, buckets)
        found.uncertain_us = uncertain_us(self.written, self.course, self._kept_outside)
        return found

    def situation(self, place: Place, upto: int, t_us: int) -> Situation:
        """Of the byte before `upto`."""
        return situation(self.rows, self.course, place, upto, t_us)

    def rows_about(self, tasks: Collection[str], t_us: int, *, world: bool) -> Rows:
        """All rows of these tasks' logs; what is later, or stable by then, the asker passes over."""
        rows = self.rows
        return Rows(
            {place: those for place, those in rows.held.items() if place.task in tasks},
            {place: those for place, those in rows.depended.items() if place.task in tasks},
        )

    # --- what the outside saw ---

    def _kept_outside(self, place: Place, t_us: int) -> int:
        """How much of a log the outside itself kept then."""
        return max(
            (one.upto for one in self.rows.held.get(place, ()) if one.holder == WORLD and one.t_us <= t_us), default=0
        )

    @cached_property
    def written(self) -> list[Written]:
        """Every write that the outside saw; none where writes wait for a storage: nobody recorded how long."""
        if self.manifest.protocol.waits:
            return []
        return [one for task in self.graph.tasks for one in self._written(task)]

    def _written(self, task: Task) -> Iterator[Written]:
        committed_us = self._committed_us
        for attempt in self.source.attempts(task.id):
            stands: dict[int, Stands] = {}
            for epoch, line in self._lines(task.id, attempt, "sink"):
                txn, t_us = line.get("txn"), line.get("t_us")
                waits = txn is not None or line.get("id") is not None
                seen_us = t_us if txn is None else committed_us.get((task.id, txn)) if type(txn) is int else None
                if type(seen_us) is not int or type(t_us) is not int:
                    continue
                if not stands:
                    stands = self._stands(task, attempt)
                offset, after = stands[epoch].around(t_us) if epoch in stands else (0, 0)
                yield Written(task.id, attempt, seen_us, epoch, offset, offset if waits else after, waits)

    @cached_property
    def _committed_us(self) -> dict[tuple[Any, Any], int]:
        """Of transactions, when the outside could see them."""
        found = (one for one in self.events() if one["type"] == "epoch-committed")
        return {(one.get("task"), one.get("txn")): one["t_us"] for one in found if _hashable(one)}

    def _stands(self, task: Task, attempt: int) -> dict[int, Stands]:
        """By epoch: where the main log stood whenever something was taken, and how long it became."""
        takes: dict[int, list[Take]] = defaultdict(list)
        for i, _ in enumerate(task.inputs):
            for one in self.source.receipts(task.id, attempt, i):
                if one.taken:
                    takes[one.epoch].append(Take(one.taken_us, one.offset, i))
        epochs = {*takes, *self.source.epochs(task.id, attempt, MAIN)}
        logs = {epoch: self.source.log_bytes(task.id, attempt, MAIN, epoch) for epoch in epochs}
        return {epoch: Stands(takes.get(epoch, []), *_orders(data)) for epoch, data in logs.items()}

    def _lines(self, task: str, attempt: int, folder: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        for epoch in self.source.epochs(task, attempt, folder):
            name = member_name(task, attempt, folder, epoch)
            with self.source.members.open(name) as stream:
                yield from ((epoch, line) for _, line in read_lines(stream, name))

    # --- evidence ---

    def taken(self, task: str, attempt: int, t_us: int) -> Iterable[str]:
        """Evidence: the receipts of what an attempt took in that microsecond; of the outside, the lines it got."""
        if task == WORLD:
            yield from self._given_out(t_us)
            return
        for i, channel in enumerate(self.graph.task(task).inputs):
            for one in self.source.receipts(task, attempt, i):
                if one.taken_us == t_us:
                    yield f"receipt:{channel}/{one.sender_attempt}#{one.seq}/{one.sending}"

    def _given_out(self, t_us: int) -> Iterator[str]:
        for task in self.graph.tasks:
            for attempt in self.source.attempts(task.id):
                for epoch, line in self._lines(task.id, attempt, "sink"):
                    if line.get("t_us") == t_us:
                        yield f"sink:{task.id}/{attempt}/{epoch}#{line.get('n')}"

    def determinant(self, place: Place, attempt: int, offset: int) -> str | None:
        """Evidence: the determinant that an offset lies in."""
        found = self.source.determinants(place.task, attempt, place.thread, place.epoch)
        for seq, (begins, length, _) in enumerate(found):
            if begins <= offset < begins + length:
                return f"det:{place.task}/{attempt}/{place.thread}/{place.epoch}#{seq}"
        return None

    def read(self, task: str) -> str:
        """What there is of a source's records."""
        for attempt in self.source.attempts(task):
            line = next(iter(self.source.source(task, attempt)), None)
            if line is not None:
                return "references" if "ref" in line else "records"
        return "missing" if any(self._cut(task)) else "nothing"

    def _cut(self, task: str) -> Iterator[bool]:
        for attempt in self.source.attempts(task):
            for k, _ in enumerate(self.graph.task(task).outputs):
                yield any(not frame.is_event for frame in self.source.buffers(task, attempt, k))

    def unfollowed(self) -> Iterator[tuple[str, str, str]]:
        """(channel, why, after which buffer) of deltas that could not be followed."""
        return ((one.channel, one.why, str(one.seq)) for one in self.faults)

    def gaps(self) -> Iterator[tuple[str, str]]:
        """(channel, what is missing): receipts whose buffer or sending isn't there, sendings without any receipt."""
        for channel in self.graph.channels:
            cut, sent = set[tuple[int, int]](), set[tuple[int, int, int]]()
            for attempt in self.source.attempts(channel.source):
                cut.update((attempt, one.seq) for one in self.source.buffers(channel.source, attempt, channel.k))
                those = self.source.sendings(channel.source, attempt, channel.k)
                sent.update((attempt, one.seq, one.sending) for one in those)
            received = False
            for attempt in self.source.attempts(channel.target):
                for one in self.source.receipts(channel.target, attempt, channel.i):
                    received = True
                    if (one.sender_attempt, one.seq) not in cut:
                        yield channel.id, f"tasks/{channel.source}/{one.sender_attempt}/sent-{channel.k}/*.buf"
                    if (one.sender_attempt, one.seq, one.sending) not in sent:
                        yield channel.id, f"tasks/{channel.source}/{one.sender_attempt}/sent-{channel.k}/*.dlt"
            if sent and not received:
                yield channel.id, f"tasks/{channel.target}/*/received-{channel.i}/*.rcv"


def _orders(log: bytes) -> tuple[int, dict[int, tuple[int, int]]]:
    """How long a log is, and by offset the inputs that its determinants of delivery name, with their sizes."""
    found: dict[int, tuple[int, int]] = {}
    try:
        for offset, length, one in decode_all(log):
            if isinstance(one, (Order, TakenRun)):
                found[offset] = (one.channel, length)
    except ReplayError:
        pass  # what stands before the fault is known
    return len(log), found


def _hashable(event: Mapping[str, Any]) -> bool:
    return isinstance(event.get("task"), str) and type(event.get("txn")) is int
