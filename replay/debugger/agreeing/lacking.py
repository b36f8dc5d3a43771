"""Members that are gone, as the rest of the recording shows: what is gone contradicts nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from replay.bundle.members import member_name
from replay.debugger.agreeing.lacking_outside import (
    left_outside_gone,
    returned_gone,
    told_gone,
    writes_gone,
    written_gone,
)
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import barrier_of, placed_buffers, placed_receipts, placed_sendings
from replay.debugger.recorded.story import extents_of
from replay.errors import CorruptMember, ReplayError
from replay.log.codec import decode_all
from replay.log.deltas import decode_extents
from replay.log.determinants import Order
from replay.model import MAIN, LogId, TaskId, thread_of_output


@dataclass(frozen=True, slots=True)
class Lack:
    """A member that must have been there, and what shows it."""

    member: str
    shown_by: str

    def instead_of(self, found: DivergenceFound) -> Missing:
        """What was found on the way may follow from the lack, so it proves nothing."""
        return Missing(
            f"The recording lacks {self.member}, though {self.shown_by}. So it can't be said whether the replay is "
            f"identical. What was found: {found.sentence}",
            **{**found.detail, "lacks": self.member},
        )

    def instead_of_nothing(self) -> Missing:
        """Where all that is there agrees, and this is not there."""
        return Missing(
            f"The recording lacks {self.member}, though {self.shown_by}. What is there agrees, but it can't be said "
            f"whether the replay is identical.",
            lacks=self.member,
        )


def first_lack(source: RecordingSource) -> Lack | None:
    """The first one from the sources down, if anything is gone."""
    logs = any(name.endswith(".det") for name in source.members.names("tasks/"))
    begins, answered = _beginnings(source), _answered(source)
    for task in source.graph.order:
        for attempt in source.attempts(task):
            one = task, attempt
            try:
                lack = next(_Attempt(source, task, attempt, logs, begins.get(one), answered).lacks(), None)
            except (DivergenceFound, CorruptMember):
                continue  # damaged, and not gone
            if lack is not None:
                return lack
    return None


def proven_lacks(source: RecordingSource) -> Iterator[Lack]:
    """All that is gone of what attempts left, as far as what they left themselves shows it and nothing is surmised."""
    logs, begins = any(name.endswith(".det") for name in source.members.names("tasks/")), _beginnings(source)
    for task in source.graph.order:
        for attempt in source.attempts(task):
            one = _Attempt(source, task, attempt, logs, begins.get((task, attempt)), surmises=False)
            try:
                yield from _of_its_own(one)
            except (DivergenceFound, CorruptMember):
                continue  # damaged, and not gone


def _of_its_own(one: _Attempt) -> list[Lack]:
    own = f"tasks/{one.task}/{one.attempt}/"
    return [lack for lack in one.lacks() if lack.member.startswith(own) and "/world/" not in lack.member]


def lack_behind(source: RecordingSource, found: DivergenceFound) -> Lack | None:
    """What is gone, and may be all that was found."""
    return first_lack(source) or _lack_there(found)


def _lack_there(found: DivergenceFound) -> Lack | None:
    """Receipts that nothing else than the log that goes on shows to be gone."""
    member = found.detail.get("lacks")
    if not isinstance(member, str):
        return None
    return Lack(member, "buffers were sent to it in that epoch, and its log goes on")


def lack_of_attempt(source: RecordingSource, task: TaskId, attempt: int) -> Lack | None:
    """The first thing that is gone of what an execution of the attempt takes, follows and is held against."""
    logs = any(name.endswith(".det") for name in source.members.names("tasks/"))
    begins = _beginnings(source).get((task, attempt))
    try:
        # Not by what it returned: one that recovers passes on what others returned to it.
        one = _Attempt(source, task, attempt, logs, begins, surmises=False)
        return next(iter(_of_its_own(one)), None)
    except (DivergenceFound, CorruptMember):
        return None  # damaged, and not gone


def _beginnings(source: RecordingSource) -> dict[tuple[str, int], int]:
    """By attempt; after a gap a task begins again with whatever comes next, so that nothing is known there."""
    found: dict[tuple[str, int], int] = {}
    if source.manifest.protocol.name == "none":
        return found
    try:
        for event in source.events():
            checkpoint, attempt = event.get("checkpoint"), event.get("attempt")
            if event.get("type") == "attempt-started" and isinstance(checkpoint, int) and isinstance(attempt, int):
                found[str(event.get("task")), attempt] = checkpoint
    except ReplayError:
        return found  # up to where they can be read
    return found


def _answered(source: RecordingSource) -> set[tuple[str, int, str]]:
    """(task, attempt, channel) where bytes of a log were returned that only that channel can have brought."""
    found: set[tuple[str, int, str]] = set()
    try:
        for event in source.events():
            at, channel = str(event.get("at")), str(event.get("channel"))
            if event.get("type") != "determinants-returned" or at not in source.graph:
                continue
            if any(upto and _only_way(source, of, TaskId(at), channel) for of, *_, upto in extents_of(event)):
                found.add((at, event.get("attempt", -1), channel))
    except ReplayError:
        return found  # up to where they can be read
    return found


def _only_way(source: RecordingSource, of: str, task: TaskId, channel: str) -> bool:
    """Whether what a log of `of` says comes to the task by that input, and by no other."""
    ways = {one for one in source.graph.task(task).inputs if of in _and_above(source, source.graph.channel(one).source)}
    return ways == {channel}


def _and_above(source: RecordingSource, task: TaskId) -> set[str]:
    found, open_ = {str(task)}, [task]
    while open_:
        for channel in source.graph.task(open_.pop()).inputs:
            above = source.graph.channel(channel).source
            if above not in found:
                found.add(str(above))
                open_.append(above)
    return found


@dataclass(slots=True)
class _Attempt:
    """One attempt's folder. `logs`: the recording has determinants at all. `begins`: the epoch of the checkpoint that
    it restored; None where it is not known, or where a task need not be given what came since. `answered`: who returned
    bytes of a log, and on which channels. `surmises`: that what it wrote came of a buffer, and not of a timer."""

    source: RecordingSource
    task: TaskId
    attempt: int
    logs: bool
    begins: int | None = None
    answered: Collection[tuple[str, int, str]] = ()
    surmises: bool = True
    record_epochs: set[int] = field(default_factory=set)
    barriers: set[int] = field(default_factory=set)
    cut_anything: bool = False

    def lacks(self) -> Iterator[Lack]:
        for k in range(len(self.source.graph.task(self.task).outputs)):
            yield from self._of_output(k)
        yield from self._of_main()
        yield from self._of_outside()
        if self.source.graph.task(self.task).inputs:
            yield from self._of_inputs()
        else:
            yield from self._of_source()

    def _size(self, folder: str, epoch: int, suffix: str | None = None) -> int | None:
        """None where the member isn't there."""
        name = member_name(self.task, self.attempt, folder, epoch, suffix)
        return self.source.members.size(name) if name in self.source.members else None

    def _lack(self, folder: str, epoch: int, shown_by: str, suffix: str | None = None) -> Lack:
        return Lack(member_name(self.task, self.attempt, folder, epoch, suffix), shown_by)

    # --- what it cut and sent ---

    def _of_output(self, k: int) -> Iterator[Lack]:
        thread, folder = thread_of_output(k), f"sent-{k}"
        epochs = {
            *self.source.epochs(self.task, self.attempt, folder),
            *self.source.epochs(self.task, self.attempt, thread),
        }
        for epoch in sorted(epochs):
            cut = self._size(folder, epoch, "buf")
            if cut is None and self._size(folder, epoch, "dlt"):
                yield self._lack(folder, epoch, f"buffers of {thread} were sent in that epoch", "buf")
            if cut is None and self._size(thread, epoch):
                yield self._lack(folder, epoch, f"the log of {thread} names buffers of that epoch", "buf")
            if cut and self.logs and self._size(thread, epoch) is None:
                yield self._lack(thread, epoch, f"{thread} cut buffers in that epoch")
        cut_in = [epoch for epoch in sorted(epochs) if self._size(folder, epoch, "buf")]
        if cut_in and self.begins is not None and self.begins < cut_in[0]:
            yield self._lack(folder, self.begins, "it began with that epoch, and cut buffers of later ones", "buf")
        self._note_records(k)

    def _note_records(self, k: int) -> None:
        """In which epochs records were written. A barrier that a flipped bit made one of them doesn't count."""
        for placed in placed_buffers(self.source, self.task, self.attempt, k):
            self.cut_anything = True
            if not placed.frame.is_event and not placed.frame.payload.startswith(b'{"'):
                self.record_epochs.add(placed.frame.epoch)
            elif placed.frame.is_event and placed.frame.payload.startswith(b'{"barrier"'):
                self.barriers.add(placed.frame.epoch)

    # --- what it chose ---

    def _of_main(self) -> Iterator[Lack]:
        """Where receipts and buffers say that the main log stood past its beginning, there was one."""
        if not self.logs:
            return
        threads = self.source.graph.task(self.task).threads
        # Only epochs that other members are of: any other number is that of a flipped bit.
        known = {epoch for one in threads for epoch in self.source.epochs(self.task, self.attempt, one)}
        known |= self.record_epochs
        folders = ("sink", *(f"received-{i}" for i in range(len(self.source.graph.task(self.task).inputs))))
        known |= {epoch for one in folders for epoch in self.source.epochs(self.task, self.attempt, one)}
        for epoch, offset in self._places():
            if offset > 0 and self._size(MAIN, epoch) is None and epoch in known:
                yield self._lack(MAIN, epoch, "buffers were cut or taken in that epoch of its main log")
        for k in range(len(self.source.graph.task(self.task).outputs)):
            for epoch in sorted(self._carried(k) & known):
                if self._size(MAIN, epoch) is None:
                    yield self._lack(MAIN, epoch, "bytes of it were sent on")

    def _carried(self, k: int) -> set[int]:
        """The epochs of its own main log of which deltas carried something."""
        own, layout = LogId(self.task, MAIN), self.source.manifest.protocol.delta_layout
        sendings = placed_sendings(self.source, self.task, self.attempt, k)
        extents = (decode_extents(frame.delta, self.source.ids, layout) for *_, frame in sendings if frame.delta)
        return {one.epoch for of_sending in extents for one in of_sending if one.log == own and one.length}

    def _places(self) -> Iterator[tuple[int, int]]:
        task = self.source.graph.task(self.task)
        for k in range(len(task.outputs)):
            for placed in placed_buffers(self.source, self.task, self.attempt, k):
                yield placed.frame.main_epoch, placed.frame.main_offset
        for i in range(len(task.inputs)):
            for _, _, receipt in placed_receipts(self.source, self.task, self.attempt, i):
                if receipt.taken:
                    yield receipt.epoch, receipt.offset

    def _of_outside(self) -> Iterator[Lack]:
        for gone in (writes_gone, told_gone, written_gone, left_outside_gone, returned_gone):
            for member, shown_by in gone(self.source, self.task, self.attempt):
                yield Lack(member, shown_by)

    # --- what it read ---

    def _of_source(self) -> Iterator[Lack]:
        for epoch in sorted(self.barriers if self.logs else ()):
            if self._size(MAIN, epoch) is None:
                yield self._lack(MAIN, epoch, "it sent the barrier that ends that epoch, and when is a choice")
        for epoch in sorted(self.record_epochs):
            if self._size("source", epoch) is None:
                yield self._lack("source", epoch, "its records of that epoch were sent on")

    def _of_inputs(self) -> Iterator[Lack]:
        for i, channel in enumerate(self.source.graph.task(self.task).inputs):
            there = tuple(self.source.epochs(self.task, self.attempt, f"received-{i}"))
            for epoch in sorted(self._epochs_ended(i)):
                if epoch not in there:
                    yield self._lack(f"received-{i}", epoch, f"it took the barrier of {channel} that ends that epoch")
            if there and self.begins is not None and self.begins not in there and there[-1] > self.begins:
                yield self._lack(
                    f"received-{i}", self.begins, "it began with that epoch, and took buffers of later ones"
                )
            yield from self._of_gaps(i)
            last = self._last_epoch_with_takes(i)
            if last is not None and not any(epoch >= last for epoch in there):
                yield self._lack(f"received-{i}", last, f"it took buffers of {channel} in that epoch")
            if self._must_have_received_more(i, bool(there)):
                for epoch in sorted(self._sent_to_it(i) - set(there)):
                    yield self._lack(f"received-{i}", epoch, f"buffers of {channel} were sent to it in that epoch")
            yield from self._of_sender(i)

    def _epochs_ended(self, i: int) -> set[int]:
        """The epochs that it passed a barrier of. A sender that goes back and never comes to the same barriers again
        has them in other epochs: there only what must have arrived counts."""
        ended = {*self._epochs_left(), *self.barriers}
        return ended if self._takes_once else ended & self._sent_to_it(i, before=self._furthest_received(i))

    @property
    def _takes_once(self) -> bool:
        """Whether nobody takes a number of a buffer twice: else the epochs of buffers tell no order."""
        protocol = self.source.manifest.protocol
        return protocol.name == "coordinated" or (protocol.logs and protocol.on_lost != "continue")

    def _must_have_received_more(self, i: int, anything: bool) -> bool:
        """Whether its log took buffers that no receipt is of, or what it did came from buffers, and none are there."""
        inputs = self.source.graph.task(self.task).inputs
        by_itself = self.surmises and self.cut_anything and len(inputs) == 1
        if not anything and (by_itself or (self.task, self.attempt, inputs[i]) in self.answered):
            return True
        barriers = self._barriers_sent(i)
        taken = {
            (one.sender_attempt, one.seq)
            for *_, one in placed_receipts(self.source, self.task, self.attempt, i)
            if one.taken
        }
        brought = {barriers[one] for one in taken if one in barriers}
        passed = set(tuple(self.source.epochs(self.task, self.attempt, MAIN))[1:])
        # Of barriers no log tells; every input brings each that the task passed.
        return self._orders_of(i) > len(taken - barriers.keys()) or not passed <= brought

    def _barriers_sent(self, i: int) -> dict[tuple[int, int], int]:
        """By the attempt that sent them and their numbers: the epochs that they begin."""
        graph, found = self.source.graph, {}
        channel = graph.channel(graph.task(self.task).inputs[i])
        for sender in self.source.attempts(channel.source):
            for placed in placed_buffers(self.source, channel.source, sender, channel.k):
                if (begins := barrier_of(placed.frame)) is not None:
                    found[sender, placed.frame.seq] = begins
        return found

    def _orders_of(self, i: int) -> int:
        """How often its log says that it took a buffer of this input; with one input nothing says so."""
        if len(self.source.graph.task(self.task).inputs) == 1:
            return 0
        logs = (
            self.source.log_bytes(self.task, self.attempt, MAIN, epoch)
            for epoch in self.source.epochs(self.task, self.attempt, MAIN)
        )
        return sum(isinstance(one, Order) and one.channel == i for data in logs for _, _, one in decode_all(data))

    def _sent_to_it(self, i: int, before: Mapping[int, int] | None = None) -> set[int]:
        """The epochs of buffers that were sent to this attempt; some of them may have been lost on the wire. `before`:
        by attempt of the sender only those with smaller numbers."""
        graph = self.source.graph
        channel = graph.channel(graph.task(self.task).inputs[i])
        return {
            epoch
            for sender in self.source.attempts(channel.source)
            for _, _, epoch, frame in placed_sendings(self.source, channel.source, sender, channel.k)
            if frame.receiver_attempt == self.attempt and (before is None or frame.seq < before.get(sender, 0))
        }

    def _furthest_received(self, i: int) -> dict[int, int]:
        """By attempt of the sender, the largest number that arrived: what was sent before it had to arrive before."""
        furthest: dict[int, int] = {}
        for *_, receipt in placed_receipts(self.source, self.task, self.attempt, i):
            furthest[receipt.sender_attempt] = max(furthest.get(receipt.sender_attempt, 0), receipt.seq)
        return furthest

    def _of_gaps(self, i: int) -> Iterator[Lack]:
        """Buffers are taken by their numbers: those of an epoch between are missed."""
        there = set(self.source.epochs(self.task, self.attempt, f"received-{i}"))
        before: tuple[int, int] | None = None
        for path, _, receipt in placed_receipts(self.source, self.task, self.attempt, i):
            if not receipt.taken or self.begins is None or not self._takes_once:
                continue
            epoch = int(path.rpartition("/")[2].removesuffix(".rcv"))
            if before is not None and receipt.seq > before[1] + 1:
                for gone in sorted(set(range(before[0] + 1, epoch)) - there):
                    yield self._lack(f"received-{i}", gone, f"{path} goes on with buffer {receipt.seq}")
            before = epoch, receipt.seq

    def _epochs_left(self) -> tuple[int, ...]:
        """The epochs that it went on from: every input brought the barrier that ends them."""
        return tuple(self.source.epochs(self.task, self.attempt, MAIN))[:-1]

    def _last_epoch_with_takes(self, i: int) -> int | None:
        task = self.source.graph.task(self.task)
        if not self._takes_once:
            return None
        if len(task.inputs) == 1:
            return max(self.record_epochs, default=None) if self.surmises else None
        found = None
        for epoch in self.source.epochs(self.task, self.attempt, MAIN):
            data = self.source.log_bytes(self.task, self.attempt, MAIN, epoch)
            if any(isinstance(one, Order) and one.channel == i for _, _, one in decode_all(data)):
                found = epoch
        return found

    def _of_sender(self, i: int) -> Iterator[Lack]:
        """A buffer that arrived was cut, and sent, by an attempt whose folder has that epoch."""
        graph = self.source.graph
        channel = graph.channel(graph.task(self.task).inputs[i])
        attempts = set(self.source.attempts(channel.source))
        for epoch in self.source.epochs(self.task, self.attempt, f"received-{i}"):
            name = member_name(self.task, self.attempt, f"received-{i}", epoch)
            for sender in sorted(self._senders(i, epoch) & attempts):
                for suffix in ("buf", "dlt"):
                    gone = member_name(channel.source, sender, f"sent-{channel.k}", epoch, suffix)
                    if gone not in self.source.members:
                        yield Lack(gone, f"{name} has receipts for it")

    def _senders(self, i: int, epoch: int) -> set[int]:
        path = member_name(self.task, self.attempt, f"received-{i}", epoch)
        found = placed_receipts(self.source, self.task, self.attempt, i)
        return {receipt.sender_attempt for one, _, receipt in found if one == path}
