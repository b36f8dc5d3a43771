"""Plants one fault into a recording, and says where it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from replay.bundle.frames import RECEIPT_BYTES, SENDING_HEAD_BYTES, read_buffers, read_receipts, read_sendings
from replay.log.codec import decode_all, encode
from replay.log.determinants import (
    BufferBuilt,
    IgnoreCheckpoint,
    Order,
    Rng,
    Serializable,
    SourceCheckpoint,
    TimerTrigger,
    Timestamp,
)
from replay.model import json_bytes, read_json

Members = Mapping[str, bytes]
Span = tuple[int, int]


@dataclass(frozen=True)
class Plant:
    """`members`: the recording with the fault in it."""

    kind: str
    member: str
    offset: int
    members: dict[str, bytes]


def planted(kind: str, members: Members, seed: int) -> Plant | None:
    """None where the recording has nothing that it could be planted into."""
    draw = Random(f"{kind} {seed}")
    suffix, folder, change = KINDS[kind]
    names = [name for name in sorted(members) if name.endswith(suffix) and f"/{folder}" in name and members[name]]
    draw.shuffle(names)
    for name in names:
        found = change(draw, name, members[name])
        if found is not None and found[1] != members[name]:
            return Plant(kind, name, found[0], {**members, name: found[1]})
    return None


Change = Callable[[Random, str, bytes], tuple[int, bytes] | None]
"""(where, the member with the fault)."""


def spans_of(name: str, data: bytes) -> list[Span]:
    """Where its frames, determinants or lines stand."""
    if name.endswith(".det"):
        return [(at, at + length) for at, length, _ in decode_all(data)]
    if name.endswith(".rcv"):
        return [(at, at + RECEIPT_BYTES) for at, _ in read_receipts(data)]
    if name.endswith(".ndjson"):
        ends = [at + 1 for at, byte in enumerate(data) if byte == 0x0A]
    elif name.endswith(".buf"):
        ends = [*(at for at, _ in read_buffers(data, epoch=0)), len(data)][1:]
    else:
        ends = [*(at for at, _ in read_sendings(data)), len(data)][1:]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def dropped(draw: Random, name: str, data: bytes) -> tuple[int, bytes] | None:
    """One of them is gone."""
    begin, end = draw.choice(spans_of(name, data))
    return begin, data[:begin] + data[end:]


def doubled(draw: Random, name: str, data: bytes) -> tuple[int, bytes] | None:
    """One of them is there a second time, right behind the first."""
    begin, end = draw.choice(spans_of(name, data))
    return begin, data[:end] + data[begin:]


def reordered(draw: Random, name: str, data: bytes) -> tuple[int, bytes] | None:
    """Two neighbours change places."""
    spans = spans_of(name, data)
    if len(spans) < 2:
        return None
    at = draw.randrange(len(spans) - 1)
    (a, b), (_, d) = spans[at], spans[at + 1]
    return a, data[:a] + data[b:d] + data[a:b] + data[d:]


def delta_cut(draw: Random, name: str, data: bytes) -> tuple[int, bytes] | None:
    """The delta of one sending is gone, as if nothing had been new."""
    full = [(begin, end) for begin, end in spans_of(name, data) if end - begin > SENDING_HEAD_BYTES]
    if not full:
        return None
    begin, end = draw.choice(full)
    head = begin + SENDING_HEAD_BYTES
    return begin, data[: head - 4] + bytes(4) + data[end:]


def determinant_changed(draw: Random, name: str, data: bytes) -> tuple[int, bytes] | None:
    """It says something else, of the same kind."""
    at, length, found = draw.choice(list(decode_all(data)))
    other: Any
    match found:
        case Order(channel):
            other = Order(channel ^ 1)
        case Timestamp(value):
            other = Timestamp(value + draw.randrange(1, 50))
        case Rng(value):
            other = Rng(value ^ (1 << draw.randrange(30)))
        case BufferBuilt(size):
            other = BufferBuilt(size + 1)
        case TimerTrigger(count, timestamp, callback):
            other = TimerTrigger(count + 1, timestamp, callback)
        case SourceCheckpoint():
            other = replace(found, record_count=found.record_count + 1)
        case IgnoreCheckpoint(count, checkpoint):
            other = IgnoreCheckpoint(count + 1, checkpoint)
        case Serializable():
            other = Serializable.of(3, json_bytes({**read_json(found.content), "value": "another"}))
        case _:
            return None
    return at, data[:at] + encode(other) + data[at + length :]


KINDS: dict[str, tuple[str, str, Change]] = {
    "buffer dropped": (".buf", "sent-", dropped),
    "buffer doubled": (".buf", "sent-", doubled),
    "buffers reordered": (".buf", "sent-", reordered),
    "sending dropped": (".dlt", "sent-", dropped),
    "sending doubled": (".dlt", "sent-", doubled),
    "receipt dropped": (".rcv", "received-", dropped),
    "receipt doubled": (".rcv", "received-", doubled),
    "receipts reordered": (".rcv", "received-", reordered),
    "determinant changed": (".det", "", determinant_changed),
    "determinant dropped": (".det", "", dropped),
    "delta cut": (".dlt", "sent-", delta_cut),
    "sink record removed": (".ndjson", "sink/", dropped),
    "sink record doubled": (".ndjson", "sink/", doubled),
    "sink records reordered": (".ndjson", "sink/", reordered),
    "source record removed": (".ndjson", "source/", dropped),
    "source record doubled": (".ndjson", "source/", doubled),
}
