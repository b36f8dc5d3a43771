"""The rows of `buffers`, `sendings` and `deltas` by channel, as arrays: read once from end to end, in their order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.transforms.growth.places import Names, renumbered
from ingest.transforms.growth.spool import Spool

Arrays = dict[str, Any]
Batches = Callable[[str, list[str]], Iterable[pa.RecordBatch]]
"""Of a table, those columns, batch by batch; strings as dictionaries."""

BUFFERS = ("attempt", "seq", "epoch", "cut_us", "main_epoch", "main_offset")
SENDINGS = ("attempt", "seq", "sending", "receiver_attempt", "sent_us", "received_us", "taken_us")
DELTAS = ("attempt", "seq", "sending", "epoch", "offset", "length")


@dataclass(slots=True)
class ByChannel:
    """One table: its batches, and of each channel where in which batch its rows are."""

    columns: tuple[str, ...]
    batches: list[Arrays] = field(default_factory=list)
    pieces: dict[str, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))

    def of(self, channel: str) -> Arrays:
        """A channel's rows by attempt, in the table's order. A growing job's files have all attempts of some epochs."""
        found = self._of(channel)
        attempts = found["attempt"]
        if np.all(attempts[1:] >= attempts[:-1]):
            return found
        order = np.argsort(attempts, kind="stable")
        return {name: column[order] for name, column in found.items()}

    def _of(self, channel: str) -> Arrays:
        pieces = self.pieces.get(channel, [])
        if len(pieces) == 1:
            batch, first, last = pieces[0]
            return {name: np.asarray(self.batches[batch][name][first:last]) for name in self.columns}
        parts = [(self.batches[batch], first, last) for batch, first, last in pieces]
        none = [np.zeros(0, np.int64)]
        return {
            name: np.concatenate([*none, *(one[name][first:last] for one, first, last in parts)])
            for name in self.columns
        }

    def add(self, arrays: Arrays, channels: pa.DictionaryArray) -> None:
        """The next rows; those of one channel stand together."""
        codes = channels.indices.to_numpy(zero_copy_only=False)
        if not len(codes):
            return
        starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
        for first, last in zip(starts, [*starts[1:], len(codes)], strict=True):
            name = channels.dictionary[int(codes[first])].as_py()
            self.pieces[name].append((len(self.batches), int(first), int(last)))
        self.batches.append(arrays)


@dataclass(slots=True)
class ChannelRows:
    """The three tables."""

    buffers: ByChannel
    sendings: ByChannel
    deltas: ByChannel
    epochs: list[Any] = field(default_factory=list)
    used: list[tuple[Any, Any]] = field(default_factory=list)
    """(log, epoch) of deltas, no pair twice in a batch."""


def read_channels(batches: Batches, names: Names, spool: Spool, *, with_deltas: bool) -> ChannelRows:
    """Reads them. Deltas of logs that the manifest has not are left out."""
    found = ChannelRows(ByChannel(BUFFERS), ByChannel(SENDINGS), ByChannel((*DELTAS, "log")))
    for batch in batches("buffers", ["channel", *BUFFERS]):
        arrays = _arrays(batch, BUFFERS)
        found.epochs += [np.unique(arrays["epoch"]), np.unique(arrays["main_epoch"])]
        found.buffers.add(_kept(arrays, spool), batch.column("channel"))
    for batch in batches("sendings", ["channel", *SENDINGS]):
        found.sendings.add(_kept(_arrays(batch, SENDINGS), spool), batch.column("channel"))
    for batch in batches("deltas", ["channel", "task", "thread", *DELTAS]) if with_deltas else ():
        _add_deltas(found, batch, names, spool)
    return found


def _add_deltas(found: ChannelRows, batch: pa.RecordBatch, names: Names, spool: Spool) -> None:
    arrays = _arrays(batch, DELTAS)
    tasks, threads = batch.column("task"), batch.column("thread")
    pairs = [[(task, thread) for thread in threads.dictionary.to_pylist()] for task in tasks.dictionary.to_pylist()]
    table = np.array([renumbered(row, names.log_number) for row in pairs], dtype=np.int64)
    of_task, of_thread = (one.indices.to_numpy(zero_copy_only=False) for one in (tasks, threads))
    arrays["log"] = table[of_task, of_thread] if len(of_task) else np.zeros(0, np.int64)
    channels = batch.column("channel")
    known = arrays["log"] >= 0
    if not known.all():
        arrays = {name: one[known] for name, one in arrays.items()}
        channels = channels.filter(pa.array(known))
    found.epochs.append(np.unique(arrays["epoch"]))
    both = np.unique(np.stack([arrays["log"], arrays["epoch"]]), axis=1)
    found.used.append((both[0], both[1]))
    found.deltas.add(_kept(arrays, spool), channels)


def _arrays(batch: pa.RecordBatch, columns: Iterable[str]) -> Arrays:
    return {name: _numbers(batch.column(name)) for name in columns}


def _numbers(column: pa.Array) -> Any:
    return (pc.fill_null(column, -1) if column.null_count else column).to_numpy(zero_copy_only=False)


def _kept(arrays: Mapping[str, Any], spool: Spool) -> Arrays:
    return {name: spool.keep(one) for name, one in arrays.items()}
