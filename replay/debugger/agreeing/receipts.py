"""Receipts, held against the sendings that they are the arrivals of, and against one another."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NoReturn

from replay.bundle.frames import ReceiptFrame
from replay.bundle.members import member_name
from replay.causality.life import life_of
from replay.debugger.agreeing.copies import first_difference_from_copies
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_receipts, placed_sendings
from replay.debugger.recorded.scene import snapshot_of
from replay.debugger.recorded.story import Story
from replay.errors import CorruptDeterminant
from replay.log.codec import decode_all
from replay.model import MAIN, Channel, TaskId

_Sending = tuple[int, int, int]
"""(sender's attempt, seq, sending)."""

_Sent = tuple[int, int, int, str]
"""(when, to which attempt, of which epoch, where it stands)."""

_Placed = tuple[str, int, str, ReceiptFrame]
"""(member, offset in it, channel, receipt)."""


class LogEnds:
    """Where the determinants of an attempt's main log end: read when first asked for, and once for all its inputs."""

    def __init__(self, source: RecordingSource, task: TaskId, attempt: int) -> None:
        self.source, self.task, self.attempt = source, task, attempt

    @cached_property
    def by_epoch(self) -> dict[int, set[int]]:
        """What does not decode is found out elsewhere."""
        found: dict[int, set[int]] = {}
        for epoch in self.source.epochs(self.task, self.attempt, MAIN):
            log = self.source.log_bytes(self.task, self.attempt, MAIN, epoch)
            with suppress(CorruptDeterminant):
                found[epoch] = {0, *accumulate(length for _, length, _ in decode_all(log))}
        return found


def check_receipts(source: RecordingSource, story: Story, ends: LogEnds, i: int) -> None:
    """Raises `DivergenceFound` at the first receipt on an input that contradicts its sending, or the one before it."""
    _Receipts(source, story, ends, i).run()


def check_takes(source: RecordingSource, task: TaskId, attempt: int) -> None:
    """What stands further on in the main log was taken later, whatever input it came by."""
    if source.manifest.clock.kind != "virtual":
        return
    taken = [
        (path, offset, source.graph.task(task).inputs[i], receipt)
        for i in range(len(source.graph.task(task).inputs))
        for path, offset, receipt in placed_receipts(source, task, attempt, i)
        if receipt.taken
    ]
    taken.sort(key=lambda one: (one[3].epoch, one[3].offset, one[3].taken_us, one[3].record_count))
    for before, one in pairwise(taken):
        if one[3].taken_us < before[3].taken_us:
            _taken_too_soon(before, one)
        if one[3].epoch == before[3].epoch and one[3].record_count < before[3].record_count:
            _counted_back(before, one)


def _taken_too_soon(before: _Placed, after: _Placed) -> NoReturn:
    why = (
        f"at {after[3].taken_us} us, but what stands before it in the main log at {before[3].taken_us} us "
        f"({before[0]} at offset {before[1]})"
    )
    _out_of_order(before, after, why)


def _counted_back(before: _Placed, after: _Placed) -> NoReturn:
    receipt = after[3]
    why = (
        f"at record {receipt.record_count} of epoch {receipt.epoch}, but the one that was taken before it at record "
        f"{before[3].record_count} ({before[0]} at offset {before[1]})"
    )
    _out_of_order(before, after, why)


def _out_of_order(before: _Placed, after: _Placed, why: str) -> NoReturn:
    path, offset, channel, receipt = after
    raise DivergenceFound(
        f"{path} at offset {offset}: the receipt of buffer {receipt.seq} of {channel} says that it was taken {why}: "
        "one of the two is wrong.",
        member=path,
        offset=offset,
        other_member=before[0],
        other_offset=before[1],
        channel=channel,
        buffer=receipt.seq,
    )


class _Receipts:
    def __init__(self, source: RecordingSource, story: Story, ends: LogEnds, i: int):
        task, attempt = ends.task, ends.attempt
        self.source = source
        self.task = task
        self.attempt = attempt
        self.i = i
        self.channel: Channel = source.graph.channel(source.graph.task(task).inputs[i])
        self.sent: dict[int, dict[_Sending, _Sent]] = {}
        self.senders = {n for one, n in story.starts if one == self.channel.source}
        self.senders |= set(source.attempts(self.channel.source))
        self.life = life_of(story.lives, task, attempt)
        self.ends = ends.by_epoch
        self.exact = source.manifest.clock.kind == "virtual"
        goes_back = source.manifest.protocol.name != "none"  # else it begins with whatever comes next
        self.goes_back = self.exact and goes_back
        self.binding = source.manifest.protocol.logs and not story.losses
        self.triggered = _triggered(story)
        known = self.goes_back and (task, attempt) in story.starts
        self.checkpoint = story.checkpoint_of(task, attempt) if known else None
        self.named: dict[_Sending, int] = {}

    def run(self) -> None:
        member, before = "", None
        last: dict[int, tuple[str, ReceiptFrame]] = {}
        for path, offset, receipt in placed_receipts(self.source, self.task, self.attempt, self.i):
            self._check_sending(path, offset, receipt)
            self._check_life(path, offset, receipt)
            self._check_place(path, offset, receipt)
            if path == member and before is not None:
                self._check_order(path, offset, receipt, before)
            if receipt.taken and not last:
                self._check_first(path, offset, receipt)
            if receipt.taken or self.exact:
                if receipt.sender_attempt in last or not self.goes_back:
                    self._check_next(path, offset, receipt, last.get(receipt.sender_attempt))
                elif last:  # a new attempt of the sender begins at the latest where the one before had come to
                    before_it = max(last.values(), key=lambda one: one[1].seq)
                    if receipt.seq > before_it[1].seq:
                        self._check_next(path, offset, receipt, before_it)
                last[receipt.sender_attempt] = path, receipt
            member, before = path, receipt

    def _check_order(self, path: str, offset: int, receipt: ReceiptFrame, before: ReceiptFrame) -> None:
        if receipt.taken and not before.taken:
            self._differs(path, offset, receipt, "was taken, but stands behind one that never was")
        if not receipt.taken or not before.taken:
            return
        if receipt.taken_us < before.taken_us:
            self._differs(
                path,
                offset,
                receipt,
                f"was taken at {receipt.taken_us} us, but buffer {before.seq}, which stands before it, at "
                f"{before.taken_us} us",
            )
        if (receipt.epoch, receipt.offset) < (before.epoch, before.offset):
            self._differs(
                path,
                offset,
                receipt,
                f"was taken at (epoch, offset) {(receipt.epoch, receipt.offset)} of the main log, behind buffer "
                f"{before.seq}, which was taken at {(before.epoch, before.offset)}",
            )

    def _check_first(self, path: str, offset: int, receipt: ReceiptFrame) -> None:
        """An attempt begins with the buffer that the snapshot it restored calls the next."""
        epoch, checkpoint = _epoch_of(path), self.checkpoint
        if checkpoint is None or epoch != checkpoint:
            return  # what the recording lacks says nothing
        state = snapshot_of(self.source, self.task, checkpoint, self.attempt) if checkpoint else None
        listed = (state or {}).get("inputs")
        first = listed.get(self.channel.id) if isinstance(listed, Mapping) else None if checkpoint else 0
        if isinstance(first, int) and receipt.seq > first:
            self._differs(
                path,
                offset,
                receipt,
                f"is that of the first buffer that attempt {self.attempt} took, where {first} was next by checkpoint "
                f"{checkpoint}: receipts are missing before it",
            )

    def _check_next(self, path: str, offset: int, receipt: ReceiptFrame, last: tuple[str, ReceiptFrame] | None) -> None:
        """Also from one epoch's member to the next: an attempt's buffers are numbered without a gap."""
        if last is None:
            return
        there, before = last
        if receipt.seq > before.seq + 1 and (gone := self._gone_between(there, path)) is not None:
            raise Missing(
                f"The recording lacks {gone}, though {path} goes on with buffer {receipt.seq} of {self.channel.id} "
                f"where {before.seq + 1} was next. So it can't be said whether the replay is identical.",
                lacks=gone,
            )
        if receipt.seq != before.seq + 1:
            self._differs(
                path,
                offset,
                receipt,
                f"was {'taken' if receipt.taken else 'received'} next after buffer {before.seq}: buffers come and are "
                f"taken in the order of their numbers, so "
                f"receipts are missing between the two, or one of them has another number"
                + (f"; {there} ends with buffer {before.seq}" if there != path else ""),
                other_member=there if there != path else None,
                other_offset=self.source.members.size(there) if there != path else None,
            )

    def _gone_between(self, before: str, path: str) -> str | None:
        """The first member of an epoch between two that the recording doesn't have."""
        epochs = [_epoch_of(one) for one in (before, path)]
        names = (
            member_name(self.task, self.attempt, f"received-{self.i}", one) for one in range(epochs[0] + 1, epochs[1])
        )
        return next((one for one in names if one not in self.source.members), None)

    def _check_sending(self, path: str, offset: int, receipt: ReceiptFrame) -> None:
        key = receipt.sender_attempt, receipt.seq, receipt.sending
        if key in self.named:
            self._differs(path, offset, receipt, f"is of the very sending whose receipt stands at {self.named[key]}")
        self.named[key] = offset
        if receipt.taken and receipt.taken_us < receipt.received_us:
            self._differs(
                path,
                offset,
                receipt,
                f"was taken at {receipt.taken_us} us, before it was received at {receipt.received_us} us",
            )
        sendings = self._sendings(receipt.sender_attempt)
        if not sendings and receipt.sender_attempt not in self.senders:
            who = f"attempt {receipt.sender_attempt} of {self.channel.source}"
            self._differs(path, offset, receipt, f"is of a sending by {who}, which never was")
        if not sendings:
            return  # the recording has no sendings of that attempt: what it lacks says nothing
        if key not in sendings:
            self._never_sent(path, offset, receipt)
        t_us, to, epoch, place = sendings[key]
        if to != self.attempt:
            why = f"is of a sending that was meant for attempt {to} of {self.task} ({place})"
            self._differs(path, offset, receipt, why)
        if self.exact and receipt.received_us < t_us:
            self._differs(
                path,
                offset,
                receipt,
                f"was received at {receipt.received_us} us, before it was sent at {t_us} us ({place})",
            )
        if not path.endswith(f"/{epoch}.rcv"):
            self._differs(path, offset, receipt, f"is filed here, but its buffer is of epoch {epoch} ({place})")

    def _check_life(self, path: str, offset: int, receipt: ReceiptFrame) -> None:
        life = self.life
        if life is None or not self.exact or life.lingers:
            return
        for t_us, what in ((receipt.received_us, "received"), (receipt.taken_us, "taken")):
            if life.is_over_by(t_us) or (what == "taken" and receipt.taken and t_us < life.started_us):
                self._differs(
                    path,
                    offset,
                    receipt,
                    f"was {what} at {t_us} us, but attempt {self.attempt} of {self.task} lived from {life.started_us} "
                    f"us to {life.ended_us} us",
                )

    def _check_place(self, path: str, offset: int, receipt: ReceiptFrame) -> None:
        """A buffer is taken between two determinants of the main log, and in an epoch that its task can be in."""
        if receipt.taken and self.goes_back:
            self._check_epoch(path, offset, receipt)
        if not receipt.taken or not self.ends:
            return
        ends, log = self.ends.get(receipt.epoch), member_name(self.task, self.attempt, MAIN, receipt.epoch)
        if ends is None or receipt.offset in ends:
            return
        copied = first_difference_from_copies(self.source, self.task, self.attempt, MAIN, receipt.epoch)
        self._differs(
            path,
            offset,
            receipt,
            f"was taken at offset {receipt.offset} of the main log, epoch {receipt.epoch}, where no determinant of it "
            f"ends ({log})" + (f"; {copied.words}" if copied is not None else ""),
            log_member=log,
            log_offset=max((end for end in ends if end < receipt.offset), default=0) if copied is None else copied.at,
        )

    def _check_epoch(self, path: str, offset: int, receipt: ReceiptFrame) -> None:
        """Where logs bind who sends again, no input is past the barrier by which its task enters an epoch."""
        of_buffer = _epoch_of(path)
        if self.binding and receipt.epoch > of_buffer:
            why = f"its buffer is of epoch {of_buffer}: a task enters an epoch when all its inputs brought the barrier"
        elif self.triggered and receipt.epoch > max(self.triggered):
            why = f"no checkpoint-triggered event tells of a checkpoint later than {max(self.triggered)}"
        else:
            return
        self._differs(path, offset, receipt, f"was taken in epoch {receipt.epoch}, but {why}")

    def _never_sent(self, path: str, offset: int, receipt: ReceiptFrame) -> None:
        """Names the place where the sending is missing, as well."""
        task, attempt = self.channel.source, receipt.sender_attempt
        epoch = _epoch_of(path)
        member = member_name(task, attempt, f"sent-{self.channel.k}", epoch, "dlt")
        later = (
            at
            for one, at, _, frame in placed_sendings(self.source, task, attempt, self.channel.k)
            if one == member and frame.seq > receipt.seq and frame.receiver_attempt >= self.attempt
        )
        self._differs(
            path,
            offset,
            receipt,
            f"is of sending {receipt.sending} by attempt {attempt}, which {task} never sent: {member} has no such one",
            other_member=member,
            other_offset=next(later, self.source.members.size(member) if member in self.source.members else 0),
        )

    def _sendings(self, attempt: int) -> dict[_Sending, _Sent]:
        if attempt not in self.sent:
            found = placed_sendings(self.source, self.channel.source, attempt, self.channel.k)
            self.sent[attempt] = {
                (attempt, one.seq, one.sending): (one.t_us, one.receiver_attempt, epoch, f"{path} at offset {offset}")
                for path, offset, epoch, one in found
            }
        return self.sent[attempt]

    def _differs(self, path: str, offset: int, receipt: ReceiptFrame, why: str, **detail: Any) -> NoReturn:
        raise DivergenceFound(
            f"{path} at offset {offset}: the receipt of buffer {receipt.seq} of {self.channel.id} {why}.",
            member=path,
            offset=offset,
            channel=self.channel.id,
            buffer=receipt.seq,
            **detail,
        )


def _epoch_of(path: str) -> int:
    """That of the buffers at their sender, whose receipts are filed there."""
    return int(path.rpartition("/")[2].removesuffix(".rcv"))


def _triggered(story: Story) -> set[int]:
    """The checkpoints that events tell of, if any does."""
    found = (one.get("checkpoint") for one in story.by_number.values() if one.get("type") == "checkpoint-triggered")
    return {one for one in found if isinstance(one, int)}
