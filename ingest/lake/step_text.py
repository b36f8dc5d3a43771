"""Sentences with gaps put into words for thousands of steps at once: as `Sentence.of` does for one, in Arrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from replay.debugger.writing.sentences import LARGE_NUMBER, NUMBER, WORDS, Sentence, Values

_THOUSAND = 1_000
_NOTHING_BETWEEN = pa.scalar("", pa.string())


def texts(sentence: Sentence, values: Sequence[Values]) -> pa.Array:
    """What steps that say this sentence say, each with its own values."""
    columns = zip(*values, strict=True)
    pieces: list[pa.Array | pa.Scalar] = []
    for before, takes in sentence.parts:
        if before:
            pieces.append(pa.scalar(before, pa.string()))
        if takes is not None:
            pieces.append(_gap(next(columns), takes))
    said = pieces[0] if len(pieces) == 1 else pc.binary_join_element_wise(*pieces, _NOTHING_BETWEEN)
    return pa.repeat(said, len(values)) if isinstance(said, pa.Scalar) else said


def _gap(column: Sequence[Any], takes: str) -> pa.Array | pa.Scalar:
    """What goes into one gap; many steps in a row may have the same there."""
    same = column[0] == column[-1] and column.count(column[0]) == len(column)
    return _WRITTEN[takes](column[:1])[0] if same else _WRITTEN[takes](column)


def causes_of(steps: npt.NDArray[np.int64]) -> pa.Array:
    """Steps as causes: `step:17`."""
    return pc.binary_join_element_wise(pa.scalar("step:", pa.string()), _text(steps), _NOTHING_BETWEEN)


def _words(column: Sequence[Any]) -> pa.Array:
    return pa.array(column, pa.string())


def _number(column: Sequence[Any]) -> pa.Array:
    return pa.array(column, pa.int64()).cast(pa.string())


def _large_number(column: Sequence[Any]) -> pa.Array:
    numbers = pa.array(column, pa.int64()).to_numpy()
    if numbers.min() < 0:
        return pa.array([f"{number:,}" for number in column], pa.string())
    return _set_apart(numbers)


def _set_apart(numbers: npt.NDArray[np.int64]) -> pa.Array:
    """With a comma before the last three digits, and before as many as stand before these, and so on."""
    small = numbers < _THOUSAND
    if small.all():
        return _text(numbers)
    thousands, rest = np.divmod(numbers, _THOUSAND)
    last_three = pc.utf8_slice_codeunits(_text(rest + _THOUSAND), 1)
    large = pc.binary_join_element_wise(_set_apart(thousands), last_three, pa.scalar(",", pa.string()))
    return pc.if_else(pa.array(small), _text(numbers), large) if small.any() else large


def _text(numbers: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


_WRITTEN: dict[str, Callable[[Sequence[Any]], pa.Array]] = {
    WORDS: _words,
    NUMBER: _number,
    LARGE_NUMBER: _large_number,
}
