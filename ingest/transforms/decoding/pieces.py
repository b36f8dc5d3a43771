"""Members of thread logs, or ranges of them, as columns of numbers: a bundle may have a million."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ingest.transforms.places import LogKey
from replay.bundle.members import member_name
from replay.model import MAIN, thread_of_output

MAIN_OUTPUT = -1
"""What stands in place of an output's number for a main thread."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """In table order. A piece is a whole member, or begins at byte `offset` of one, with determinant `seq`."""

    task: Any
    attempt: Any
    output: Any
    epoch: Any
    begin: Any
    """Where in the pack."""
    size: Any
    offset: Any
    seq: Any
    whole: Any

    @classmethod
    def of(cls, columns: Any) -> Pieces:
        """Whole members from six columns, tasks to sizes; tasks are numbered in the order of their names."""
        outputs, number = np.unique(columns[2], return_inverse=True)
        # As the names of threads are ordered: main, out-0, out-1, out-10, out-2.
        rank = np.argsort(np.argsort([thread_name(int(one)) for one in outputs]))
        order = np.lexsort((columns[3], rank[number], columns[1], columns[0]))
        ordered = [np.ascontiguousarray(column[order]) for column in columns]
        nothing = np.zeros(len(order), np.int64)
        task, attempt, output, epoch, begin, size = ordered
        whole = np.ones(len(order), np.bool_)
        return cls(task, attempt, output, epoch, begin, size, nothing, nothing, whole)

    def __len__(self) -> int:
        return len(self.size)

    @property
    def bytes(self) -> int:
        return int(self.size.sum())

    def some(self, which: Any) -> Pieces:
        """A run of them, or those at these places."""
        return Pieces(*(getattr(self, one.name)[which] for one in fields(self)))

    @classmethod
    def joined(cls, parts: Iterable[Pieces]) -> Pieces:
        every = list(parts)
        return cls(*(np.concatenate([getattr(part, one.name) for part in every]) for one in fields(cls)))

    def cut(self, cuts: Sequence[tuple[int, int]]) -> Pieces:
        """The one member of these pieces in ranges: it is cut at each (byte, number of the determinant there)."""
        offsets = np.array([0, *(at for at, _ in cuts)], dtype=np.int64)
        found = self.some(np.zeros(len(offsets), np.int64))
        sizes = np.diff(offsets, append=int(self.size[0]))
        seqs = np.array([0, *(seq for _, seq in cuts)], dtype=np.int64)
        whole = np.full(len(offsets), len(offsets) == 1, dtype=np.bool_)
        return Pieces(
            found.task, found.attempt, found.output, found.epoch, found.begin + offsets, sizes, offsets, seqs, whole
        )

    def key(self, n: int, tasks: Sequence[str]) -> LogKey:
        return LogKey(
            tasks[int(self.task[n])], int(self.attempt[n]), thread_name(int(self.output[n])), int(self.epoch[n])
        )

    def path(self, n: int, tasks: Sequence[str]) -> str:
        key = self.key(n, tasks)
        return member_name(key.task, key.attempt, key.thread, key.epoch)


def thread_name(output: int) -> str:
    return MAIN if output == MAIN_OUTPUT else thread_of_output(output)
