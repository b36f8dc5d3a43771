"""Counts what the outside was given: of which source records something came out, and what was given again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from replay.model import Record, TaskId


@dataclass(slots=True)
class Deliveries:
    """A bit for every source record, and a count for every epoch that a sink may go back to."""

    written: int = 0
    again: int = 0
    _named: dict[TaskId, bytearray] = field(default_factory=dict)
    _since: dict[TaskId, dict[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Mapping[TaskId, int]) -> Deliveries:
        """`records`: how many each source task reads."""
        return cls(_named={task: bytearray(count // 8 + 1) for task, count in records.items()})

    def wrote(self, sink: TaskId, epoch: int, record: Record) -> None:
        """A sink gave a record to the outside."""
        self.written += 1
        by_epoch = self._since.setdefault(sink, {})
        by_epoch[epoch] = by_epoch.get(epoch, 0) + 1
        for task, offset in record.lineage or ():
            self._named[TaskId(task)][offset >> 3] |= 1 << (offset & 7)

    def began(self, task: TaskId, checkpoint: int) -> None:
        """A sink begins again at a checkpoint: what it gave since then comes a second time."""
        by_epoch = self._since.get(task)
        if by_epoch:
            gone = [epoch for epoch in by_epoch if epoch >= checkpoint]
            self.again += sum(by_epoch.pop(epoch) for epoch in gone)

    def completed(self, checkpoint: int) -> None:
        """No sink goes back behind a completed checkpoint."""
        for by_epoch in self._since.values():
            for epoch in [one for one in by_epoch if one < checkpoint]:
                del by_epoch[epoch]

    @property
    def named(self) -> int:
        """Of how many source records something came out."""
        return sum(int.from_bytes(bits, "big").bit_count() for bits in self._named.values())
