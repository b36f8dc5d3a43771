"""Delta messages: what one sending carries of other logs, in Clonos' flat and grouping layouts."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from replay.errors import CorruptMember, InvariantError
from replay.model import MAIN, LogId, Manifest, thread_of_output

_HEADER = struct.Struct(">iq")
_FLAT_VERTEX = struct.Struct(">HB")
_PARTITION = struct.Struct(">qq")
_EXTENT = struct.Struct(">ii")
_REMEDY = "What stands before it is kept; record the job again to have the rest"


@dataclass(frozen=True, slots=True)
class DeltaEntry:
    """Bytes of one log from `offset` of `epoch` on."""

    log: LogId
    epoch: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class DeltaExtent:
    """Where a message says that an entry's bytes stand: `at` counts from the first byte of all messages."""

    log: LogId
    epoch: int
    offset: int
    length: int
    at: int


@dataclass(frozen=True, slots=True)
class WireId:
    """A log's name on the wire; `partition` and `sub` are None for a main thread."""

    number: int
    partition: tuple[int, int] | None = None
    sub: int | None = None


class LogIds:
    """Between the names of logs and their names on the wire."""

    def __init__(self, ids: Mapping[LogId, WireId]):
        self._wire = dict(ids)
        self._heads: dict[LogId, bytes] = {}
        counts = Counter(ids.values())
        # A name that two logs share says nothing: it is as good as unknown.
        self._logs = {wire: log for log, wire in ids.items() if counts[wire] == 1}

    @classmethod
    def of(cls, manifest: Manifest) -> LogIds:
        """As the manifest lists tasks and outputs."""
        ids: dict[LogId, WireId] = {}
        for task in manifest.tasks:
            ids[LogId(task.id, MAIN)] = WireId(task.number)
            for k, output in enumerate(task.outputs):
                ids[LogId(task.id, thread_of_output(k))] = WireId(task.number, output.partition, output.sub & 0xFF)
        return cls(ids)

    def wire(self, log: LogId) -> WireId:
        """The log's name on the wire, which must be its own."""
        wire = self._wire[log]
        if wire not in self._logs:
            raise InvariantError(f"{log} shares its name on the wire with another log")
        return wire

    def flat_head(self, log: LogId) -> bytes:
        """The log's name as the flat layout writes it."""
        head = self._heads.get(log)
        if head is None:
            head = self._heads[log] = _flat_id(self.wire(log))
        return head

    def log(self, wire: WireId) -> LogId | None:
        """The log of that name, if there is one."""
        return self._logs.get(wire)


def encode_deltas(entries: Iterable[DeltaEntry], ids: LogIds, layout: str = "flat") -> bytes:
    """The messages of a sending, in the layout that the manifest names; nothing for no entries."""
    return encode_flat(entries, ids) if layout == "flat" else encode_grouping(entries, ids)


def encode_flat(entries: Iterable[DeltaEntry], ids: LogIds) -> bytes:
    """One message per run of entries of one epoch, one after the other; nothing for no entries."""
    return b"".join(_flat_message(epoch, list(run), ids) for epoch, run in groupby(entries, key=lambda one: one.epoch))


def _flat_message(epoch: int, entries: list[DeltaEntry], ids: LogIds) -> bytes:
    heads = b"".join(ids.flat_head(one.log) + _EXTENT.pack(one.offset, len(one.data)) for one in entries)
    return b"".join((_HEADER.pack(_HEADER.size + len(heads), epoch), heads, *(one.data for one in entries)))


def _flat_id(wire: WireId) -> bytes:
    if wire.partition is None or wire.sub is None:
        return _FLAT_VERTEX.pack(wire.number, 1)
    return _FLAT_VERTEX.pack(wire.number, 0) + _PARTITION.pack(*wire.partition) + bytes((wire.sub & 0xFF,))


def encode_grouping(entries: Iterable[DeltaEntry], ids: LogIds) -> bytes:
    """As `encode_flat`, with the entries of a task, and those of a partition, under one head."""
    return b"".join(
        _grouping_message(epoch, list(run), ids) for epoch, run in groupby(entries, key=lambda one: one.epoch)
    )


def _grouping_message(epoch: int, entries: list[DeltaEntry], ids: LogIds) -> bytes:
    tasks: dict[int, dict[tuple[int, int] | None, list[tuple[int, DeltaEntry]]]] = {}
    for entry in entries:
        wire = ids.wire(entry.log)
        tasks.setdefault(wire.number, {}).setdefault(wire.partition, []).append((wire.sub or 0, entry))
    heads, data = bytearray(), []
    for number, partitions in tasks.items():
        main = partitions.pop(None, [])
        heads += _FLAT_VERTEX.pack(number, len(main))
        for _, entry in main:
            heads += _EXTENT.pack(entry.offset, len(entry.data))
            data.append(entry.data)
        heads.append(len(partitions))
        for partition, subs in partitions.items():
            heads += _PARTITION.pack(*partition or (0, 0)) + bytes((len(subs),))
            for sub, entry in subs:
                heads += bytes((sub & 0xFF,)) + _EXTENT.pack(entry.offset, len(entry.data))
                data.append(entry.data)
    return b"".join((_HEADER.pack(_HEADER.size + len(heads), epoch), bytes(heads), *data))


def decode_message(
    data: bytes, ids: LogIds, layout: str = "flat", *, path: str | None = None, at: int = 0
) -> list[DeltaEntry]:
    """Every entry of every message in `data`. A fault names `path` and an offset that counts from `at`."""
    return [
        DeltaEntry(one.log, one.epoch, one.offset, bytes(data[one.at : one.at + one.length]))
        for one in decode_extents(data, ids, layout, path=path, at=at)
    ]


def decode_extents(
    data: bytes, ids: LogIds, layout: str = "flat", *, path: str | None = None, at: int = 0
) -> list[DeltaExtent]:
    """As `decode_message`, without copying the logs' bytes."""
    reader = _Reader(data, ids, path, at)
    entries = reader.flat_entries if layout == "flat" else reader.grouping_entries
    found: list[DeltaExtent] = []
    epoch = None
    while reader.position < len(data):
        begin = reader.position
        header_bytes, next_epoch = reader.take(_HEADER)
        end = begin + header_bytes
        if header_bytes < _HEADER.size or end > len(data):
            raise reader.fault(begin, f"the delta header claims {header_bytes} bytes")
        if epoch is not None and next_epoch <= epoch:
            raise reader.fault(begin, f"the delta of epoch {next_epoch} follows that of epoch {epoch}")
        epoch = next_epoch
        heads = entries(end)
        for log, offset, length, entry_at in heads:
            if offset < 0 or length < 0 or length > len(data) - reader.position:
                raise reader.fault(entry_at, f"the delta of {log} claims offset {offset} and {length} bytes")
            found.append(DeltaExtent(log, epoch, offset, length, reader.position))
            reader.position += length
    return found


class _Reader:
    """A position in the bytes of a sending's messages."""

    def __init__(self, data: bytes, ids: LogIds, path: str | None, at: int):
        self.data, self.ids, self.path, self.at = data, ids, path, at
        self.position = 0
        self.end = len(data)

    def fault(self, position: int, why: str) -> CorruptMember:
        return CorruptMember(why, path=self.path, offset=self.at + position, remedy=_REMEDY)

    def take(self, form: struct.Struct) -> tuple[int, ...]:
        if self.position + form.size > self.end:
            raise self.fault(self.position, "the delta header is cut short")
        found = form.unpack_from(self.data, self.position)
        self.position += form.size
        return found

    def take_byte(self) -> int:
        if self.position >= self.end:
            raise self.fault(self.position, "the delta header is cut short")
        self.position += 1
        return self.data[self.position - 1]

    def log(self, wire: WireId, at: int) -> LogId:
        found = self.ids.log(wire)
        if found is None:
            raise self.fault(at, f"the delta names {_words(wire)}, which the manifest does not give to one log")
        return found

    def flag(self) -> bool:
        at, value = self.position, self.take_byte()
        if value > 1:
            raise self.fault(at, f"a flag of the delta header is {value}, and must be 0 or 1")
        return value == 1

    def flat_entries(self, end: int) -> list[tuple[LogId, int, int, int]]:
        found = []
        self.end = end
        while self.position < end:
            at = self.position
            number = self.take_byte() << 8 | self.take_byte()
            wire = WireId(number) if self.flag() else self._output(number)
            log = self.log(wire, at)
            offset, length = self.take(_EXTENT)
            found.append((log, offset, length, at))
        self.end = len(self.data)
        return found

    def _output(self, number: int) -> WireId:
        lower, upper = self.take(_PARTITION)
        return WireId(number, (lower, upper), self.take_byte())

    def grouping_entries(self, end: int) -> list[tuple[LogId, int, int, int]]:
        found = []
        self.end = end
        while self.position < end:
            at = self.position
            number = self.take_byte() << 8 | self.take_byte()
            if self.flag():
                log = self.log(WireId(number), at)
                offset, length = self.take(_EXTENT)
                found.append((log, offset, length, at))
            for _ in range(self.take_byte()):
                lower, upper = self.take(_PARTITION)
                for _ in range(self.take_byte()):
                    at = self.position
                    log = self.log(WireId(number, (lower, upper), self.take_byte()), at)
                    offset, length = self.take(_EXTENT)
                    found.append((log, offset, length, at))
        self.end = len(self.data)
        return found


def _words(wire: WireId) -> str:
    if wire.partition is None:
        return f"the main log of task number {wire.number}"
    return f"output {wire.sub} of partition {wire.partition} of task number {wire.number}"
