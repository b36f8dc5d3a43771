"""The two tables place by place, as arrays, read from end to end in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from ingest.lake.places import Place, readable

Key = tuple[int, int]
"""(epoch, log): logs as the manifest lists them."""

BATCH_ROWS = 1 << 18
_ATTEMPTS = 1 << 12


class Rows(NamedTuple):
    """Rows of one place, in their order."""

    who: Any
    t_us: Any
    upto: Any
    whose: Any

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """One behind the other."""
        return parts[0] if len(parts) == 1 else Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@dataclass(slots=True)
class Executions:
    """Numbers of (task, attempt), given as they are met; a task is its number, the world outside the one behind all."""

    numbers: dict[tuple[int, int], int] = field(default_factory=dict)
    _table: Any = None

    def number(self, task: int, attempt: int) -> int:
        """Of one."""
        return self.numbers.setdefault((task, attempt), len(self.numbers))

    def of(self, tasks: Any, attempts: Any, count: int) -> Any:
        """Of many at once; `count` is how many tasks there are."""
        if self._table is None:
            self._table = np.full((count, _ATTEMPTS), -1, dtype=np.int64)
        if attempts.max(initial=0) >= _ATTEMPTS or attempts.min(initial=0) < 0:
            return np.array([self.number(int(a), int(b)) for a, b in zip(tasks, attempts, strict=True)], np.int64)
        found = self._table[tasks, attempts]
        if found.min(initial=0) < 0:
            for task, attempt in np.unique(np.stack([tasks, attempts])[:, found < 0], axis=1).T:
                self._table[task, attempt] = self.number(int(task), int(attempt))
            found = self._table[tasks, attempts]
        return found


@dataclass(frozen=True, slots=True)
class Stream:
    """One table. `log_of` numbers (task, thread), `task_of` the tasks that hold or depend."""

    paths: Sequence[Place]
    of_task: str
    who: str
    attempt: str
    whose: str | None
    log_of: Mapping[tuple[str, str], int]
    task_of: Mapping[str, int]
    executions: Executions

    def __iter__(self) -> Iterator[tuple[Key, Rows]]:
        """Every place once."""
        key: Key | None = None
        parts: list[Rows] = []
        for found, rows in self._pieces():
            if found != key:
                if key is not None:
                    yield key, Rows.joined(parts)
                key, parts = found, []
            parts.append(rows)
        if key is not None:
            yield key, Rows.joined(parts)

    def _pieces(self) -> Iterator[tuple[Key, Rows]]:
        named = [self.of_task, "thread", self.who]
        columns = [
            *dict.fromkeys([*named, "epoch", self.attempt, "t_us", "upto", *([self.whose] if self.whose else [])])
        ]
        for path in self.paths:
            with pq.ParquetFile(readable(path), read_dictionary=named, memory_map=True) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=columns):
                    yield from self._cut(batch)

    def _cut(self, batch: Any) -> Iterator[tuple[Key, Rows]]:
        numbers = {name: batch.column(name).to_numpy() for name in ("epoch", self.attempt, "t_us", "upto")}
        who = _renamed(batch.column(self.who), self.task_of)
        rows = Rows(
            self.executions.of(who, numbers[self.attempt], len(self.task_of)),
            numbers["t_us"],
            numbers["upto"],
            batch.column(self.whose).to_numpy() if self.whose else numbers["upto"],
        )
        tasks, threads = batch.column(self.of_task), batch.column("thread")
        pairs = [[(one, thread) for thread in threads.dictionary.to_pylist()] for one in tasks.dictionary.to_pylist()]
        table = np.array([[self.log_of.get(pair, -1) for pair in row] for row in pairs], np.int64)
        logs = table[tasks.indices.to_numpy(), threads.indices.to_numpy()]
        new = np.flatnonzero((numbers["epoch"][1:] != numbers["epoch"][:-1]) | (logs[1:] != logs[:-1])) + 1
        for first, last in zip([0, *new], [*new, len(logs)], strict=True):
            yield (int(numbers["epoch"][first]), int(logs[first])), Rows(*(one[first:last] for one in rows))


def _renamed(column: Any, numbers: Mapping[str, int]) -> Any:
    table = np.array([numbers[name] for name in column.dictionary.to_pylist()], np.int64)
    return table[column.indices.to_numpy()]
