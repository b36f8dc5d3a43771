"""The compiled scans: where each determinant begins and of which kind it is, and columns gathered from that."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ingest.transforms.decoding.layouts import (
    CHECKPOINT_BYTES,
    CODE_OF_TAG,
    HAS_REFERENCE_AT,
    REFERENCE_AT,
    SIZE_OF_TAG,
    SIZED_HEAD_BYTES,
    TIMER_BYTES,
    TIMER_NAME_AT,
    TIMER_TYPE_AT,
)

DONE, FULL, CUT, ASK = 0, 1, 2, 3
"""Why a scan ends: all was read; there is no room for more rows; the determinant goes on behind the entry's end; the
codec must look at it."""

_BYTES = numba.types.Array(numba.uint8, 1, "C", readonly=True)
_I64, _U8 = numba.int64[::1], numba.uint8[::1]


@numba.njit(inline="always")
def _int32(data: Any, at: int) -> Any:
    number = (np.int64(data[at]) << 24) | (np.int64(data[at + 1]) << 16) | (np.int64(data[at + 2]) << 8)
    number |= np.int64(data[at + 3])
    return number - 0x1_0000_0000 if number >= 0x8000_0000 else number


@numba.njit(inline="always")
def _after(data: Any, at: int, end: int) -> int:
    """Where the determinant at `at` ends, which may be behind `end`; -1 if the codec must say it."""
    tag = data[at]
    size = SIZE_OF_TAG[tag]
    if size:
        return at + size
    if tag == 3:
        if at + SIZED_HEAD_BYTES > end:
            return end + 1
        if data[at + 1] == 0x43 and data[at + 2] == 0x4C and data[at + 3] <= 3:
            length = _int32(data, at + 4)
            return at + SIZED_HEAD_BYTES + length if length >= 0 else -1
    elif tag == 4:
        if at + TIMER_BYTES > end:
            return end + 1
        if data[at + TIMER_TYPE_AT] < 6:
            return at + TIMER_BYTES
        if data[at + TIMER_TYPE_AT] == 6:
            return _after_counted(data, at + TIMER_NAME_AT, end, True)
    elif tag == 5:
        if at + CHECKPOINT_BYTES > end:
            return end + 1
        if data[at + CHECKPOINT_BYTES - 2] <= 1:
            if data[at + HAS_REFERENCE_AT] == 0:
                return at + CHECKPOINT_BYTES
            if data[at + HAS_REFERENCE_AT] == 1:
                return _after_counted(data, at + REFERENCE_AT, end, False)
    return -1


@numba.njit(inline="always")
def _after_counted(data: Any, begin: int, end: int, text: bool) -> int:
    """Behind bytes whose number stands before them. Text that is not plain ASCII is for the codec to judge."""
    if begin > end:
        return end + 1
    length = _int32(data, begin - 4)
    if length < 0:
        return -1
    after = begin + length
    if text and after <= end:
        for at in range(begin, after):
            if data[at] >= 0x80:
                return -1
    return after


@numba.njit(
    numba.types.UniTuple(numba.int64, 4)(  # type: ignore[no-untyped-call]
        _BYTES, _I64, _I64, numba.int64, numba.int64, numba.int64, _I64, _I64, _U8, _I64
    ),
    cache=True,
    nogil=True,
)
def scan(
    data: Any, begins: Any, ends: Any, entry: int, at: int, rows: int, starts: Any, lengths: Any, codes: Any, upto: Any
) -> tuple[int, int, int, int]:
    """Reads on at `at` in `entry`; returns how many rows there are, where in which entry it ended, and why.

    Of every row `starts`, `lengths` and `codes`; of every entry in `upto` the row behind its last one.
    """
    room = len(starts)
    while entry < len(begins):
        end = ends[entry]
        while at < end:
            if rows == room:
                upto[entry] = rows
                return rows, entry, at, FULL
            after = _after(data, at, end)
            if after < 0 or after > end:
                upto[entry] = rows
                return rows, entry, at, ASK if after < 0 else CUT
            starts[rows], lengths[rows] = at, after - at
            codes[rows] = CODE_OF_TAG[data[at]]
            rows += 1
            at = after
        upto[entry] = rows
        entry += 1
        if entry < len(begins):
            at = begins[entry]
    return rows, entry, at, DONE


@numba.njit(
    [
        numba.int64(_BYTES, _I64, _U8, _U8, _U8, out, _U8)
        for out in (numba.int64[::1], numba.int32[::1])
    ],
    cache=True,
    nogil=True,
)  # fmt: skip
def gather(data: Any, starts: Any, codes: Any, at_of: Any, form_of: Any, out: Any, valid: Any) -> int:
    """A column of numbers and the bits that say where there is one; returns how many there are."""
    found = 0
    for row in range(len(starts)):
        code = codes[row]
        where = at_of[code]
        if where == 0:
            out[row] = 0
            continue
        at = starts[row] + where
        form = form_of[code]
        if form == 1:
            number: Any = np.int64(data[at])
        else:
            number = _int32(data, at)
            if form == 2:
                number &= 0xFFFF_FFFF
            elif form == 4:
                number = (number << 32) | (np.int64(_int32(data, at + 4)) & 0xFFFF_FFFF)
        out[row] = number
        valid[row >> 3] |= np.uint8(1 << (row & 7))
        found += 1
    return found


@numba.njit(
    numba.int64(_BYTES, _I64, _I64, _U8, numba.int64, numba.int64, numba.int64, numba.int64, numba.int32[::1], _U8),
    cache=True,
    nogil=True,
)
def measure(
    data: Any,
    starts: Any,
    lengths: Any,
    codes: Any,
    code: int,
    flag_at: int,
    flag: int,
    skip: int,
    ends: Any,
    valid: Any,
) -> int:
    """Of determinants of a kind whose byte at `flag_at` is `flag`, how many bytes stand behind the first `skip` of
    each: their ends in one string of all of them. Returns how many such determinants there are."""
    found, total = 0, 0
    ends[0] = 0
    for row in range(len(starts)):
        if codes[row] == code and data[starts[row] + flag_at] == flag:
            total += lengths[row] - skip
            valid[row >> 3] |= np.uint8(1 << (row & 7))
            found += 1
        ends[row + 1] = total
    return found


@numba.njit(numba.void(_BYTES, _I64, _I64, numba.int64, numba.int32[::1], _U8, _U8), cache=True, nogil=True)
def copy(data: Any, starts: Any, lengths: Any, skip: int, ends: Any, valid: Any, out: Any) -> None:
    """The bytes that `measure` measured, one behind the other."""
    for row in range(len(starts)):
        if valid[row >> 3] & (1 << (row & 7)):
            begin = starts[row] + skip
            target = ends[row]
            for n in range(lengths[row] - skip):
                out[target + n] = data[begin + n]


@numba.njit(numba.void(_I64, _U8, _I64, _I64, numba.int64[:, ::1], numba.int64[:, ::1]), cache=True, nogil=True)
def count(lengths: Any, codes: Any, upto: Any, pieces: Any, counts: Any, sizes: Any) -> None:
    """Adds up determinants and their bytes by piece and kind; `upto`: behind the last row of each entry."""
    row = 0
    for entry in range(len(upto)):
        piece = pieces[entry]
        while row < upto[entry]:
            counts[piece, codes[row]] += 1
            sizes[piece, codes[row]] += lengths[row]
            row += 1


@numba.njit(numba.void(_BYTES, _I64, _U8, numba.int64, numba.int64, numba.int32[::1], _U8), cache=True, nogil=True)
def pick(data: Any, starts: Any, codes: Any, code: int, at: int, out: Any, valid: Any) -> None:
    """One byte of every determinant of a kind."""
    for row in range(len(starts)):
        if codes[row] == code:
            out[row] = data[starts[row] + at]
            valid[row >> 3] |= np.uint8(1 << (row & 7))
        else:
            out[row] = 0
