"""A second decoder of determinants, written from the format's table alone; shares nothing with `replay.log.codec`.

It knows no Java streams: those are told apart by the vectors that carry them.
"""

import struct
from io import BytesIO

CALLBACKS = {
    0: "watermark",
    1: "timestamp-extractor",
    2: "periodic-watermark-extractor",
    3: "punctuated-watermark-extractor",
    4: "idle",
    5: "latency",
}


class Cut(Exception):
    """The bytes end inside a determinant."""


def decode_stream(data):
    """Every determinant as (offset, length, kind, fields)."""
    stream, found = BytesIO(data), []
    while (offset := stream.tell()) < len(data):
        kind, fields = _one(stream)
        found.append((offset, stream.tell() - offset, kind, fields))
    return found


def _take(stream, form):
    data = stream.read(struct.calcsize(form))
    if len(data) < struct.calcsize(form):
        raise Cut
    return struct.unpack(form, data)[0]


def _blob(stream):
    length = _take(stream, ">i")
    data = stream.read(length) if length >= 0 else b""
    if length < 0 or len(data) < length:
        raise Cut
    return data


def _one(stream):
    tag = _take(stream, ">B")
    if tag == 0:
        return "order", {"channel": _take(stream, ">B")}
    if tag == 1:
        return "timestamp", {"value": _take(stream, ">q")}
    if tag == 2:
        return "rng", {"value": _take(stream, ">i")}
    if tag == 3:
        assert stream.read(2) == b"CL"
        content_type = _take(stream, ">B")
        content = _blob(stream)
        return "serializable", {"payload": b"CL" + bytes([content_type]) + struct.pack(">i", len(content)) + content}
    if tag == 4:
        fields = {"record_count": _take(stream, ">i"), "timestamp": _take(stream, ">q")}
        callback = _take(stream, ">B")
        name = f"internal:{_blob(stream).decode()}" if callback == 6 else CALLBACKS[callback]
        return "timer-trigger", {**fields, "callback": name}
    if tag == 5:
        fields = {
            "record_count": _take(stream, ">i"),
            "checkpoint": _take(stream, ">q"),
            "timestamp": _take(stream, ">q"),
        }
        fields["checkpoint_type"] = {0: "checkpoint", 1: "savepoint"}[_take(stream, ">B")]
        fields["storage_ref"] = _blob(stream) if _take(stream, ">B") else None
        return "source-checkpoint", fields
    if tag == 6:
        return "ignore-checkpoint", {"record_count": _take(stream, ">i"), "checkpoint": _take(stream, ">q")}
    if tag == 7:
        return "buffer-built", {"buffer_bytes": _take(stream, ">i")}
    if tag == 16:
        fields = {"channel": _take(stream, ">I"), "first_offset": _take(stream, ">q")}
        return "take", {**fields, "records": _take(stream, ">I")}
    raise AssertionError(f"tag {tag}")
