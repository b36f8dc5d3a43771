"""A partition of NEXMark events: in the order in which they arrive, some being held back for a while."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from replay.jobs.draws import mixed
from replay.jobs.nexmark.generator import Generator
from replay.model import Record

_GROUP = 64
"""Events in a row that are put in order at once; none is held back past the end of its group."""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """One event in `one_in` arrives up to `longest_ms` late; 0 ms: none does."""

    longest_ms: int = 0
    one_in: int = 10


class NexmarkPartition:
    """Offsets count arrivals. An event that is held back is overtaken by younger ones, at most by its longest delay."""

    def __init__(self, generator: Generator, *, records: int, held_back: HeldBack, seed: int):
        self.records = records
        self._generator = generator
        self._seed = mixed(seed)
        self._one_in = held_back.one_in
        # In places, at the lowest rate: so that at no rate a delay is longer than was said.
        self._places = int(generator.rate.lowest_per_s * held_back.longest_ms / 1000)
        self._group = max(_GROUP, 4 * self._places)
        self._kept: tuple[int, list[tuple[int, int]]] = (-1, [])

    def arrival_us(self, offset: int) -> int:
        """When the record of that offset is there: never before it came into being. Past the last one: would be."""
        return self._generator.rate.at_ns(self._place(offset)[0]) // 1000

    def there_at(self, t_us: int) -> int:
        """How many records are there at that time."""
        born = self._generator.rate.there_at(t_us * 1000 + 999)
        if not self._places:
            return min(born, self.records)
        group = min(born, self.records - 1) // self._group
        return group * self._group + bisect_right(self._arrivals(group), (born - 1, self.records))

    def record(self, offset: int) -> Record:
        """The record of that offset."""
        return self._generator.record(self._place(offset)[1])

    def _place(self, offset: int) -> tuple[int, int]:
        """The index of the event with which it arrives, and its own."""
        if not self._places or offset >= self.records:
            return offset, offset
        group, place = divmod(offset, self._group)
        return self._arrivals(group)[place]

    def _arrivals(self, group: int) -> list[tuple[int, int]]:
        if self._kept[0] != group:
            first = group * self._group
            end = min(first + self._group, self.records)
            arrivals = [(min(index + self._delay(index), end - 1), index) for index in range(first, end)]
            self._kept = (group, sorted(arrivals))
        return self._kept[1]

    def _delay(self, index: int) -> int:
        drawn = mixed(self._seed + index)
        return 1 + (drawn >> 32) % self._places if (drawn & 0xFFFFFFFF) % self._one_in == 0 else 0
