"""The idempotent sink: writes wait in a write-ahead log, which is flushed once its checkpoint is complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from replay.model import Record
from replay.runtime.sinks.base import Sink, Transactions

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt


@dataclass(slots=True)
class WriteAheadLog:
    """An epoch's writes. What was flushed of it doesn't outlive the attempt: the next one flushes it from its start."""

    txn: int
    epoch: int
    writes: list[Record] = field(default_factory=list)
    flushed: int = 0

    def to_json(self) -> dict[str, Any]:
        """As in a snapshot: all that a flush needs."""
        writes = [[one.key, one.timestamp, one.value, one.lineage or ()] for one in self.writes]
        return {"txn": self.txn, "epoch": self.epoch, "records": len(self.writes), "writes": writes}

    @classmethod
    def from_json(cls, listed: dict[str, Any]) -> WriteAheadLog:
        """The inverse."""
        writes = [
            Record(key, timestamp, value, tuple((task, offset) for task, offset in lineage))
            for key, timestamp, value, lineage in listed["writes"]
        ]
        return cls(int(listed["txn"]), int(listed["epoch"]), writes)


class IdempotentSink(Sink):
    """Exactly once where writes with one id count once: an interrupted flush begins again with the same ids."""

    def __init__(self, attempt: Attempt):
        super().__init__(attempt)
        self._open: WriteAheadLog | None = None
        self._sealed: list[WriteAheadLog] = []
        self._upto = 0
        self._because: int | None = None
        self._flushing = False

    @property
    def idle(self) -> bool:
        """Whether every log that is to be flushed is."""
        return not any(one.epoch < self.attempt.engine.checkpoints.completed for one in self._sealed)

    def restore(self, transactions: Sequence[dict[str, Any]]) -> None:
        """Whatever the checkpoint lists may be flushed: nobody knows how far the attempt before came."""
        self._sealed = [WriteAheadLog.from_json(one) for one in transactions]
        self.completed(self.attempt.checkpoint, self.attempt.state_cause)

    def write(self, record: Record) -> None:
        """Into the log."""
        if self._open is None:
            self._open = WriteAheadLog(self.attempt.engine.world.ledger.number(), self.attempt.body.epoch)
        self._open.writes.append(record)

    def barrier(self, checkpoint: int) -> Transactions:
        """Seals the log: it goes into the snapshot as a whole, and doesn't change any more."""
        if self._open is not None:
            self.attempt.event("epoch-precommitted", **self._fields(self._open))
            self._sealed.append(self._open)
            self._open = None
        return [one.to_json() for one in self._sealed]

    def completed(self, checkpoint: int, re: int | None) -> None:
        """Begins to flush what is sealed and in the checkpoint."""
        self._upto, self._because = max(self._upto, checkpoint), re
        self._flush_later()

    # --- flushing ---

    def _next(self) -> WriteAheadLog | None:
        return self._sealed[0] if self._sealed and self._sealed[0].epoch < self._upto else None

    def _flush_later(self) -> None:
        following = self._next()
        if following is None or self._flushing:
            return
        engine = self.attempt.engine
        left = len(following.writes) - following.flushed
        count = min(left, 1 + int(engine.scheduler.random.random() * engine.costs.batch_records))
        self._flushing = True
        engine.moment("flush-began", task=self.attempt.task)
        engine.scheduler.after(count * engine.costs.flush_write_us, lambda: self._flush(following, count))

    def _flush(self, log: WriteAheadLog, count: int) -> None:
        self._flushing = False
        if not self.attempt.alive:
            return
        now_us = self.attempt.engine.scheduler.now_us
        for position in range(log.flushed, log.flushed + count):
            # The same in every attempt that flushes this log, and of no other write: an epoch is flushed from one log.
            identity = f"{self.attempt.task}/{log.epoch}/{position}"
            self._accepted(log.epoch, now_us, log.writes[position], id=identity)
            self._visible(log.writes[position], now_us)
        log.flushed += count
        if log.flushed == len(log.writes):
            self._sealed.remove(log)
            self.attempt.event("epoch-committed", re=self._because, **self._fields(log))
        self._flush_later()

    def _fields(self, log: WriteAheadLog) -> dict[str, Any]:
        return {"task": self.attempt.task, "epoch": log.epoch, "txn": log.txn, "records": len(log.writes)}
