"""Receipts of barriers: no log says when one was taken, but after the last of an epoch none of its records comes."""

from __future__ import annotations

from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.inputs import Taken


class BarrierCounts:
    """Of one attempt, as it takes buffer after buffer."""

    def __init__(self) -> None:
        self._epoch = -1
        self._records = 0
        self._barriers: list[Taken] = []

    def taken(self, taken: Taken, epoch: int, record_count: int, *, own: bool) -> None:
        """`own`: whether the receipt is that of the attempt that is executed, and not of one before it."""
        if epoch != self._epoch:
            self.ended_before(epoch)
            self._epoch = epoch
        self._records = record_count
        if own and taken.is_barrier:
            self._barriers.append(taken)

    def ended_before(self, epoch: int) -> None:
        """Raises `DivergenceFound` at a receipt that tells of more records than its epoch had."""
        if self._epoch >= epoch:
            return
        barriers, self._barriers = self._barriers, []
        for one in barriers:
            receipt = one.receipt
            if receipt.epoch == self._epoch and receipt.record_count > self._records:
                raise DivergenceFound(
                    f"{one.path} at offset {one.offset}: buffer {receipt.seq}, a barrier, was taken at record "
                    f"{receipt.record_count} of epoch {receipt.epoch}, says its receipt, but the replay finds "
                    f"{self._records} records in that epoch.",
                    member=one.path,
                    offset=one.offset,
                    buffer=receipt.seq,
                )
