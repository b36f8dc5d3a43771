"""The rows of `buffers`, `sendings` and `deltas` as arrays, by channel and the attempt that sent."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
BUILT_BYTES = 5
"""Of the determinant that each buffer adds to its output's log."""


class Stretch(NamedTuple):
    """Rows of one batch that one attempt sent over one channel, `at` so many behind its first one."""

    batch: int
    first: int
    last: int
    at: int
    spans: dict[str, tuple[int, int]]
    """Of columns that are looked in the least and the greatest."""


@dataclass(slots=True)
class ByChannel:
    """One table: its batches, and of each channel and attempt where in which batch its rows are, in the table's order.

    A growing job's files have all attempts of some epochs.
    """

    columns: tuple[str, ...]
    spanned: tuple[str, ...]
    batches: list[Arrays] = field(default_factory=list)
    stretches: dict[str, dict[int, list[Stretch]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, arrays: Arrays, channels: pa.DictionaryArray, spool: Spool | None = None) -> None:
        """The next rows; those of one channel and attempt stand together. Kept once nobody looks at them any more."""
        count = len(channels)
        if not count:
            return
        codes, attempts = channels.indices.to_numpy(zero_copy_only=False), arrays["attempt"]
        starts = starts_of(codes, attempts)
        least = {name: np.minimum.reduceat(arrays[name], starts).tolist() for name in self.spanned}
        most = {name: np.maximum.reduceat(arrays[name], starts).tolist() for name in self.spanned}
        bounds = [*starts.tolist(), count]
        for n, (first, last) in enumerate(itertools.pairwise(bounds)):
            of = self.stretches[channels.dictionary[int(codes[first])].as_py()].setdefault(int(attempts[first]), [])
            at = of[-1].at + of[-1].last - of[-1].first if of else 0
            spans = {name: (least[name][n], most[name][n]) for name in self.spanned}
            of.append(Stretch(len(self.batches), first, last, at, spans))
        self.batches.append(arrays if spool is None else {name: spool.keep(one) for name, one in arrays.items()})

    def attempts(self, channel: str) -> list[int]:
        """That sent over it."""
        return sorted(self.stretches.get(channel, {}))

    def count(self, channel: str) -> int:
        """Its rows."""
        return sum(one.last - one.first for _, one in self.of(channel))

    def of(self, channel: str) -> Iterator[tuple[int, Stretch]]:
        """Of a channel all stretches, by attempt."""
        for attempt, stretches in sorted(self.stretches.get(channel, {}).items()):
            for one in stretches:
                yield attempt, one

    def column(self, name: str, one: Stretch) -> Any:
        """Of the rows of a stretch."""
        return self.batches[one.batch][name][one.first : one.last]

    def whole(self, channel: str) -> Arrays:
        """All rows of a channel at once."""
        stretches = [one for _, one in self.of(channel)]
        none = [np.zeros(0, np.int64)]
        return {name: np.concatenate([*none, *(self.column(name, one) for one in stretches)]) for name in self.columns}

    def between(self, channel: str, attempt: int, low: int, high: int) -> Arrays:
        """What one attempt sent with numbers from `low` to `high`, and as `at` how many rows are before each."""
        parts: dict[str, list[Any]] = {name: [np.zeros(0, np.int64)] for name in (*self.columns, "at")}
        for one in self.stretches.get(channel, {}).get(attempt, ()):
            least, most = one.spans["seq"]
            if most < low or least > high:
                continue
            seqs = self.column("seq", one)
            rows = np.flatnonzero((seqs >= low) & (seqs <= high))
            for name in self.columns:
                parts[name].append(self.column(name, one)[rows])
            parts["at"].append(rows + one.at)
        return {name: np.concatenate(found) for name, found in parts.items()}


def starts_of(*columns: Any) -> Any:
    """Where in rows with so many columns another value begins; there is at least one row."""
    new = np.logical_or.reduce([one[1:] != one[:-1] for one in columns])
    return np.flatnonzero(np.concatenate([[True], new]))


@dataclass(slots=True)
class ChannelRows:
    """The three tables."""

    names: Names
    buffers: ByChannel = field(default_factory=lambda: ByChannel((*BUFFERS, "built"), ("seq",)))
    sendings: ByChannel = field(default_factory=lambda: ByChannel(SENDINGS, ("sent_us", "received_us", "taken_us")))
    deltas: ByChannel = field(default_factory=lambda: ByChannel((*DELTAS, "log"), ("seq",)))
    epochs: list[Any] = field(default_factory=list)
    used: list[tuple[Any, Any]] = field(default_factory=list)
    """(log, epoch) that buffers and deltas name, few of them twice in a batch."""
    _built: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """Of each channel and attempt the epoch of the last buffer, and how many buffers of it there were."""
    _logs: dict[str, tuple[int, int]] = field(init=False)
    """Of each channel the logs that its buffers say their place in: of the sender's main thread, and of its output."""

    def __post_init__(self) -> None:
        names = self.names
        self._logs = {
            one.id: (names.main_of[names.task_number[one.source]], names.output_log(one.source, one.k))
            for one in names.graph.channels
        }

    def add_buffers(self, arrays: Arrays, channels: pa.DictionaryArray, spool: Spool | None = None) -> None:
        """With how far the output's log went with each: they stand in the order in which they were cut."""
        self.epochs += [np.unique(arrays["epoch"]), np.unique(arrays["main_epoch"])]
        self.used += self._named_by(arrays, channels)
        arrays = arrays | {"built": self._built_by(arrays, channels)}
        self.buffers.add(arrays, channels, spool)

    def add_sendings(self, arrays: Arrays, channels: pa.DictionaryArray, spool: Spool | None = None) -> None:
        """As they are."""
        self.sendings.add(arrays, channels, spool)

    def add_deltas(self, arrays: Arrays, channels: pa.DictionaryArray, spool: Spool) -> None:
        """Of logs by number."""
        self.epochs.append(np.unique(arrays["epoch"]))
        both = np.unique(np.stack([arrays["log"], arrays["epoch"]]), axis=1)
        self.used.append((both[0], both[1]))
        self.deltas.add(arrays, channels, spool)

    def _named_by(self, arrays: Arrays, channels: pa.DictionaryArray) -> Iterator[tuple[Any, Any]]:
        """The main threads' epochs and those of the outputs; of channels that the manifest has not are none."""
        if not len(channels):
            return
        codes = channels.indices.to_numpy(zero_copy_only=False)
        logs = np.array([self._logs.get(name, (-1, -1)) for name in channels.dictionary.to_pylist()], np.int64)
        for of_channel, epochs in zip(logs.T, (arrays["main_epoch"], arrays["epoch"]), strict=True):
            some = starts_of(codes, epochs)
            log, epoch = of_channel[codes[some]], epochs[some]
            yield log[log >= 0], epoch[log >= 0]

    def _built_by(self, arrays: Arrays, channels: pa.DictionaryArray) -> Any:
        count = len(channels)
        if not count:
            return np.zeros(0, np.int64)
        codes, attempts, epochs = channels.indices.to_numpy(zero_copy_only=False), arrays["attempt"], arrays["epoch"]
        starts = starts_of(codes, attempts, epochs)
        sizes = np.diff(starts, append=count)
        before = np.zeros(len(starts), np.int64)
        for n, start in enumerate(starts.tolist()):
            key = channels.dictionary[int(codes[start])].as_py(), int(attempts[start])
            epoch, so_many = self._built.get(key, (-1, 0))
            before[n] = so_many if epoch == epochs[start] else 0
            self._built[key] = int(epochs[start]), int(before[n] + sizes[n])
        return BUILT_BYTES * (np.arange(count) - np.repeat(starts - before, sizes) + 1)


def read_channels(batches: Batches, names: Names, spool: Spool, *, with_deltas: bool) -> ChannelRows:
    """Reads them. Deltas of logs that the manifest has not are left out."""
    found = ChannelRows(names)
    for batch in batches("buffers", ["channel", *BUFFERS]):
        found.add_buffers(_arrays(batch, BUFFERS), batch.column("channel"), spool)
    for batch in batches("sendings", ["channel", *SENDINGS]):
        found.add_sendings(_arrays(batch, SENDINGS), batch.column("channel"), spool)
    for batch in batches("deltas", ["channel", "task", "thread", *DELTAS]) if with_deltas else ():
        found.add_deltas(*_with_logs(batch, names), spool)
    return found


def _with_logs(batch: pa.RecordBatch, names: Names) -> tuple[Arrays, pa.DictionaryArray]:
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
    return arrays, channels


def _arrays(batch: pa.RecordBatch, columns: Iterable[str]) -> Arrays:
    return {name: _numbers(batch.column(name)) for name in columns}


def _numbers(column: pa.Array) -> Any:
    return (pc.fill_null(column, -1) if column.null_count else column).to_numpy(zero_copy_only=False)
