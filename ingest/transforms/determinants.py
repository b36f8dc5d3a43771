"""Determinants as columns: a scan finds where each begins, plain kinds are read by the column, long ones by the codec.

The codec of `replay.log` stays the only one who knows what is valid: layouts are measured from its encodings, and
whatever the scan does not know, or finds wrong, is given to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from replay.errors import CorruptMember
from replay.log.codec import decode_at, encode
from replay.log.determinants import (
    KINDS,
    BufferBuilt,
    IgnoreCheckpoint,
    Order,
    Rng,
    Take,
    Timestamp,
)

SLICE_ROWS = 65_536
SLICE_PAYLOAD_BYTES = 8 << 20

Columns = dict[str, Any]
Bytes = npt.NDArray[np.uint8]

_KIND_OF_TAG = {one.TAG: one.kind for one in KINDS}
_PLAIN = (Order(0), Timestamp(0), Rng(0), IgnoreCheckpoint(0, 0), BufferBuilt(0), Take(0, 0, 0))
_SIZE: list[int] = [0] * 256
"""Size by tag; 0 for what only the codec can measure."""
for _one in _PLAIN:
    _SIZE[_one.TAG] = len(encode(_one))

_FIELDS: dict[int, tuple[tuple[str, int, str], ...]] = {
    Order.TAG: (("channel", 1, ">u1"),),
    Timestamp.TAG: (("value", 1, ">i8"),),
    Rng.TAG: (("value", 1, ">i4"),),
    IgnoreCheckpoint.TAG: (("record_count", 1, ">i4"), ("checkpoint", 5, ">i8")),
    BufferBuilt.TAG: (("buffer_bytes", 1, ">i4"),),
    Take.TAG: (("channel", 1, ">u4"), ("first_offset", 5, ">i8"), ("records", 13, ">u4")),
}
_NUMBERS = ("channel", "value", "record_count", "timestamp", "checkpoint", "buffer_bytes", "first_offset", "records")
_OBJECTS = ("payload", "callback", "checkpoint_type", "storage_ref")


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive determinants of one log and epoch, as columns, with their count and bytes by kind."""

    rows: int
    columns: Columns
    by_kind: dict[str, tuple[int, int]]


class DeterminantReader:
    """Reads one `.det` member slice by slice. After the last one `fault` says where reading had to stop, if it had."""

    def __init__(self, data: memoryview, path: str) -> None:
        self.data = data
        self.path = path
        self.fault: CorruptMember | None = None
        self.rows = 0
        self.bytes = 0

    def slices(self) -> Iterator[Slice]:
        bytes_ = np.frombuffer(self.data, dtype=np.uint8)
        while self.fault is None and self.bytes < len(self.data):
            offsets, long_ones, end = self._scan(self.bytes)
            if offsets:
                yield self._columns(bytes_, offsets, long_ones, end)
            self.rows += len(offsets)
            self.bytes = end

    def _scan(self, offset: int) -> tuple[list[int], dict[int, Any], int]:
        """Offsets of the next determinants, those that the codec decoded by their row, and where they end."""
        data, size, end = self.data, _SIZE, len(self.data)
        offsets: list[int] = []
        long_ones: dict[int, Any] = {}
        payload_bytes = 0
        note = offsets.append
        while offset < end and len(offsets) < SLICE_ROWS and payload_bytes < SLICE_PAYLOAD_BYTES:
            after = offset + size[data[offset]]
            if after == offset or after > end:
                try:
                    long_ones[len(offsets)], after = decode_at(data, offset)  # type: ignore[arg-type]
                except CorruptMember as fault:
                    fault.path, fault.offset = self.path, offset
                    self.fault = fault
                    break
                payload_bytes += after - offset
            note(offset)
            offset = after
        return offsets, long_ones, offset

    def _columns(self, bytes_: Bytes, offset_list: list[int], long_ones: dict[int, Any], end: int) -> Slice:
        rows = len(offset_list)
        offsets = np.array(offset_list, dtype=np.int64)
        lengths = np.diff(offsets, append=end)
        tags = bytes_[offsets]
        numbers = {name: np.zeros(rows, dtype=np.int64) for name in _NUMBERS}
        null = {name: np.ones(rows, dtype=bool) for name in _NUMBERS}
        for tag, fields in _FIELDS.items():
            where = np.flatnonzero(tags == tag)
            if len(where):
                for name, at, form in fields:
                    numbers[name][where] = _gather(bytes_, offsets[where] + at, form)
                    null[name][where] = False
        objects = _take_long_ones(rows, long_ones, numbers, null)
        columns: Columns = {name: _nullable(name, numbers[name], null[name]) for name in _NUMBERS}
        columns |= objects
        columns |= {"offset": pa.array(offsets), "length": pa.array(lengths), "kind": _kinds(tags)}
        columns["seq"] = pa.array(np.arange(self.rows, self.rows + rows, dtype=np.int64))
        return Slice(rows, columns, _by_kind(tags, lengths))


def _gather(bytes_: Bytes, at: npt.NDArray[np.int64], form: str) -> npt.NDArray[Any]:
    width = int(form[2:])
    picked = bytes_[at[:, None] + np.arange(width)]
    return picked.view(form)[:, 0].astype(np.int64)


def _take_long_ones(rows: int, long_ones: dict[int, Any], numbers: Columns, null: Columns) -> Columns:
    """Fills in what the codec decoded: its objects' fields are named as the columns are."""
    if not long_ones:
        return {}
    objects: dict[str, list[Any]] = {name: [None] * rows for name in _OBJECTS}
    for row, one in long_ones.items():
        for name in one.__slots__:
            value = getattr(one, name)
            if name in objects:
                objects[name][row] = value
            else:
                numbers[name][row] = value
                null[name][row] = False
    return dict(objects)


_INT32 = frozenset(("record_count", "buffer_bytes"))


def _nullable(name: str, values: npt.NDArray[np.int64], null: npt.NDArray[np.bool_]) -> Any:
    if null.all():
        return None
    return pa.array(values.astype(np.int32) if name in _INT32 else values, mask=null)


_NAMES = pa.array([_KIND_OF_TAG.get(tag, "") for tag in range(256)])


def _kinds(tags: Bytes) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(tags.astype(np.int32)), _NAMES).cast(pa.string())


def _by_kind(tags: Bytes, lengths: npt.NDArray[np.int64]) -> dict[str, tuple[int, int]]:
    counts = np.bincount(tags, minlength=256)
    sizes = np.bincount(tags, weights=lengths, minlength=256)
    return {_KIND_OF_TAG[int(tag)]: (int(counts[tag]), int(sizes[tag])) for tag in np.flatnonzero(counts)}


def buffer_sizes(data: memoryview) -> tuple[list[int], bool]:
    """The sizes that an output thread's log says its buffers have, and whether the whole log could be read."""
    reader = DeterminantReader(data, "")
    built: list[int] = []
    for piece in reader.slices():
        column = piece.columns.get("buffer_bytes")
        if column is not None:
            built += [size for size in column.to_pylist() if size is not None]
    return built, reader.fault is None
