"""The transactional sink: a transaction per epoch, sealed at the barrier, committed when the checkpoint is complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from replay.model import Record
from replay.runtime.outside.transactions import Transaction
from replay.runtime.sinks.base import Sink, Transactions

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt


class TransactionalSink(Sink):
    """Exactly once, as late as the checkpoint: a recovery aborts what its checkpoint doesn't know."""

    def __init__(self, attempt: Attempt):
        super().__init__(attempt)
        self._ledger = attempt.engine.world.ledger
        self._open: Transaction | None = None
        self._sealed: list[Transaction] = []
        self._records: dict[int, list[Record]] = {}

    @property
    def idle(self) -> bool:
        """A commit takes no time here: sealed ones wait for their checkpoint."""
        return not any(one.epoch < self.attempt.engine.checkpoints.completed for one in self._sealed)

    def restore(self, transactions: Sequence[dict[str, Any]]) -> None:
        """The checkpoint is complete, so what it lists is final; whatever else is there was never to be."""
        self.attempt.engine.world.meets(self.attempt)
        listed = {int(one["txn"]) for one in transactions}
        for one in self._ledger.unfinished(self.attempt.task):
            self._finish("epoch-committed" if one.txn in listed else "epoch-aborted", one, self.attempt.state_cause)

    def write(self, record: Record) -> None:
        """Into the epoch's transaction, which its first record opens."""
        attempt = self.attempt
        if attempt.engine.world.refuses(attempt):
            return
        epoch = attempt.body.epoch
        if self._open is None:
            self._open = self._ledger.begin(attempt.task, epoch)
            self._records[self._open.txn] = []
        self._accepted(epoch, attempt.main.now_us(), record, txn=self._open.txn)
        self._open.records += 1
        self._records[self._open.txn].append(record)

    def barrier(self, checkpoint: int) -> Transactions:
        """Precommits: what the epoch wrote can be committed from now on, by this attempt or a later one."""
        if self._open is not None:
            self.attempt.event("epoch-precommitted", **_fields(self._open))
            self._sealed.append(self._open)
            self._open = None
        return [{"txn": one.txn, "epoch": one.epoch, "records": one.records} for one in self._sealed]

    def completed(self, checkpoint: int, re: int | None) -> None:
        """Commits, once."""
        if self.attempt.engine.world.refuses(self.attempt):
            return
        for one in [one for one in self._sealed if one.epoch < checkpoint]:
            self._sealed.remove(one)
            self._finish("epoch-committed", one, re)

    def _finish(self, kind: str, one: Transaction, re: int | None) -> None:
        if self._ledger.finish(one.txn) is None:
            return
        self.attempt.event(kind, re=re, **_fields(one))
        now_us = self.attempt.engine.scheduler.now_us
        for record in self._records.pop(one.txn, ()):
            self._visible(record, now_us)


def _fields(one: Transaction) -> dict[str, Any]:
    return {"task": one.task, "epoch": one.epoch, "txn": one.txn, "records": one.records}
