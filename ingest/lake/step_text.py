"""Sentences with gaps put into words for thousands of steps at once: as `Sentence.of` does for one, in Arrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from replay.debugger.writing.sentences import LARGE_NUMBER, NUMBER, WORDS, Sentence, Values

_THOUSAND = 1_000


@cache
def _nothing_between() -> pa.Scalar:
    """Not made when this is loaded: Arrow takes a GiB of addresses at its first value, and limits come after that."""
    return pa.scalar("", pa.string())


def texts(sentence: Sentence, values: Sequence[Values]) -> pa.Array:
    """What steps that say this sentence say, each with its own values."""
    columns = zip(*values, strict=True)
    pieces: list[pa.Array | pa.Scalar] = []
    same = ""
    for before, takes in sentence.parts:
        same += before
        gap = "" if takes is None else _gap(next(columns), takes)
        if isinstance(gap, str):
            same += gap
            continue
        pieces += [pa.scalar(same, pa.string()), gap] if same else [gap]
        same = ""
    if not pieces:
        return pa.repeat(pa.scalar(same, pa.string()), len(values))
    if same:
        pieces.append(pa.scalar(same, pa.string()))
    return pieces[0] if len(pieces) == 1 else pc.binary_join_element_wise(*pieces, _nothing_between())


def _gap(column: Sequence[Any], takes: str) -> pa.Array | str:
    """What goes into one gap; many steps in a row may have the same there."""
    if column[0] == column[-1] and column.count(column[0]) == len(column):
        return str(_WRITTEN[takes](column[:1])[0].as_py())
    return _WRITTEN[takes](column)


def causes_of(steps: npt.NDArray[np.int64]) -> pa.Array:
    """Steps as causes: `step:17`."""
    return pc.binary_join_element_wise(pa.scalar("step:", pa.string()), _text(steps), _nothing_between())


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
    """With a comma before the last three digits, before the three that stand before these, and so on."""
    text, most = _text(numbers), int(numbers.max())
    least, place = _THOUSAND, -3
    while least <= most:
        large = numbers >= least
        apart = pc.binary_replace_slice(text, place, place, ",")
        text = apart if large.all() else pc.if_else(pa.array(large), apart, text)
        least, place = least * _THOUSAND, place - 4
    return text


def _text(numbers: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


_WRITTEN: dict[str, Callable[[Sequence[Any]], pa.Array]] = {
    WORDS: _words,
    NUMBER: _number,
    LARGE_NUMBER: _large_number,
}
