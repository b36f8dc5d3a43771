"""The transactions of the world outside: it numbers them, and knows which are open, sealed or at their end."""

from __future__ import annotations

from dataclasses import dataclass

from replay.model import TaskId


@dataclass(slots=True)
class Transaction:
    """One task's writes of one epoch. A number is given once, whatever becomes of its transaction."""

    txn: int
    task: TaskId
    epoch: int
    records: int = 0


class Ledger:
    """Of all tasks. An end is an end: a committed transaction is never aborted, an aborted one never committed."""

    def __init__(self) -> None:
        self._next = 0
        self._unfinished: dict[int, Transaction] = {}

    def number(self) -> int:
        """A number that nobody had."""
        self._next += 1
        return self._next - 1

    def begin(self, task: TaskId, epoch: int) -> Transaction:
        """A new transaction."""
        new = Transaction(self.number(), task, epoch)
        self._unfinished[new.txn] = new
        return new

    def unfinished(self, task: TaskId) -> list[Transaction]:
        """Open and sealed ones of a task, by number."""
        return [one for one in self._unfinished.values() if one.task == task]

    def finish(self, txn: int) -> Transaction | None:
        """Commits or aborts; None where that was done before."""
        return self._unfinished.pop(txn, None)
