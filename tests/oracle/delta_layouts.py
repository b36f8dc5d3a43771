"""Delta messages in both layouts, read by the words of docs/log-format.md alone. Imports nothing of the product."""

import struct


def delta_messages(data, layout="flat"):
    """(epoch, [(number, None or (lower, upper, sub), offset, bytes)]) per message."""
    at = 0
    while at < len(data):
        header_bytes, epoch = struct.unpack_from(">iq", data, at)
        body = at + header_bytes
        assert 12 <= header_bytes <= len(data) - at, f"a delta header claims {header_bytes} bytes"
        entries = []
        for number, output, offset, length in HEADS[layout](data[at + 12 : body]):
            assert 0 <= length <= len(data) - body, f"a delta claims {length} bytes"
            entries.append((number, output, offset, data[body : body + length]))
            body += length
        yield epoch, entries
        at = body


def _flat(head):
    """Every entry names its log in full."""
    while head:
        number, is_main = struct.unpack_from(">HB", head)
        assert is_main in (0, 1), "a flag that is neither 0 nor 1"
        head = head[3:]
        output = None
        if not is_main:
            output, head = struct.unpack_from(">qqB", head), head[17:]
        yield (number, output, *struct.unpack_from(">ii", head))
        head = head[8:]


def _grouping(head):
    """A task's main log, its partitions, their subpartitions: each name once."""
    tasks = []
    while head:
        number, has_main = struct.unpack_from(">HB", head)
        assert has_main in (0, 1), "a flag that is neither 0 nor 1"
        head = head[3:]
        tasks.append(number)
        if has_main:
            yield (number, None, *struct.unpack_from(">ii", head))
            head = head[8:]
        partitions, head = head[0], head[1:]
        assert has_main or partitions, "a task stands there with nothing new"
        for _ in range(partitions):
            lower, upper, subs = struct.unpack_from(">qqB", head)
            head = head[17:]
            assert subs, "a partition stands there with nothing new"
            for _ in range(subs):
                sub, offset, length = struct.unpack_from(">Bii", head)
                yield number, (lower, upper, sub), offset, length
                head = head[9:]
    assert len(set(tasks)) == len(tasks), "a task stands there twice"


HEADS = {"flat": _flat, "grouping": _grouping}
