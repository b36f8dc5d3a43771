"""The state of a query's stateful operators, version by version, from the files of a state store.

Read are deltas and snapshots of the HDFS-backed provider and changelogs of RocksDB's, packed with LZ4. RocksDB's own
snapshots can be read by RocksDB alone: where only they tell of a version, its state is not known.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ingest.importers.checkpoint_files import MOST_FILE_BYTES, CheckpointFiles
from ingest.importers.unsafe_rows import NotARow, fields_of, read_row
from replay.model.record import read_json

MOST_KEYS = 1_000_000
# Over all versions of all partitions; the newest version of each is told besides.
MOST_ROWS_TOLD = 2_000_000
_MAGIC, _RAW, _PACKED = b"LZ4Block", 0x10, 0x20
_HEAD = struct.Struct("<8sBiiI")
_SIZE = struct.Struct(">i")
_FILE = re.compile(
    r"state/(?P<operator>[0-9]+)/(?P<partition>[0-9]+)/(?:(?P<store>[^/]+)/)?"
    r"(?P<version>[0-9]{1,18})(?P<lineage>_[^/.]+)?\.(?P<kind>delta|snapshot|changelog|zip)"
)
_OPERATOR = re.compile(r"state/(?P<operator>[0-9]+)/_metadata/metadata")
_DEFAULT = "default"

Rows = dict[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Operator:
    """A stateful operator, as its own metadata names it."""

    number: int
    name: str
    partitions: int

    @property
    def vertex(self) -> str:
        plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in self.name)[:60]
        return f"{plain or 'operator'}-{self.number}"


@dataclass(slots=True)
class Partition:
    """One partition of an operator: per store and version its state, where that is known."""

    versions: dict[str, dict[int, list[list[Any]]]] = field(default_factory=dict)
    """{store: {version: [[key, value], …]}}, by key."""
    unknown: dict[int, str] = field(default_factory=dict)
    """Of versions that have files, but whose state can't be told: why."""


def operators_of(files: CheckpointFiles) -> list[Operator]:
    """Those with metadata; of others, which older versions of Spark leave, what their files' names say."""
    found: dict[int, Operator] = {}
    for match, name in files.of(_OPERATOR):
        document = files.object(name, (files.lines(name, ("v1", "v2")) or [""])[0], "the operator")
        info, stores = document.get("operatorInfo"), document.get("stateStoreInfo")
        if not isinstance(info, dict) or not isinstance(stores, list):
            raise files.fault(name, "operatorInfo or stateStoreInfo is missing")
        counts = [one.get("numPartitions") for one in stores if isinstance(one, dict)]
        most = max((one for one in counts if type(one) is int), default=0)
        if not 0 < most < 1 << 16:
            raise files.fault(name, "numPartitions must lie between 1 and 65535")
        number = int(match["operator"])
        found[number] = Operator(number, str(info.get("operatorName", "operator")), most)
    for match, _ in files.of(_FILE):
        number, partition = int(match["operator"]), int(match["partition"])
        known = found.get(number)
        if known is None or partition >= known.partitions:
            if partition >= 1 << 16:
                raise files.fault(match.string, "there are at most 65535 partitions")
            found[number] = Operator(number, known.name if known else "operator", partition + 1)
    return [found[number] for number in sorted(found)]


def partitions_of(files: CheckpointFiles) -> dict[tuple[int, int], Partition]:
    """By operator and partition, the state at every version that has files."""
    by_store: dict[tuple[int, int, str], dict[int, dict[str, str]]] = {}
    read: dict[tuple[int, int], Partition] = {}
    room = _Room()
    for match, name in files.of(_FILE):
        place = int(match["operator"]), int(match["partition"])
        partition = read.setdefault(place, Partition())
        version, store = int(match["version"]), match["store"] or _DEFAULT
        if match["lineage"]:
            partition.unknown[version] = (
                "its files belong to one of several lineages of the state, which are not told apart"
            )
        else:
            by_store.setdefault((*place, store), {}).setdefault(version, {})[match["kind"]] = name
    for (operator, number, store), versions in by_store.items():
        _Store(files, operator, store, read[operator, number], room).fold(versions)
    return read


@dataclass(slots=True)
class _Room:
    """How many rows of older versions may still be told."""

    rows: int = MOST_ROWS_TOLD

    def take(self, rows: int) -> bool:
        self.rows -= rows
        return self.rows >= 0


class _Store:
    """One store of one partition, folded from its first version to its last."""

    def __init__(self, files: CheckpointFiles, operator: int, name: str, partition: Partition, room: _Room) -> None:
        self.files, self.name, self.partition, self.room = files, name, partition, room
        self.schemas, self.unread = _schemas(files, operator, name)

    def fold(self, versions: dict[int, dict[str, str]]) -> None:
        rows: Rows | None = {}
        last = 0
        for version in sorted(versions):
            of_version = versions[version]
            if version != last + 1:
                rows = None
            last = version
            if "snapshot" in of_version:
                rows = {}
                self._apply(of_version["snapshot"], rows)
            elif (log := of_version.get("delta") or of_version.get("changelog")) is not None:
                if rows is not None:
                    rows = dict(rows)
                    self._apply(log, rows)
            else:
                rows = None
            self._keep(version, rows, of_version, newest=version == max(versions))

    def _keep(self, version: int, rows: Rows | None, of_version: dict[str, str], *, newest: bool) -> None:
        if rows is None:
            why = "the versions before it are not in this copy"
            if "zip" in of_version and not {"delta", "changelog"} & of_version.keys():
                why = "it lies in a snapshot of RocksDB, which only RocksDB reads"
            self.partition.unknown.setdefault(version, why)
        elif self.unread:
            self.partition.unknown.setdefault(version, self.unread)
        elif not newest and not self.room.take(len(rows)):
            self.partition.unknown.setdefault(version, f"states of older versions fill {MOST_ROWS_TOLD} rows already")
        else:
            changelog = "changelog" in of_version
            told = [self._told(key, value, changelog, of_version) for key, value in sorted(rows.items())]
            self.partition.versions.setdefault(self.name, {})[version] = told

    def _told(self, key: bytes, value: bytes, changelog: bool, of_version: dict[str, str]) -> list[Any]:
        # In RocksDB a byte that says how a row is encoded stands before it.
        begin = 1 if changelog else 0
        try:
            return [read_row(one[begin:], schema) for one, schema in zip((key, value), self.schemas, strict=True)]
        except NotARow as fault:
            name = next(iter(of_version.values()))
            raise self.files.fault(name, f"a row of the state does not fit its schema: {fault}") from None

    def _apply(self, name: str, rows: Rows) -> None:
        data = self._unpacked(name)
        at = 0
        while True:
            key, at = self._sized(name, data, at)
            if key is None:
                return
            value, at = self._sized(name, data, at)
            if value is None:
                rows.pop(key, None)
            else:
                rows[key] = value
            if len(rows) > MOST_KEYS:
                raise self.files.fault(name, f"the state has more than {MOST_KEYS} keys, which is more than is read")

    def _sized(self, name: str, data: bytes, at: int) -> tuple[bytes | None, int]:
        """The next piece behind its size; None for -1, which ends a file or removes a key."""
        size = _SIZE.unpack_from(data, at)[0] if at + 4 <= len(data) else None
        if size == -1:
            return None, at + 4
        if size is None or size < 0 or at + 4 + size > len(data):
            raise self.files.fault(
                name, f"its content ends or breaks at byte {at} of {len(data)} unpacked, before its end mark"
            )
        return data[at + 4 : at + 4 + size], at + 4 + size

    def _unpacked(self, name: str) -> bytes:
        return b"".join(_blocks(self.files, name))


def _blocks(files: CheckpointFiles, name: str) -> Iterator[bytes]:
    """The blocks of an LZ4 stream as Spark writes it."""
    data, at, total = files.read(name), 0, 0
    while at < len(data):
        if at + _HEAD.size > len(data):
            raise files.fault(name, "the LZ4 stream is cut short", at)
        magic, token, packed, size, _ = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        if magic != _MAGIC:
            raise files.fault(
                name, "here an LZ4 block must begin; other codecs of state stores are not read", at - _HEAD.size
            )
        if size == 0:
            return
        total += max(size, 0)
        if packed < 0 or size < 0 or at + packed > len(data) or total > MOST_FILE_BYTES:
            raise files.fault(name, "an LZ4 block says a size that cannot be", at - _HEAD.size)
        yield _unpacked(files, name, at, data[at : at + packed], size, token & 0xF0)
        at += packed
    raise files.fault(name, "the LZ4 stream has no end mark: the file is cut short", len(data))


def _unpacked(files: CheckpointFiles, name: str, at: int, packed: bytes, size: int, method: int) -> bytes:
    if method == _RAW and len(packed) == size:
        return packed
    if method != _PACKED:
        raise files.fault(name, "an LZ4 block has an unknown method", at)
    try:
        return bytes(pa.decompress(packed, decompressed_size=size, codec="lz4_raw", asbytes=True))
    except (pa.ArrowException, OSError):
        raise files.fault(name, "an LZ4 block is damaged", at) from None


def _schemas(files: CheckpointFiles, operator: int, store: str) -> tuple[tuple[dict[str, Any], dict[str, Any]], str]:
    """Of key and value; or why the rows can't be read."""
    folder = f"state/{operator}/0/" + ("" if store == _DEFAULT else f"{store}/")
    name = f"{folder}_metadata/schema"
    none: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    if name not in files:
        return none, "the schema of its rows is not where it is looked for"
    data = files.read(name)
    version, at = _utf(files, name, data, 0)
    if version != "v2":
        return none, f"its schema is of version {version[:8]}, and v2 is read"
    schemas = []
    for _ in range(2):
        begin, text = at, ""
        chunks = _SIZE.unpack_from(data, at)[0] if at + 4 <= len(data) else -1
        at += 4
        if not 0 < chunks <= len(data):
            raise files.fault(name, "the schema is cut short", begin)
        for _ in range(chunks):
            chunk, at = _utf(files, name, data, at)
            text += chunk
        schemas.append(_schema(files, name, text, begin))
    return (schemas[0], schemas[1]), ""


def _schema(files: CheckpointFiles, name: str, text: str, at: int) -> dict[str, Any]:
    try:
        found = read_json(text.encode())
        fields_of(found)
    except (ValueError, RecursionError, NotARow):
        raise files.fault(name, "the schema is no struct in JSON", at) from None
    return dict(found)


def _utf(files: CheckpointFiles, name: str, data: bytes, at: int) -> tuple[str, int]:
    """As Java's `writeUTF`."""
    if at + 2 > len(data):
        raise files.fault(name, "the schema is cut short", at)
    size = int.from_bytes(data[at : at + 2], "big")
    if at + 2 + size > len(data):
        raise files.fault(name, "the schema is cut short", at)
    return data[at + 2 : at + 2 + size].decode("utf-8", "replace"), at + 2 + size
