"""Of sendings the buffers that they carried and their deltas, found by their numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ingest.transforms.growth.channel_rows import Arrays, ChannelRows, starts_of
from ingest.transforms.growth.places import Names, Places
from ingest.transforms.growth.windows import Input

_LARGE = 1 << 31


class Cut(NamedTuple):
    """Of the buffer of each sending; places are -1 where there is no such buffer."""

    cut_us: Any
    main: Any
    offset: Any
    output: Any
    built: Any


class Carried(NamedTuple):
    """Where in the deltas those of each sending begin and end, and the deltas."""

    first: Any
    last: Any
    place: Any
    offset: Any
    length: Any


class Joining:
    """By the tables and the numbers of what they name."""

    def __init__(self, rows: ChannelRows, names: Names, places: Places, *, logged: bool) -> None:
        self.rows, self.names, self.places, self.logged = rows, names, places, logged

    def cut(self, one: Input, attempt: int, sendings: Arrays) -> Cut:
        """What one attempt sent over a channel."""
        names, places = self.names, self.places
        buffers = self.rows.buffers.between(one.channel, attempt, *_span(sendings["seq"]))
        at = found_by((buffers["seq"],), (sendings["seq"],))
        main = places.of(names.main_of[names.task_number[one.source]], buffers["main_epoch"])
        output = places.of(names.output_log(one.source, one.k or 0), buffers["epoch"])
        built = buffers["built"] if self.logged else np.zeros(len(at), np.int64)
        picked = [_picked(each, at) for each in (buffers["cut_us"], main, buffers["main_offset"], output, built)]
        picked[1], picked[3] = np.where(at < 0, -1, picked[1]), np.where(at < 0, -1, picked[3])
        return Cut(*picked)

    def carried(self, channel: str, attempt: int, sendings: Arrays) -> Carried:
        """The same sendings; those of one stand together."""
        deltas = self.rows.deltas.between(channel, attempt, *_span(sendings["seq"]))
        place = self.places.of(deltas["log"], deltas["epoch"])
        count = len(place)
        if not count:
            nothing = np.zeros(len(sendings["seq"]), np.int64)
            return Carried(nothing, nothing, place, deltas["offset"], deltas["length"])
        # Between rows that stand apart in the table there may be those of others.
        starts = starts_of(deltas["seq"], deltas["sending"], deltas["at"] - np.arange(count))
        ends = np.append(starts[1:], count)
        known = deltas["seq"][starts], deltas["sending"][starts]
        at = found_by(known, (sendings["seq"], sendings["sending"]))
        # Who was not told when it was sent is a receipt without a sending.
        at = np.where(sendings["sent_us"] < 0, -1, at)
        return Carried(_picked(starts, at), _picked(ends, at), place, deltas["offset"], deltas["length"])


def found_by(known: tuple[Any, ...], wanted: tuple[Any, ...]) -> Any:
    """Of each wanted key the last row that has it; -1 where none has."""
    if not len(known[0]) or not len(wanted[0]):
        return np.full(len(wanted[0]), -1, dtype=np.int64)
    keys, asked = _as_numbers(known, wanted)
    if np.all(keys[1:] > keys[:-1]):
        at = np.searchsorted(keys, asked, side="right") - 1
        row = np.maximum(at, 0)
    else:
        order = np.argsort(keys, kind="stable")
        at = np.searchsorted(keys, asked, side="right", sorter=order) - 1
        row = order[np.maximum(at, 0)]
    found: Any = np.where((at >= 0) & (keys[row] == asked), row, -1)
    return found


def _as_numbers(known: tuple[Any, ...], wanted: tuple[Any, ...]) -> tuple[Any, Any]:
    """Keys of one or two numbers as one number each, which agrees in order."""
    if len(known) == 1:
        return known[0], wanted[0]
    if all(_is_small(one) for one in (*known, *wanted)):
        return tuple(one[0] * _LARGE + one[1] for one in (known, wanted))
    both, begin = _ranked(known, wanted), len(known[0])
    return both[:begin], both[begin:]


def _is_small(numbers: Any) -> bool:
    return int(numbers.min()) >= 0 and int(numbers.max()) < _LARGE


def _ranked(known: tuple[Any, ...], wanted: tuple[Any, ...]) -> Any:
    """Whatever the numbers are."""
    ranks: Any = 0
    for one, other in zip(known, wanted, strict=True):
        values, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
        ranks = ranks * len(values) + codes
        if len(values) > 1:
            ranks = np.unique(ranks, return_inverse=True)[1]
    return ranks


def _span(numbers: Any) -> tuple[int, int]:
    return int(numbers.min()), int(numbers.max())


def _picked(values: Any, at: Any) -> Any:
    if not len(values):
        return np.zeros(len(at), np.int64)
    return np.where(at < 0, 0, np.asarray(values)[np.maximum(at, 0)]).astype(np.int64)
