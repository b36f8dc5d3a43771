"""What a buffer follows from: recomputed from what was cut, received and taken; nothing that a protocol kept."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from replay.bundle.frames import BufferFrame, ReceiptFrame
from replay.model import MAIN, WORLD, Channel, thread_of_output
from replay.simulation.recording import Recording

Needs = dict[tuple[str, int, str, int], int]
"""By task, attempt, thread and epoch: how far that log must go."""

Extents = dict[tuple[str, int], int]
"""Of one task's logs, by thread and epoch: how far they go."""

_BUFFER_BUILT_BYTES = 5


@dataclass(frozen=True, slots=True)
class Take:
    """An attempt took a buffer: what it logged from there on follows from that."""

    i: int
    attempt: int
    receipt: ReceiptFrame
    needs: Needs
    lengths: Mapping[str, int]  # by thread, of the epoch that it was taken in

    def allows(self, thread: str, epoch: int) -> float:
        """How far a log goes that does not follow from it."""
        if epoch == self.receipt.epoch:
            return self.lengths.get(thread, 0)
        return float("inf") if epoch < self.receipt.epoch else 0

    def binds(self, extents: Extents) -> bool:
        """Whether something of logs that long follows from it."""
        return any(upto > self.allows(thread, epoch) for (thread, epoch), upto in extents.items())


@dataclass(frozen=True, slots=True)
class Answer:
    """What the storage gave to a recovery."""

    n: int
    task: str
    attempt: int
    extents: Extents


def answers_of(recording: Recording) -> Iterator[Answer]:
    """In their order."""
    for one in recording.events:
        if one["type"] == "determinants-returned" and one["at"] == WORLD:
            task = one["of"]
            attempt = max(start["attempt"] for start in recording.starts[task] if start["n"] < one["n"])
            extents = {(thread, epoch): upto for _, thread, epoch, upto in one["logs"]}
            yield Answer(one["n"], task, attempt, extents)


class Dependence:
    """Read once per recording; `strict` leaves out what happened in the very microsecond of a cut."""

    def __init__(self, recording: Recording, *, strict: bool):
        self.recording = recording
        self.strict = strict
        self.given = {(one.task, one.attempt): one.extents for one in answers_of(recording)}
        self._takes: dict[tuple[str, int], list[Take]] = {}
        self._sums: dict[tuple[str, int], list[Needs]] = {}
        self._cut: dict[tuple[str, int, int, int], Needs] = {}
        self._built: dict[tuple[str, int, int], dict[int, Extents]] = {}

    def takes(self, task: str, attempt: int) -> list[Take]:
        """What an attempt took, in that order; what its log made it take again, as it was taken first."""
        if (task, attempt) not in self._takes:
            inputs = self.recording.graph.task(task).inputs
            channels = [self.recording.graph.channel(one) for one in inputs]
            found = [
                (one.taken_us, one.epoch, one.offset, i, one)
                for i in range(len(inputs))
                for one in self.recording.receipts(task, attempt, i)
                if one.taken
            ]
            first = self._taken_before(task, attempt)
            self._takes[task, attempt] = [
                first.get((i, one.seq)) or self._take(channels[i], attempt, one)
                for *_, i, one in sorted(found, key=lambda each: each[:4])
            ]
        return self._takes[task, attempt]

    def _taken_before(self, task: str, attempt: int) -> dict[tuple[int, int], Take]:
        """By input and number: what the log that an attempt was given makes it take."""
        if not attempt:
            return {}
        before = self._taken_before(task, attempt - 1)
        before |= {(take.i, take.receipt.seq): take for take in self.takes(task, attempt - 1)}
        given = self.given.get((task, attempt))
        # One that was given nothing yet when it ended has taken nothing either.
        return {buffer: take for buffer, take in before.items() if given is None or take.binds(given)}

    def _take(self, channel: Channel, attempt: int, receipt: ReceiptFrame) -> Take:
        task, given = channel.target, self.given.get((channel.target, attempt), {})
        lengths = {MAIN: max(receipt.offset, given.get((MAIN, receipt.epoch), 0))}
        for k in range(len(self.recording.graph.task(task).outputs)):
            frames = self.recording.buffers(task, attempt, k).values()
            cut = sum(one.epoch == receipt.epoch and self._is_before(one.t_us, receipt) for one in frames)
            thread = thread_of_output(k)
            lengths[thread] = max(cut * _BUFFER_BUILT_BYTES, given.get((thread, receipt.epoch), 0))
        needs = self.needs(channel.source, receipt.sender_attempt, channel.k, receipt.seq)
        return Take(channel.i, attempt, receipt, needs, lengths)

    def _is_before(self, cut_us: int, receipt: ReceiptFrame) -> bool:
        return cut_us < receipt.taken_us or (self.strict and cut_us == receipt.taken_us)

    # --- what a buffer follows from ---

    def needs(self, task: str, attempt: int, k: int, seq: int) -> Needs:
        """Its sender's choices, and what its sender had taken, each until the cut and to the end of its epoch."""
        key = (task, attempt, k, seq)
        if key not in self._cut:
            frame = self.recording.buffers(task, attempt, k)[seq]
            count, following = self._taken_until(task, attempt, k, frame)
            needs = dict(self._sum(task, attempt)[count])
            self._add_own(needs, task, attempt, k, frame, following)
            self._cut[key] = needs
        return self._cut[key]

    def _taken_until(self, task: str, attempt: int, k: int, cut: BufferFrame) -> tuple[int, Take | None]:
        """How many takes came before a cut, and the next one; what is rebuilt was cut when it was first cut."""
        takes = self.takes(task, attempt)
        if cut.held_back:
            thread = thread_of_output(k)
            length = self._built_until(task, attempt, k)[cut.seq][thread, cut.epoch]
            count = next((n for n, one in enumerate(takes) if one.allows(thread, cut.epoch) >= length), len(takes))
            return count, takes[count] if count < len(takes) else None
        bisect = bisect_left if self.strict else bisect_right
        by_time = bisect(self._times(task, attempt), cut.t_us)
        return min(by_time, bisect_right(takes, cut.epoch, key=lambda one: one.receipt.epoch)), None

    def _times(self, task: str, attempt: int) -> list[int]:
        """When the attempt itself took what it took, in order."""
        inputs = range(len(self.recording.graph.task(task).inputs))
        return sorted(one.taken_us for i in inputs for one in self.recording.receipts(task, attempt, i) if one.taken)

    def _sum(self, task: str, attempt: int) -> list[Needs]:
        """What follows from the first so many that were taken."""
        if (task, attempt) not in self._sums:
            sums: list[Needs] = [{}]
            for one in self.takes(task, attempt):
                added = dict(sums[-1])
                for place, upto in one.needs.items():
                    added[place] = max(upto, added.get(place, 0))
                sums.append(added)
            self._sums[task, attempt] = sums
        return self._sums[task, attempt]

    def _add_own(self, needs: Needs, task: str, attempt: int, k: int, cut: BufferFrame, following: Take | None) -> None:
        for epoch in self.recording.epochs(task, attempt, MAIN):
            if epoch <= min(cut.epoch, cut.main_epoch):
                whole = epoch < cut.main_epoch
                length = len(self.recording.log(task, attempt, MAIN, epoch)) if whole else cut.main_offset
                if following is not None:
                    length = int(min(length, following.allows(MAIN, epoch)))
                needs[task, attempt, MAIN, epoch] = length
        for (thread, epoch), upto in self._built_until(task, attempt, k)[cut.seq].items():
            needs[task, attempt, thread, epoch] = upto

    def _built_until(self, task: str, attempt: int, k: int) -> dict[int, Extents]:
        """By number: how far an output thread's log went with that buffer."""
        if (task, attempt, k) not in self._built:
            built: dict[int, Extents] = {}
            lengths: Extents = {}
            for seq, frame in sorted(self.recording.buffers(task, attempt, k).items()):
                place = (thread_of_output(k), frame.epoch)
                lengths[place] = lengths.get(place, 0) + _BUFFER_BUILT_BYTES
                built[seq] = dict(lengths)
            self._built[task, attempt, k] = built
        return self._built[task, attempt, k]
