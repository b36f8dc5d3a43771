"""A source's partition: records at replayable offsets, there from their arrival on, whoever reads them how often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from replay.model import Record


class Partition(Protocol):
    """Pure functions of the offset: reading it again gives the same record, which is there from the same time on."""

    @property
    def records(self) -> int:
        """How many there are in all."""

    def arrival_us(self, offset: int) -> int:
        """When the record of that offset is there; never earlier than the ones before it."""

    def there_at(self, t_us: int) -> int:
        """How many records are there at that time."""

    def record(self, offset: int) -> Record:
        """The record of that offset."""


@dataclass(frozen=True, slots=True)
class SteadyPartition:
    """Records at one rate; `make` is given the offset and when it came into being."""

    records: int
    rate_per_s: float
    make: Callable[[int, int], Record]

    def arrival_us(self, offset: int) -> int:
        """When the record of that offset came into being."""
        return int(offset * 1_000_000 / self.rate_per_s)

    def there_at(self, t_us: int) -> int:
        """How many records are there at that time."""
        there = min(self.records, int(t_us * self.rate_per_s / 1_000_000) + 1)
        # Only `arrival_us` decides: rounding must not let the two disagree.
        while there > 0 and self.arrival_us(there - 1) > t_us:
            there -= 1
        while there < self.records and self.arrival_us(there) <= t_us:
            there += 1
        return there

    def record(self, offset: int) -> Record:
        """The record of that offset."""
        return self.make(offset, self.arrival_us(offset))
