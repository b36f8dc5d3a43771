"""What holders answer to a request for a failed task's logs, and how answers are merged: the one place of that rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from replay.errors import CorruptRecording, check
from replay.model import MAIN, ChannelId, LogId, TaskId, Thread

Result = Literal["held", "failed-too", "beyond-depth"]
RESULTS: tuple[Result, ...] = ("held", "failed-too", "beyond-depth")


@dataclass(frozen=True, slots=True)
class HeldLog:
    """One holder's copy of one epoch of one thread log, from the epoch's start."""

    log: LogId
    epoch: int
    data: bytes
    holder: str

    @property
    def key(self) -> tuple[LogId, int]:
        """What the copy is of."""
        return self.log, self.epoch


@dataclass(frozen=True, slots=True)
class Logs:
    """Copies of a task's logs, at most one per log and epoch, sorted by log and epoch."""

    copies: tuple[HeldLog, ...] = ()

    @classmethod
    def of(cls, copies: Iterable[HeldLog]) -> Logs:
        """The given copies; the longest of those that are of the same bytes."""
        return merged((cls(tuple(copies)),))

    def __iter__(self) -> Iterator[HeldLog]:
        return iter(self.copies)

    def __bool__(self) -> bool:
        return any(copy.data for copy in self.copies)

    def thread(self, thread: Thread) -> tuple[HeldLog, ...]:
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
    longest: dict[tuple[LogId, int], HeldLog] = {}
    for logs in answers:
        for copy in logs:
            known = longest.get(copy.key)
            longest[copy.key] = copy if known is None else longer(known, copy)
    return Logs(tuple(longest[key] for key in sorted(longest, key=_order)))


def longer(one: HeldLog, other: HeldLog) -> HeldLog:
    """The longer of two copies of one log (the first, where they are equal), once the shorter has proved its prefix."""
    check(one.key == other.key, "only copies of one log and epoch can be compared")
    short, long = (one, other) if len(one.data) < len(other.data) else (other, one)
    if not long.data.startswith(short.data):
        at = first_difference(short.data, long.data)
        raise CorruptRecording(
            f"two copies of epoch {one.epoch} of the log {one.log} differ at byte {at}: "
            f"{one.holder} holds {_hex_at(one.data, at)}, {other.holder} holds {_hex_at(other.data, at)}",
            holders=(one.holder, other.holder),
            offset=at,
            remedy="Neither copy can be trusted; record again, or look at both holders' deltas",
        )
    return long


def first_difference(one: bytes, other: bytes) -> int:
    """Where two byte strings part; the shorter one's length where they agree so far."""
    if one == other:
        return len(one)
    size, start = min(len(one), len(other)), 0
    while start < size and one[start : start + 4096] == other[start : start + 4096]:
        start += 4096
    return next((i for i in range(start, size) if one[i] != other[i]), size)


def extents_by_log(logs: Logs) -> Mapping[tuple[LogId, int], int]:
    """How long each copy is."""
    return {copy.key: len(copy.data) for copy in logs}


def _hex_at(data: bytes, at: int) -> str:
    return data[at : at + 4].hex() or "nothing"


def _order(key: tuple[LogId, int]) -> tuple[TaskId, int, int, int]:
    log, epoch = key
    output = -1 if log.thread == MAIN else int(log.thread.removeprefix("out-"))
    return log.task, 0 if log.thread == MAIN else 1, output, epoch
