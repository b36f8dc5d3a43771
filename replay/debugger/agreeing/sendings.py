"""The sendings on one output of an attempt: what each carried, held against the logs that it names."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from replay.bundle.frames import FROM_IN_FLIGHT, SENDING_HEAD_BYTES, SendingFrame
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import first_difference
from replay.debugger.recorded.members import damaged, placed_sendings
from replay.debugger.recorded.story import Story
from replay.errors import CorruptMember
from replay.log.deltas import DeltaExtent, decode_extents
from replay.model import MAIN, Channel, LogId, TaskId, output_of_thread, thread_of_output


@dataclass(frozen=True, slots=True)
class Sent:
    """One sending. `upto`: how far the receiver had been sent each epoch of the main log, this sending included;
    `own_upto`: how far that of the output's own log."""

    path: str
    offset: int
    epoch: int
    t_us: int
    seq: int
    sending: int
    flags: int
    carries: bool
    upto: Mapping[int, int]
    own_upto: int = 0

    def main_upto(self, epoch: int) -> int:
        """How much of that epoch of the sender's main log the receiver had been sent."""
        return self.upto.get(epoch, 0)


def read_sent(source: RecordingSource, story: Story, task: TaskId, attempt: int, k: int) -> dict[int, list[Sent]]:
    """Every sending of an output by its buffer; raises where a delta is not what the logs say."""
    return _Sendings(source, story, task, attempt, k).read()


class _Sendings:
    def __init__(self, source: RecordingSource, story: Story, task: TaskId, attempt: int, k: int):
        self.source = source
        self.task = task
        self.attempt = attempt
        self.channel: Channel = source.graph.channel(source.graph.task(task).outputs[k].channel)
        self.k = k
        self.layout = source.manifest.protocol.delta_layout
        self.shares = source.manifest.protocol.sharing_depth != 0
        self.receivers = {n for one, n in story.starts if one == self.channel.target} | set(
            source.attempts(self.channel.target)
        )
        # What the current registration of the receiver was sent: (log, epoch) to offset.
        self.known: dict[tuple[LogId, int], int] = {}
        # Of the output's own log, each attempt of the receiver: (attempt, epoch) to offset.
        self.own: dict[tuple[int, int], int] = {}
        self.recorded: dict[LogId, bool] = {}
        self.attempts: dict[TaskId, tuple[int, ...]] = {}
        self.requests_us = self._requests_us(story) if story.records_states else None
        self.replaying = False
        self.exact = source.manifest.clock.kind == "virtual"
        self.asked = not source.manifest.protocol.logs or not self.exact
        self.reconnected = False
        self.story = story
        self.reaches: dict[LogId, bool] = {}

    def _requests_us(self, story: Story) -> deque[tuple[int, bool]]:
        """When the receiver was there anew, and when it asked for a replay (true): only then are buffers sent from the
        in-flight log."""
        kinds = ("channel-reconnected", "replay-request-received")
        return deque(
            (int(event["t_us"]), event.get("type") == kinds[1])
            for event in story.of_attempt.get((self.task, self.attempt), ())
            if event.get("type") in kinds and event.get("channel") == self.channel.id
        )

    def read(self) -> dict[int, list[Sent]]:
        placed = list(placed_sendings(self.source, self.task, self.attempt, self.k))
        self._check_order(placed)
        placed.sort(key=lambda one: (one[3].t_us, one[3].flags & FROM_IN_FLIGHT == 0))
        found: dict[int, list[Sent]] = {}
        for path, offset, epoch, frame in placed:
            sent = self._sent(path, offset, epoch, frame)
            found.setdefault(frame.seq, []).append(sent)
        return found

    def _check_order(self, placed: Iterable[tuple[str, int, int, SendingFrame]]) -> None:
        """They are written down as they go out."""
        if self.source.manifest.clock.kind != "virtual":
            return
        for (before, at, _, earlier), (path, offset, _, frame) in pairwise(placed):
            if path == before and frame.t_us < earlier.t_us:
                self._differs(
                    path,
                    offset,
                    frame,
                    f"went out at {frame.t_us} us, but stands behind one of {earlier.t_us} us (at offset {at})",
                    other_offset=at,
                )

    def _sent(self, path: str, offset: int, epoch: int, frame: SendingFrame) -> Sent:
        if frame.flags & ~FROM_IN_FLIGHT:
            self._differs(path, offset, frame, f"has the flags {frame.flags:#04x}; only bit 0 has a meaning")
        if self.receivers and frame.receiver_attempt not in self.receivers:
            self._differs(
                path,
                offset,
                frame,
                f"went to attempt {frame.receiver_attempt} of {self.channel.target}, which never was",
            )
        self._check_asked_for(path, offset, frame)
        for extent in self._extents(path, offset, frame):
            self._check_reaches(path, offset, frame, extent)
            self._check_extent(path, offset, frame, extent)
            self.known[extent.log, extent.epoch] = extent.offset + extent.length
            if extent.log == LogId(self.task, thread_of_output(self.k)):
                self.own[frame.receiver_attempt, extent.epoch] = extent.offset + extent.length
        own = LogId(self.task, MAIN)
        upto = {one: length for (log, one), length in self.known.items() if log == own}
        own_upto = self.own.get((frame.receiver_attempt, epoch), 0)
        return Sent(path, offset, epoch, frame.t_us, frame.seq, frame.sending, frame.flags, self.shares, upto, own_upto)

    def _check_asked_for(self, path: str, offset: int, frame: SendingFrame) -> None:
        if self.requests_us is None:
            return
        while self.requests_us and self.requests_us[0][0] <= frame.t_us:
            _, asks = self.requests_us.popleft()
            if asks:
                self.replaying = self.asked = True
            elif self.exact:
                self.asked, self.reconnected = False, True
        if not self.asked and (self.reconnected or self._begins_anew(frame.receiver_attempt)):
            self._differs(
                path,
                offset,
                frame,
                f"went to attempt {frame.receiver_attempt} of {self.channel.target}, which has to ask attempt "
                f"{self.attempt} of {self.task} for it first, and no replay-request-received event before says that "
                f"it did",
            )
        if not frame.from_in_flight:
            self.replaying = False
        elif not self.replaying:
            self._differs(
                path,
                offset,
                frame,
                "is marked as sent from the in-flight log, which no replay-request-received event asked for",
            )

    def _begins_anew(self, receiver_attempt: int) -> bool:
        """Whether one side of the channel began by itself, so that only the receiver knows where to go on."""
        if not self.attempt and not receiver_attempt:
            return False
        story, receiver = self.story, self.channel.target
        return not (
            story.was_rolled_back_to(self.task, self.attempt) or story.was_rolled_back_to(receiver, receiver_attempt)
        )

    def _extents(self, path: str, offset: int, frame: SendingFrame) -> Iterable[DeltaExtent]:
        if not frame.delta:
            return ()
        try:
            return decode_extents(frame.delta, self.source.ids, self.layout, path=path, at=offset + SENDING_HEAD_BYTES)
        except CorruptMember as fault:
            raise damaged(fault, path, frame.seq) from None

    def _check_reaches(self, path: str, offset: int, frame: SendingFrame, extent: DeltaExtent) -> None:
        """Its own logs but those of other outputs, and of tasks above it those of outputs that lead here."""
        log = extent.log
        if log not in self.reaches:
            self.reaches[log] = self._reaches(log)
        if not self.reaches[log]:
            self._differs(path, offset, frame, f"carries {log}, epoch {extent.epoch}, which never goes this way")

    def _reaches(self, log: LogId) -> bool:
        graph, above = self.source.graph, self.source.graph.all_upstream(self.task)
        k = output_of_thread(log.thread)
        if log.task == self.task:
            return k in (None, self.k)
        if log.task not in above or k is None:
            return log.task in above
        target = graph.channel(graph.task(log.task).outputs[k].channel).target
        return target == self.task or target in above

    def _check_extent(self, path: str, offset: int, frame: SendingFrame, extent: DeltaExtent) -> None:
        known = self.known.get((extent.log, extent.epoch), 0)
        if extent.offset not in (known, 0):
            self._differs(
                path,
                offset,
                frame,
                f"carries {extent.log}, epoch {extent.epoch}, from offset {extent.offset} on, where the receiver had "
                f"been sent {known} bytes",
            )
        data = frame.delta[extent.at : extent.at + extent.length]
        attempts = self._attempts_of(extent.log.task)
        copies = [
            self.source.log_bytes(extent.log.task, one, extent.log.thread, extent.epoch)[
                extent.offset : extent.offset + extent.length
            ]
            for one in attempts
        ]
        if data in copies or not self._is_recorded(extent.log, attempts):
            return
        alike = max(range(len(copies)), key=lambda one: (first_difference(copies[one], data), attempts[one]))
        copy, at = copies[alike], first_difference(copies[alike], data)
        logs = member_name(extent.log.task, attempts[alike], extent.log.thread, extent.epoch)
        ended = [
            member_name(extent.log.task, attempts[one], extent.log.thread, extent.epoch)
            for one in range(alike + 1, len(copies))
            if data.startswith(copies[one])
        ]
        or_cut = f", and {', '.join(ended)} ends before" if ended else ""
        self._differs(
            path,
            offset,
            frame,
            f"carries {extent.length} bytes of {extent.log}, epoch {extent.epoch}, from offset {extent.offset} on, "
            f"that are not those of that log ({logs}): they part at offset {extent.offset + at} of the log{or_cut}",
            log=str(extent.log),
            log_member=logs,
            epoch=extent.epoch,
            log_offset=extent.offset + at,
            asked=copy[at : at + 32].hex(),
            logged=data[at : at + 32].hex(),
        )

    def _attempts_of(self, task: TaskId) -> tuple[int, ...]:
        """Whose logs the bytes may be of: the sender's own attempt, or any attempt of a task above it."""
        if task not in self.attempts:
            self.attempts[task] = (self.attempt,) if task == self.task else tuple(self.source.attempts(task))
        return self.attempts[task]

    def _is_recorded(self, log: LogId, attempts: Iterable[int]) -> bool:
        if log not in self.recorded:
            self.recorded[log] = any(True for one in attempts for _ in self.source.epochs(log.task, one, log.thread))
        return self.recorded[log]

    def _differs(self, path: str, offset: int, frame: SendingFrame, why: str, **detail: Any) -> None:
        raise DivergenceFound(
            f"{path} at offset {offset}: sending {frame.sending} of buffer {frame.seq} of {self.channel.id} {why}.",
            member=path,
            offset=offset,
            channel=self.channel.id,
            buffer=frame.seq,
            **detail,
        )
