"""What an attempt sent on one output, held against everything else that the recording says of it, frame by frame."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any, NoReturn

from replay.bundle.frames import FROM_IN_FLIGHT, HELD_BACK, IS_EVENT, BufferFrame
from replay.bundle.members import member_name
from replay.causality.life import life_of
from replay.debugger.agreeing.copies import first_difference_from_copies
from replay.debugger.agreeing.going_out import GoingOut
from replay.debugger.agreeing.sendings import Sent, read_sent
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.logs import Built, built_buffers
from replay.debugger.recorded.members import Placed, barrier_of, placed_buffers
from replay.debugger.recorded.scene import own_logs, snapshot_member, snapshot_of
from replay.debugger.recorded.story import Story
from replay.debugger.recorded.track import Track
from replay.log.codec import ends_of
from replay.model import MAIN, Channel, TaskId, read_json, thread_of_output

_LOG_OF_BUFFER_BUILT_BYTES = 5


def check_output(source: RecordingSource, story: Story, task: TaskId, attempt: int, k: int) -> None:
    """Raises `DivergenceFound` at the first buffer or sending that contradicts the rest."""
    _OutputCheck(source, story, task, attempt, k).run()


class _OutputCheck:
    def __init__(self, source: RecordingSource, story: Story, task: TaskId, attempt: int, k: int):
        self.source = source
        self.story = story
        self.task = task
        self.attempt = attempt
        self.k = k
        self.thread = thread_of_output(k)
        self.shape = source.graph.task(task)
        self.channel: Channel = source.graph.channel(self.shape.outputs[k].channel)
        self.logs = own_logs(source, task, attempt, from_epoch=0)
        self.logged = any(self.logs[thread] for thread in (MAIN, self.thread))
        self.boundaries = {
            epoch: _boundaries(data, member_name(task, attempt, MAIN, epoch)) for epoch, data in self.logs[MAIN].items()
        }
        self.epochs = {epoch for thread in self.shape.threads for epoch in source.epochs(task, attempt, thread)} | {
            epoch for one in range(len(self.shape.outputs)) for epoch in source.epochs(task, attempt, f"sent-{one}")
        }
        self.exact = source.manifest.clock.kind == "virtual"
        self.sent: Mapping[int, list[Sent]] = {}
        self.held_back = self._held_back_count()
        self.life = life_of(story.lives, task, attempt)
        self.own_end = 0  # where the determinant of the buffer in hand ends, in the output's own log
        self.going_out = GoingOut(source, story, task, attempt, k)
        self.track = Track.of(source, task, attempt) if self.exact and self.logged else Track()

    def run(self) -> None:
        self.sent = read_sent(self.source, self.story, self.task, self.attempt, self.k)
        named = built_buffers(self.logs, self.thread, f"the log of attempt {self.attempt} of {self.task}")
        seqs: set[int] = set()
        before: Placed | None = None
        for n, placed in enumerate(placed_buffers(self.source, self.task, self.attempt, self.k)):
            self.own_end = 0
            if self.logged:
                self._check_named(placed, named.popleft() if named else None)
            self._check_follows(placed, before)
            self._check_flags(placed, n)
            self._check_main_place(placed)
            self._check_sendings(placed)
            seqs.add(placed.frame.seq)
            before = placed
        if named and before is not None:
            self._differs(
                before,
                f"is the last one on {self.channel.id}, where {before.path} ends, but the log of {self.thread} goes on "
                f"with a buffer of {named[0].buffer_bytes} bytes in epoch {named[0].epoch} at offset {named[0].offset}",
                other_offset=self.source.members.size(before.path),
                log_member=member_name(self.task, self.attempt, self.thread, named[0].epoch),
                log_offset=named[0].offset,
            )
        self._check_nothing_unknown_sent(seqs)

    # --- one buffer ---

    def _check_named(self, placed: Placed, named: Built | None) -> None:
        frame = placed.frame
        log = member_name(self.task, self.attempt, self.thread, frame.epoch)
        end = len(self.logs[self.thread].get(frame.epoch, b""))
        if named is None:
            why = f"is not named by the log of {self.thread}, which ends before it ({log} at offset {end})"
            self._differs(placed, why, log_member=log, log_offset=end)
        self.own_end = named.offset + _LOG_OF_BUFFER_BUILT_BYTES
        if named.buffer_bytes != len(frame.payload) or named.epoch != frame.epoch:
            ends = named.epoch > frame.epoch
            gone = f"sent-{self.k}" if named.epoch < frame.epoch else None
            self._differs(
                placed,
                f"has {len(frame.payload)} bytes in epoch {frame.epoch}, but the log of {self.thread} names one of "
                f"{named.buffer_bytes} bytes in epoch {named.epoch} "
                f"({member_name(self.task, self.attempt, self.thread, named.epoch)} at offset {named.offset})"
                + (f"; {log} ends before it, at offset {end}" if ends else ""),
                log if ends else gone and member_name(self.task, self.attempt, gone, named.epoch, "buf"),
                other_offset=end if ends else None,
                log_member=member_name(self.task, self.attempt, self.thread, named.epoch),
                log_offset=named.offset,
                asked=f"{named.buffer_bytes} bytes",
                logged=f"{len(frame.payload)} bytes",
            )

    def _check_follows(self, placed: Placed, before: Placed | None) -> None:
        frame = placed.frame
        if before is None:
            first = self._first_seq()
            if first is not None and frame.seq != first:
                checkpoint = self.story.checkpoint_of(self.task, self.attempt)
                member = snapshot_member(self.source, self.task, checkpoint, self.attempt)
                self._differs(
                    placed,
                    f"is the first one of attempt {self.attempt}, whose numbers begin at {first}"
                    + (f" by {member}" if member else ""),
                    member,
                )
            return
        if frame.seq != before.frame.seq + 1:
            self._differs(
                placed, f"follows buffer {before.frame.seq} ({before.path}): numbers go up by one", before.path
            )
        # Where two disagree, the one that its own sending confirms is not the damaged one.
        doubtful = before if self._is_confirmed(frame) and not self._is_confirmed(before.frame) else placed
        if frame.t_us < before.frame.t_us:
            self._differs(
                doubtful,
                f"was cut at {doubtful.frame.t_us} us, but buffers {before.frame.seq} and {frame.seq} were cut one "
                f"after the other",
            )
        if _main_place(frame) < _main_place(before.frame):
            self._differs(
                doubtful,
                f"stands at {_main_place(doubtful.frame)} of the main log, but buffers {before.frame.seq} and "
                f"{frame.seq} were cut one after the other",
            )
        if frame.epoch != before.frame.epoch and barrier_of(before.frame) != frame.epoch:
            self._differs(placed, f"is of epoch {frame.epoch}, but no barrier {frame.epoch} stands before it")
        if frame.epoch == before.frame.epoch and barrier_of(before.frame) is not None:
            self._differs(placed, "follows a barrier, which is the last buffer of its epoch")

    def _is_confirmed(self, frame: BufferFrame) -> bool:
        live = [sent for sent in self.sent.get(frame.seq, ()) if not sent.flags & FROM_IN_FLIGHT]
        return any(sent.t_us == frame.t_us and sent.main_upto(frame.main_epoch) == frame.main_offset for sent in live)

    def _check_flags(self, placed: Placed, n: int) -> None:
        frame = placed.frame
        if frame.flags & ~(IS_EVENT | HELD_BACK):
            self._differs(placed, f"has the flags {frame.flags:#04x}; only bits 0 and 1 have a meaning")
        if frame.is_event and _event(frame) is None:
            self._differs(placed, "is marked as an event, but its payload is not a barrier, a watermark or the end")
        if frame.is_event and frame.epoch == barrier_of(frame):
            self._differs(placed, f"is barrier {frame.epoch} and can't be of epoch {frame.epoch} itself")
        if self.held_back is not None and frame.held_back != (n < self.held_back):
            which = "was" if frame.held_back else "was not"
            self._differs(
                placed,
                f"{which} marked as rebuilt and held back, but {self.held_back} buffers were named by what was "
                f"returned to attempt {self.attempt}",
            )

    def _check_main_place(self, placed: Placed) -> None:
        frame = placed.frame
        life, t_us = self.life, frame.t_us
        if life is not None and self.exact and (t_us < life.started_us or life.is_over_by(t_us)):
            self._differs(
                placed,
                f"was cut at {frame.t_us} us, but the attempt lived from {life.started_us} us to {life.ended_us} us",
            )
        if not self.logged:
            return
        least, most = self.track.around(frame.t_us)
        if not least <= _main_place(frame) <= most:
            path, offset = self.track.witness(frame.t_us, later=_main_place(frame) > most)
            self._differs(
                placed,
                f"was cut at {frame.t_us} us at {_main_place(frame)} (epoch, offset) of the main log, which stood "
                f"between {least} and {most} then, as the task's receipts tell ({path} at offset {offset})",
                path,
                other_offset=offset,
            )
        ends = self.boundaries.get(frame.main_epoch)
        if ends is None and frame.main_offset == 0 and frame.main_epoch in self.epochs:
            return  # a recorder need not write an epoch's log that is empty
        if ends is None:
            self._differs(placed, f"was cut in epoch {frame.main_epoch} of the main log, which the attempt never had")
        at = bisect_left(ends, frame.main_offset)
        if frame.main_offset != 0 and (at == len(ends) or ends[at] != frame.main_offset):
            log = member_name(self.task, self.attempt, MAIN, frame.main_epoch)
            near = ends[at] if at < len(ends) else ends[-1] if ends else 0
            why = f"was cut at offset {frame.main_offset} of the main log, where no determinant of it ends ({log})"
            copied = first_difference_from_copies(self.source, self.task, self.attempt, MAIN, frame.main_epoch)
            if copied is not None:
                near, why = copied.at, f"{why}; {copied.words}"
            self._differs(placed, why, log_member=log, log_offset=near)
        if frame.main_epoch < frame.epoch:
            self._differs(placed, f"is of epoch {frame.epoch}, but was cut in epoch {frame.main_epoch} of its task")

    # --- its sendings ---

    def _check_sendings(self, placed: Placed) -> None:
        frame = placed.frame
        sendings = self.sent.get(frame.seq, ())
        if self.going_out.must_have_left(frame, self.own_end, sendings) and not sendings:
            self._check_not_sent(placed)
        for n, sent in enumerate(sendings):
            if sent.sending != n:
                why = f"has a sending numbered {sent.sending} where {n} follows ({_at(sent)})"
                self._differs(placed, why, sent.path, other_offset=sent.offset)
            if sent.epoch != frame.epoch:
                why = f"has a sending that is filed under epoch {sent.epoch} ({_at(sent)})"
                self._differs(placed, why, sent.path, other_offset=sent.offset)
            if sent.t_us < frame.t_us:
                why = f"was cut at {frame.t_us} us, after it was sent at {sent.t_us} us ({_at(sent)})"
                self._differs(placed, why, sent.path, other_offset=sent.offset)
            if not sent.flags & FROM_IN_FLIGHT:
                self._check_live(placed, sent, n)
            if sent.carries and sent.own_upto < self.own_end and not self._is_void(frame.epoch, sent.t_us):
                why = (
                    f"was sent without its own determinant: up to then its receiver had been sent {sent.own_upto} "
                    f"bytes of the log of {self.thread}, epoch {frame.epoch}, and that determinant ends at "
                    f"{self.own_end} ({_at(sent)})"
                )
                self._differs(placed, why, sent.path, other_offset=sent.offset, thread=self.thread)

    def _check_not_sent(self, placed: Placed) -> None:
        frame = placed.frame
        member = member_name(self.task, self.attempt, f"sent-{self.k}", frame.epoch, "dlt")
        untold = (
            f"no channel-lost event before {frame.t_us} us tells attempt {self.attempt} of {self.task} that "
            f"{self.channel.id} is not connected"
        )
        if member in self.source.members:
            self._differs(
                placed,
                f"was never sent, says {member}, though {untold}",
                other_member=member,
                other_offset=self.source.members.size(member),
            )
        if self._keeps_sendings:
            raise Missing(
                f"The recording lacks {member}, though {placed.path} has buffer {frame.seq} of {self.channel.id} at "
                f"offset {placed.offset} and {untold}; or such an event is missing. So it can't be said whether the "
                f"replay is identical.",
                member=placed.path,
                offset=placed.offset,
                lacks=member,
            )

    @property
    def _keeps_sendings(self) -> bool:
        return any(name.endswith(".dlt") and "/sent-" in name for name in self.source.members.names("tasks/"))

    def _check_live(self, placed: Placed, sent: Sent, n: int) -> None:
        frame = placed.frame
        if n or frame.held_back:
            why = f"was held back or sent before, and yet not sent from the in-flight log ({_at(sent)})"
            self._differs(placed, why, sent.path, other_offset=sent.offset)
        if not self.exact:
            return
        if sent.t_us != frame.t_us and not self.source.manifest.protocol.waits:
            why = f"was cut at {frame.t_us} us, but its first sending says {sent.t_us} us ({_at(sent)})"
            self._differs(placed, why, sent.path, other_offset=sent.offset)
        if self._is_void(frame.main_epoch, sent.t_us):
            return
        if self.logged and sent.carries and sent.main_upto(frame.main_epoch) != frame.main_offset:
            self._differs(
                placed,
                f"was cut at offset {frame.main_offset} of the main log of epoch {frame.main_epoch}, but the delta "
                f"on it went up to offset {sent.main_upto(frame.main_epoch)} ({_at(sent)})",
                sent.path,
                other_offset=sent.offset,
            )

    def _is_void(self, epoch: int, t_us: int) -> bool:
        """Whether past lost choices nothing of that epoch's log is shared any more."""
        if self.source.manifest.protocol.on_lost != "continue" or not self.story.losses:
            return False
        before = self.story.void_before(self.task, self.source.graph.all_upstream(self.task), t_us)
        return before is None or epoch < before

    def _check_nothing_unknown_sent(self, seqs: set[int]) -> None:
        for seq, sendings in self.sent.items():
            if seqs and seq not in seqs:
                raise DivergenceFound(
                    f"{_at(sendings[0])}: buffer {seq} of {self.channel.id} was sent, but attempt {self.attempt} of "
                    f"{self.task} never cut a buffer of that number.",
                    member=sendings[0].path,
                    offset=sendings[0].offset,
                    other_member=f"{sendings[0].path.removesuffix('.dlt')}.buf",
                    channel=self.channel.id,
                    buffer=seq,
                )

    # --- what is known from elsewhere ---

    def _first_seq(self) -> int | None:
        checkpoint = self.story.checkpoint_of(self.task, self.attempt)
        if checkpoint == 0:
            return 0
        state = snapshot_of(self.source, self.task, checkpoint, self.attempt)
        outputs = state.get("outputs") if state else None
        first = outputs.get(self.channel.id) if isinstance(outputs, Mapping) else None
        return first if isinstance(first, int) else None

    def _held_back_count(self) -> int | None:
        """How many buffers the attempt had to rebuild; None where its recovery was cut short, or is not recorded."""
        if (self.task, self.attempt) not in self.story.starts and self.attempt > 0:
            return None
        returned = self.story.returned_to(self.task, self.attempt)
        named = sum(upto for (thread, _), upto in returned.items() if thread == self.thread)
        return named // _LOG_OF_BUFFER_BUILT_BYTES

    def _differs(self, placed: Placed, why: str, member: str | None = None, **detail: Any) -> NoReturn:
        frame = placed.frame
        raise DivergenceFound(
            f"{placed.path} at offset {placed.offset}: buffer {frame.seq} of {self.channel.id} {why}.",
            **{
                "member": placed.path,
                "offset": placed.offset,
                "channel": self.channel.id,
                "buffer": frame.seq,
                "other_member": member,
                **detail,
            },
        )


def _boundaries(data: bytes, path: str) -> array[int]:
    return array("q", ends_of(data, path))


def _at(sent: Sent) -> str:
    return f"{sent.path} at offset {sent.offset}"


def _main_place(frame: BufferFrame) -> tuple[int, int]:
    return frame.main_epoch, frame.main_offset


def _event(frame: BufferFrame) -> Mapping[str, Any] | None:
    try:
        event = read_json(frame.payload)
    except ValueError:
        return None
    known = isinstance(event, dict) and len(event) == 1 and next(iter(event)) in ("barrier", "watermark", "end")
    return event if known else None
