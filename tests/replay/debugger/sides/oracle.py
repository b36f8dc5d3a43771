"""What two attempts did, read from the members by hand and compared with plain loops: slow and independent."""

from __future__ import annotations

import json
from typing import Any

from replay.bundle.reader import Bundle
from replay.log.codec import decode_all


def determinants(bundle: Bundle, task: str, attempt: int, since: int) -> list[Any]:
    """(epoch, determinant) of the main log."""
    return [
        (epoch, one)
        for epoch in bundle.epochs(task, attempt, "main")
        if epoch >= since
        for _, _, one in decode_all(bundle.log_bytes(task, attempt, "main", epoch))
    ]


def inputs(bundle: Bundle, task: str, attempt: int, since: int) -> list[Any]:
    """(channel, record or watermark), in the order of the takes; half a record waits for its other half."""
    channels = bundle.graph.task(task).inputs
    if not channels:
        return [(line["offset"], line["record"]) for line in bundle.source(task, attempt)]
    takes = sorted(
        (one.taken_us, one.epoch, one.offset, i, one.seq, one.sender_attempt)
        for i in range(len(channels))
        for one in bundle.receipts(task, attempt, i)
        if one.taken
    )
    half = dict.fromkeys(range(len(channels)), b"")
    found: list[Any] = []
    for _, epoch, _, i, seq, sender in takes:
        channel = bundle.graph.channel(channels[i])
        frame = next(one for one in bundle.buffers(channel.source, sender, channel.k) if one.seq == seq)
        if frame.is_event:
            event = json.loads(frame.payload)
            if "watermark" in event and epoch >= since:
                found.append((channel.id, event["watermark"], event.get("idle", False)))
            continue
        half[i] += frame.payload
        while len(half[i]) >= 4 and len(half[i]) >= 4 + int.from_bytes(half[i][:4], "big"):
            size = 4 + int.from_bytes(half[i][:4], "big")
            if epoch >= since:
                found.append((channel.id, half[i][4:size]))
            half[i] = half[i][size:]
    return found


def first_difference(one: list[Any], other: list[Any]) -> int | None:
    """The number of the first that differs; None where the lists are equal."""
    for number in range(max(len(one), len(other))):
        if number >= len(one) or number >= len(other) or one[number] != other[number]:
            return number
    return None
