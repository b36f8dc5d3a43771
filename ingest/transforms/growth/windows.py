"""What arrives at one attempt of a task, or at the world outside, some time after the other, so many rows at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ingest.transforms.growth.channel_rows import Arrays, ByChannel, Stretch

LOOKED_AT = 1 << 16
"""So many rows tell about where in time the others are."""

FOREVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class Input:
    """A channel, who sends over it, and which of its outputs that is; to the world outside is none."""

    channel: str
    source: str
    k: int | None = None


class Arriving(NamedTuple):
    """Sendings of one attempt by one input."""

    input: Input
    attempt: int
    sendings: Arrays

    @property
    def size(self) -> int:
        return len(self.sendings["seq"])


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Sendings over some channels by one of their times, in a span of it: to an attempt of the receiver, or to all.

    Spans are given by their first and their last moment.
    """

    sendings: ByChannel
    inputs: tuple[Input, ...]
    time: str
    receiver: int | None
    since_us: int = 0
    until_us: int = FOREVER

    def __len__(self) -> int:
        """Of all times, and to whomever."""
        return sum(self.sendings.count(one.channel) for one in self.inputs)

    def windows(self, rows: int) -> Iterator[tuple[int, int]]:
        """Spans of time that follow on one another, with about so many in each. What is of one moment is in one."""
        stretches = [one for each in self.inputs for _, one in self.sendings.of(each.channel)]
        every = max(1, len(self) // LOOKED_AT)
        none = [np.zeros(0, np.int64)]
        some = np.concatenate([*none, *(self._times(one)[::every] for one in stretches)])
        if not len(some):
            return
        some.sort()
        bounds = np.unique(some[:: max(1, rows // every)]).tolist()
        yield from zip([self.since_us, *bounds[1:]], [*(one - 1 for one in bounds[1:]), self.until_us], strict=True)

    def between(self, low_us: int, high_us: int) -> list[Arriving]:
        """What arrives from one moment to another, both of them with it, in the table's order."""
        return [
            Arriving(one, attempt, sendings)
            for one in self.inputs
            for attempt, sendings in self._of(one.channel, low_us, high_us)
        ]

    def _of(self, channel: str, low_us: int, high_us: int) -> Iterator[tuple[int, Arrays]]:
        sendings = self.sendings
        found: dict[int, list[Arrays]] = {}
        for attempt, one in sendings.of(channel):
            rows = self._rows(one, low_us, high_us)
            if len(rows):
                columns = {name: sendings.column(name, one)[rows] for name in sendings.columns}
                found.setdefault(attempt, []).append(columns)
        for attempt, parts in found.items():
            yield attempt, {name: np.concatenate([part[name] for part in parts]) for name in sendings.columns}

    def _times(self, one: Stretch) -> Any:
        return self.sendings.column(self.time, one)[self._rows(one, self.since_us, self.until_us)]

    def _rows(self, one: Stretch, low_us: int, high_us: int) -> Any:
        least, most = one.spans[self.time]
        if most < low_us or least > high_us:
            return np.zeros(0, np.int64)
        times = self.sendings.column(self.time, one)
        there = (times >= low_us) & (times <= high_us)
        if self.receiver is not None:
            there &= self.sendings.column("receiver_attempt", one) == self.receiver
        return np.flatnonzero(there)
