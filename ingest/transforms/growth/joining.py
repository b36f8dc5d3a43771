"""Of one channel: each sending with the buffer that it carried and with its deltas, found by bisection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ingest.transforms.growth.channel_rows import Arrays, ChannelRows
from ingest.transforms.growth.places import Names, Places
from replay.model import Channel

BUILT_BYTES = 5
"""Of the determinant that each buffer adds to its output's log."""


@dataclass(slots=True)
class ChannelJoined:
    """The sendings of a channel; behind each where in its deltas those that it carried begin and end."""

    sendings: Arrays
    first: Any
    last: Any
    deltas: Arrays
    cut_us: Any
    main: Any
    offset: Any
    output: Any
    built: Any
    """The last five of the buffer of each sending; places are -1 where there is no such buffer."""


def joined(rows: ChannelRows, channel: Channel, names: Names, places: Places, *, logged: bool) -> ChannelJoined:
    """Reads a channel's rows and joins them."""
    sendings, deltas = rows.sendings.of(channel.id), rows.deltas.of(channel.id)
    first, last = carried(sendings, deltas)
    buffers = rows.buffers.of(channel.id)
    at = found_by((buffers["attempt"], buffers["seq"]), (sendings["attempt"], sendings["seq"]))
    built = _built(buffers) if logged else np.zeros(len(buffers["seq"]), np.int64)
    missing = at < 0
    main = places.of(names.main_of[names.task_number[channel.source]], buffers["main_epoch"])
    output = places.of(names.output_log(channel.source, channel.k), buffers["epoch"])
    picked = [_picked(one, at) for one in (buffers["cut_us"], main, buffers["main_offset"], output, built)]
    picked[1], picked[3] = np.where(missing, -1, picked[1]), np.where(missing, -1, picked[3])
    deltas["place"] = places.of(deltas.pop("log"), deltas["epoch"])
    return ChannelJoined(sendings, first, last, deltas, *picked)


def places_of_buffers(rows: ChannelRows, channel: Channel, names: Names) -> list[tuple[Any, Any]]:
    """(log, epoch) that its buffers name, no pair twice."""
    buffers = rows.buffers.of(channel.id)
    main, output = names.main_of[names.task_number[channel.source]], names.output_log(channel.source, channel.k)
    epochs = [(main, np.unique(buffers["main_epoch"])), (output, np.unique(buffers["epoch"]))]
    return [(np.full(len(those), log, dtype=np.int64), those) for log, those in epochs]


def carried(sendings: Arrays, deltas: Arrays) -> tuple[Any, Any]:
    """Where the deltas of each sending begin and end; those of one sending stand together."""
    names = ("attempt", "seq", "sending")
    count = len(deltas["seq"])
    if not count:
        nothing = np.zeros(len(sendings["seq"]), np.int64)
        return nothing, nothing
    new = np.ones(count, dtype=np.bool_)
    new[1:] = np.logical_or.reduce([deltas[name][1:] != deltas[name][:-1] for name in names])
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], count)
    at = found_by(tuple(deltas[name][starts] for name in names), tuple(sendings[name] for name in names))
    # Who was not told when it was sent is a receipt without a sending.
    at = np.where(sendings["sent_us"] < 0, -1, at)
    return _picked(starts, at), _picked(ends, at)


def found_by(known: tuple[Any, ...], wanted: tuple[Any, ...]) -> Any:
    """Of each wanted key the last row that has it; -1 where none has."""
    if not len(known[0]) or not len(wanted[0]):
        return np.full(len(wanted[0]), -1, dtype=np.int64)
    both, begin = _ranked(known, wanted), len(known[0])
    keys, asked = both[:begin], both[begin:]
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys, asked, side="right", sorter=order) - 1
    row = order[np.maximum(at, 0)]
    found: Any = np.where((at >= 0) & (keys[row] == asked), row, -1)
    return found


def _ranked(known: tuple[Any, ...], wanted: tuple[Any, ...]) -> Any:
    """Keys of several numbers as one number each, which agrees in order and whatever the numbers are."""
    ranks: Any = 0
    for one, other in zip(known, wanted, strict=True):
        values, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
        ranks = ranks * len(values) + codes
        if len(values) > 1:
            ranks = np.unique(ranks, return_inverse=True)[1]
    return ranks


def _built(buffers: Arrays) -> Any:
    """How far its output's log went with each buffer: they stand in the order in which they were cut."""
    count = len(buffers["seq"])
    if not count:
        return np.zeros(0, np.int64)
    new = np.ones(count, dtype=np.bool_)
    new[1:] = (buffers["attempt"][1:] != buffers["attempt"][:-1]) | (buffers["epoch"][1:] != buffers["epoch"][:-1])
    starts = np.flatnonzero(new)
    return BUILT_BYTES * (np.arange(count) - np.repeat(starts, np.diff(starts, append=count)) + 1)


def _picked(values: Any, at: Any) -> Any:
    if not len(values):
        return np.zeros(len(at), np.int64)
    return np.where(at < 0, 0, np.asarray(values)[np.maximum(at, 0)]).astype(np.int64)
