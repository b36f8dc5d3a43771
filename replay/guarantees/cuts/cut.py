"""A cut: where every task stands; and what may be wrong with one, or on its way in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replay.model import ChannelId, TaskId


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a task stands: in one of its attempts, behind so many of that attempt's own takes and before these buffers.

    At a time (all that it did up to and in that microsecond), or where `checkpoint` says so, in its snapshot of one.
    `taken` is by input, `sent` the number of the next buffer by output.
    """

    task: TaskId
    attempt: int
    t_us: int
    taken: tuple[int, ...]
    sent: tuple[int, ...]
    checkpoint: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As a page gets it."""
        return {"task": self.task, "attempt": self.attempt, "t_us": self.t_us, "checkpoint": self.checkpoint}


@dataclass(frozen=True, slots=True)
class Cut:
    """A stand of every task."""

    stands: Mapping[TaskId, Stand]

    def to_json(self) -> dict[str, Any]:
        """As a page gets it."""
        return {"stands": [one.to_json() for one in self.stands.values()]}


@dataclass(frozen=True, slots=True)
class Orphan:
    """A buffer that its receiver has taken and its sender has not sent, in one cut.

    `instead`: the sender's attempt that stands there has sent something else under that number, or None: it has sent
    nothing of that number yet.
    """

    channel: ChannelId
    attempt: int
    seq: int
    sending: int
    receiver_attempt: int
    taken_us: int
    instead: int | None = None

    @property
    def receipt(self) -> str:
        """As evidence."""
        return f"receipt:{self.channel}/{self.attempt}#{self.seq}/{self.sending}"

    @property
    def buffer(self) -> str:
        """As evidence."""
        return f"buffer:{self.channel}/{self.attempt}#{self.seq}"

    def to_json(self) -> dict[str, Any]:
        """As a page gets it."""
        return {
            "channel": self.channel,
            "attempt": self.attempt,
            "seq": self.seq,
            "sending": self.sending,
            "receiver_attempt": self.receiver_attempt,
            "taken_us": self.taken_us,
            "instead": self.instead,
        }


@dataclass(frozen=True, slots=True)
class InFlight:
    """Buffers that were sent in a cut and not taken in it: those of one attempt from one number to another."""

    channel: ChannelId
    attempt: int
    first: int
    last: int

    @property
    def count(self) -> int:
        """How many."""
        return self.last - self.first + 1

    def to_json(self) -> dict[str, Any]:
        """As a page gets it."""
        return {"channel": self.channel, "attempt": self.attempt, "first": self.first, "last": self.last}
