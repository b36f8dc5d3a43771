"""A slice of determinants as Arrow columns, in the lake's schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.lake.schema import DETERMINANTS
from ingest.transforms.decoding import kernels
from ingest.transforms.decoding.layouts import (
    BUFFER_BUILT,
    CHECKPOINT_TYPE_AT,
    CODES,
    HAS_REFERENCE_AT,
    KIND_NAMES,
    NUMBERS,
    REFERENCE_AT,
    SERIALIZABLE,
    SOURCE_CHECKPOINT,
    TIMER,
    TIMER_NAME_AT,
    TIMER_TYPE_AT,
    placed,
)
from ingest.transforms.decoding.pieces import Pieces, thread_name
from ingest.transforms.decoding.windows import Scan, Slice
from replay.log.determinants import CALLBACKS, CHECKPOINT_TYPES, INTERNAL_CALLBACK, INTERNAL_PREFIX, Serializable

_PLACED = {column: placed(column) for column in NUMBERS}


def columns_of(one: Slice, pieces: Pieces, tasks: Sequence[str]) -> dict[str, Any]:
    """All columns that are not null throughout; `tasks` by number."""
    used = np.bincount(one.codes, minlength=CODES) > 0
    numbers = {column: _numbers(one, column) for column, (at, _) in _PLACED.items() if (used & (at > 0)).any()}
    return _where(one, pieces, tasks) | {"kind": _kinds(one, used)} | numbers | _objects(one, used)


def _where(one: Slice, pieces: Pieces, tasks: Sequence[str]) -> dict[str, Any]:
    """Whose log it is, and where in it each stands."""
    rows = one.rows_of_entries
    seq = np.arange(len(one)) + np.repeat(one.seq - (one.upto - rows), rows)
    return {
        "task": named(pieces.task[one.piece], lambda task: tasks[task], rows),
        "attempt": pa.array(np.repeat(pieces.attempt[one.piece], rows)),
        "thread": named(pieces.output[one.piece], thread_name, rows),
        "epoch": pa.array(np.repeat(pieces.epoch[one.piece], rows)),
        "seq": pa.array(seq),
        "offset": pa.array(one.starts + np.repeat(one.shift, rows)),
        "length": pa.array(one.lengths),
    }


def named(numbers: Any, name: Callable[[int], str], times: Any = 1) -> pa.DictionaryArray:
    """Numbers by their names, each so many times."""
    used, codes = np.unique(numbers, return_inverse=True)
    return _coded(np.repeat(codes.astype(np.int32), times), [name(int(number)) for number in used])


def _coded(codes: Any, names: Sequence[str], valid: Any = None) -> pa.DictionaryArray:
    indices = pa.array(codes) if valid is None else _array(pa.int32(), codes, valid)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string()))


def _kinds(one: Slice, used: Any) -> pa.DictionaryArray:
    place = (np.cumsum(used) - 1).astype(np.int32)
    return _coded(place[one.codes], [name for name, there in zip(KIND_NAMES, used, strict=True) if there])


def _numbers(one: Slice, column: str) -> pa.Array:
    kind = DETERMINANTS.schema.field(column).type
    out, valid = np.empty(len(one), kind.to_pandas_dtype()), _no_bits(len(one))
    kernels.gather(one.data, one.starts, one.codes, *_PLACED[column], out, valid)
    return _array(kind, out, valid)


def _no_bits(rows: int) -> Any:
    return np.zeros((rows + 7) // 8, np.uint8)


def _array(kind: pa.DataType, values: Any, valid: Any) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [pa.py_buffer(valid), pa.py_buffer(values)])


# --- what has no fixed size ---


def _objects(one: Slice, used: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if used[SERIALIZABLE]:
        found["payload"] = _bytes(one, pa.binary(), SERIALIZABLE, (0, Serializable.TAG), 1)
    if used[TIMER]:
        found["callback"] = _callbacks(one)
    if used[SOURCE_CHECKPOINT]:
        kinds, valid = np.empty(len(one), np.int32), _no_bits(len(one))
        kernels.pick(one.data, one.starts, one.codes, SOURCE_CHECKPOINT, CHECKPOINT_TYPE_AT, kinds, valid)
        found["checkpoint_type"] = _coded(kinds, CHECKPOINT_TYPES, valid)
        found["storage_ref"] = _bytes(one, pa.binary(), SOURCE_CHECKPOINT, (HAS_REFERENCE_AT, 1), REFERENCE_AT)
    return found


def _bytes(one: Slice, kind: pa.DataType, code: int, flag: tuple[int, int], skip: int) -> pa.Array:
    ends, valid = np.empty(len(one) + 1, np.int32), _no_bits(len(one))
    kernels.measure(one.data, one.starts, one.lengths, one.codes, code, *flag, skip, ends, valid)
    out = np.empty(int(ends[-1]), np.uint8)
    kernels.copy(one.data, one.starts, one.lengths, skip, ends, valid, out)
    return pa.Array.from_buffers(kind, len(one), [pa.py_buffer(valid), pa.py_buffer(ends), pa.py_buffer(out)])


def _callbacks(one: Slice) -> pa.DictionaryArray:
    types, valid = np.empty(len(one), np.int32), _no_bits(len(one))
    kernels.pick(one.data, one.starts, one.codes, TIMER, TIMER_TYPE_AT, types, valid)
    named = _bytes(one, pa.string(), TIMER, (TIMER_TYPE_AT, INTERNAL_CALLBACK), TIMER_NAME_AT).dictionary_encode()
    internal = [INTERNAL_PREFIX + name for name in named.dictionary.to_pylist()]
    places = pc.fill_null(named.indices, 0).to_numpy(zero_copy_only=False)
    codes = np.where(types == INTERNAL_CALLBACK, INTERNAL_CALLBACK + places, types).astype(np.int32)
    return _coded(codes, [*CALLBACKS, *internal], valid)


def buffer_sizes(data: bytes) -> tuple[list[int], bool]:
    """The sizes that an output thread's log says its buffers have, and whether the whole log could be read."""
    scan = Scan(Pieces.of(np.array([[0], [0], [0], [0], [0], [len(data)]])), lambda at, size: data[at : at + size])
    built: list[int] = []
    for one in scan.slices():
        those = one.starts[one.codes == BUFFER_BUILT]
        built += one.data[those[:, None] + np.arange(1, 5)].view(">i4")[:, 0].tolist()
    return built, not scan.faults
