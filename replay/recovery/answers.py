"""What holders answer to a request for a failed task's logs, and how answers are merged: the one place of that rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from replay.log.causal_log import Copy, merge_copies
from replay.model import MAIN, ChannelId, LogId, TaskId, Thread, output_of_thread

Result = Literal["held", "failed-too", "beyond-depth"]
RESULTS: tuple[Result, ...] = ("held", "failed-too", "beyond-depth")


@dataclass(frozen=True, slots=True)
class Logs:
    """Copies of a task's logs, at most one per log and epoch, sorted by log and epoch."""

    copies: tuple[Copy, ...] = ()

    @classmethod
    def of(cls, copies: Iterable[Copy]) -> Logs:
        """The given copies; the longest of those that are of the same bytes."""
        return merged((cls(tuple(copies)),))

    def __iter__(self) -> Iterator[Copy]:
        return iter(self.copies)

    def __bool__(self) -> bool:
        return any(copy.data for copy in self.copies)

    def thread(self, thread: Thread) -> tuple[Copy, ...]:
        """The copies of one thread's log, by epoch."""
        return tuple(copy for copy in self.copies if copy.log.thread == thread)

    def has_bytes_of(self, thread: Thread) -> bool:
        """Whether anything of that thread's log is known."""
        return any(copy.data for copy in self.copies if copy.log.thread == thread)

    @property
    def has_main(self) -> bool:
        """Whether the main thread has anything to replay."""
        return self.has_bytes_of(MAIN)

    def since(self, epoch: int) -> Logs:
        """Without the epochs before that one."""
        return Logs(tuple(copy for copy in self.copies if copy.epoch >= epoch))

    def extents(self) -> tuple[tuple[TaskId, Thread, int, int], ...]:
        """(task, thread, epoch, upto) of each copy, as events record them."""
        return tuple((copy.log.task, copy.log.thread, copy.epoch, len(copy.data)) for copy in self.copies)


@dataclass(frozen=True, slots=True)
class Answer:
    """One channel's answer."""

    result: Result
    logs: Logs = field(default_factory=Logs)


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers to one request, one per channel: a second one on a channel replaces the first."""

    by_channel: tuple[tuple[ChannelId, Answer], ...] = ()

    def with_(self, channel: ChannelId, answer: Answer) -> Answers:
        """With that channel's answer, instead of an earlier one."""
        return Answers((*self.without(channel).by_channel, (channel, answer)))

    def without(self, channel: ChannelId) -> Answers:
        """With that channel's answer void."""
        return Answers(tuple(pair for pair in self.by_channel if pair[0] != channel))

    @property
    def channels(self) -> frozenset[ChannelId]:
        """Which channels have answered."""
        return frozenset(channel for channel, _ in self.by_channel)

    @property
    def beyond_depth(self) -> tuple[ChannelId, ...]:
        """The channels behind which a survivor past the sharing depth may depend on what was lost."""
        return tuple(sorted(channel for channel, answer in self.by_channel if answer.result == "beyond-depth"))

    def copies_of(self, log: LogId, epoch: int) -> tuple[tuple[ChannelId, Copy], ...]:
        """What each channel's answer holds of one epoch of a log, where it holds any."""
        every = ((channel, copy) for channel, answer in self.by_channel for copy in answer.logs)
        return tuple((channel, copy) for channel, copy in every if (copy.log, copy.epoch) == (log, epoch))

    def channel_of(self, winner: Copy) -> ChannelId | None:
        """The channel on which this copy came, or one as long of somebody else."""
        found = [
            (copy.holder != winner.holder, channel)
            for channel, copy in self.copies_of(winner.log, winner.epoch)
            if len(copy.data) == len(winner.data)
        ]
        return min(found)[1] if found else None

    def merged(self) -> Logs:
        """The longest copy of each log."""
        return merged(answer.logs for _, answer in self.by_channel)

    def relayed(self, own: Logs) -> Answer:
        """What a relay answers: all of these and its own copy."""
        logs = merged((*(answer.logs for _, answer in self.by_channel), own))
        if self.beyond_depth:
            return Answer("beyond-depth", logs)
        return Answer("held" if logs else "failed-too", logs)


def merged(answers: Iterable[Logs]) -> Logs:
    """The longest copy of each log and epoch; every other must be a prefix of it, else the recording is corrupt."""
    longest = merge_copies(copy for logs in answers for copy in logs)
    return Logs(tuple(longest[key] for key in sorted(longest, key=_order)))


def _order(key: tuple[LogId, int]) -> tuple[TaskId, int, int]:
    log, epoch = key
    output = output_of_thread(log.thread)
    return log.task, -1 if output is None else output, epoch
