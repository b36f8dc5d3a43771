"""A part of logs: pieces decoded into `determinants`, what was counted into `counts`, where they lie into the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ingest.lake.writers import Span, TableWriter
from ingest.transforms.decoding import kernels
from ingest.transforms.decoding.columns import columns_of, named
from ingest.transforms.decoding.layouts import CODES, KIND_NAMES
from ingest.transforms.decoding.pieces import Pieces, thread_name
from ingest.transforms.decoding.windows import Read, Scan, Slice
from ingest.transforms.places import LogKey, Reject

Count = tuple[LogKey, str, int, int]
"""Of a log and a kind, determinants and bytes."""


@dataclass(slots=True)
class LogPart:
    """Reads the pieces and hands rows to the writers, which are asked for by table."""

    pieces: Pieces
    tasks: Sequence[str]
    read: Read
    writer: Callable[[str], TableWriter]
    tell: Callable[[int, int], None]
    """Told of bytes and rows that were read."""
    counts: list[Count] = field(default_factory=list)
    """Of pieces that are not whole members: what others count must be added."""
    rejects: list[Reject] = field(default_factory=list)
    _spans: list[tuple[Any, ...]] = field(default_factory=list)
    _paths: list[str] = field(default_factory=list)

    def run(self) -> None:
        shape = len(self.pieces), CODES
        counts, sizes = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        scan = Scan(self.pieces, self.read)
        determinants = self.writer("determinants")
        for one in scan.slices():
            span = determinants.add(columns_of(one, self.pieces, self.tasks), len(one))
            self._note(one, span)
            kernels.count(one.lengths, one.codes, one.upto, one.piece, counts, sizes)
            self.tell(int(one.lengths.sum()), len(one))
        for n, fault in scan.faults:
            self.rejects.append(Reject.of(fault, self.pieces.path(n, self.tasks)))
        self._write_counts(counts, sizes)
        self._write_index()

    def _note(self, one: Slice, span: Span) -> None:
        """Where the rows of each entry begin, and which bytes of its member they are."""
        if not self._paths or self._paths[-1] != span.path:
            self._paths.append(span.path)
        rows = one.rows_of_entries
        there = np.flatnonzero(rows)
        first = (one.upto - rows)[there]
        last = one.upto[there] - 1
        offset = one.starts[first] + one.shift[there]
        size = one.starts[last] + one.lengths[last] + one.shift[there] - offset
        path = np.full(len(there), len(self._paths) - 1)
        self._spans.append((one.piece[there], path, span.first_row + first, rows[there], offset, size))

    def _write_counts(self, counts: Any, sizes: Any) -> None:
        n, code = np.nonzero(counts * self.pieces.whole[:, None])
        if len(n):
            columns = self._key_columns(n) | {
                "kind": named(code, lambda kind: KIND_NAMES[kind]),
                "determinants": pa.array(counts[n, code]),
                "bytes": pa.array(sizes[n, code]),
            }
            self.writer("counts").add(columns, len(n))
        for part, kind in zip(*np.nonzero(counts * ~self.pieces.whole[:, None]), strict=True):
            key = self.pieces.key(int(part), self.tasks)
            self.counts.append((key, KIND_NAMES[kind], int(counts[part, kind]), int(sizes[part, kind])))

    def _write_index(self) -> None:
        """A row per piece and file, and one for each piece that holds nothing: an empty epoch is an epoch."""
        piece, path, first, rows, offset, size = _joined(self._spans)
        empty = np.setdiff1d(np.arange(len(self.pieces)), piece)
        none = np.zeros(len(empty), np.int64)
        columns = [
            np.concatenate(both)
            for both in zip(
                (piece, path, first, rows, offset, size), (empty, none - 1, none, none, none, none), strict=True
            )
        ]
        order = np.argsort(columns[0], kind="stable")
        piece, path, *numbers = (column[order] for column in columns)
        named_numbers = zip(("first_row", "rows", "offset", "bytes"), map(pa.array, numbers), strict=True)
        paths = named(path, lambda number: self._paths[number] if number >= 0 else "")
        self.writer("log-index").add(self._key_columns(piece) | {"path": paths, **dict(named_numbers)}, len(piece))

    def _key_columns(self, n: Any) -> dict[str, Any]:
        pieces = self.pieces
        return {
            "task": named(pieces.task[n], lambda task: self.tasks[task]),
            "attempt": pa.array(pieces.attempt[n]),
            "thread": named(pieces.output[n], thread_name),
            "epoch": pa.array(pieces.epoch[n]),
        }


def _joined(spans: list[tuple[Any, ...]]) -> list[Any]:
    """Spans of one piece that follow one another in a file are one."""
    if not spans:
        return [np.zeros(0, np.int64)] * 6
    piece, path, first, rows, offset, size = (np.concatenate(column) for column in zip(*spans, strict=True))
    new = np.ones(len(piece), np.bool_)
    new[1:] = (piece[1:] != piece[:-1]) | (path[1:] != path[:-1])
    starts = np.flatnonzero(new)
    return [
        piece[starts], path[starts], first[starts], np.add.reduceat(rows, starts), offset[starts],
        np.add.reduceat(size, starts),
    ]  # fmt: skip
