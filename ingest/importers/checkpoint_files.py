"""The files of a Structured Streaming query's checkpoint: which of a container's members they are, read with bounds and
held against the checksums that Hadoop keeps beside them."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from replay.bundle.container import Container
from replay.bundle.limits import Limits
from replay.errors import BundleError, printable
from replay.model.record import read_json

REMEDY = "Copy the folder again while its query is stopped, or restore it from where it was kept"
MOST_FILE_BYTES = 64 << 20
MOST_KEPT_BYTES = 512 << 20
_CHECKSUM_MAGIC = b"crc\0"
_ROOT = re.compile(r"(?P<root>(?:.*/)?)offsets/[0-9]{1,18}")
_SINK_LOG = re.compile(r"(?:.*/)?_spark_metadata/[0-9]{1,18}(?:\.compact)?")
# Spark writes each file under a hidden name first: what a kill left there was never part of the checkpoint.
_OF_STATE = re.compile(r"state/[0-9]{1,9}/(?:[0-9]{1,9}|_metadata)/(?:.*/)?(?!\.[^/]*\.tmp$)[^/]+")
_LOGS = re.compile(r"metadata|(?:offsets|commits|sources/[0-9]{1,9})/[0-9]{1,18}(?:\.compact)?")
# Nothing of these is read without RocksDB itself; that they are there is told.
_NAMES_ONLY = re.compile(r".*\.(?:zip|sst|log)|.*/SSTs/.*")


def root_of(names: Iterable[str]) -> str | None:
    """The folder in which a checkpoint lies, with a slash at its end, empty for the top; None where there is none."""
    known = set(names)
    roots = {found["root"] for name in known if (found := _ROOT.fullmatch(name))}
    with_id = sorted(root for root in roots if f"{root}metadata" in known)
    if len(with_id) > 1:
        raise BundleError(
            f"here are the checkpoints of {len(with_id)} queries: {', '.join(map(printable, with_id[:3]))}",
            path=f"{with_id[0]}metadata",
            remedy="Take the folder of one query",
        )
    return with_id[0] if with_id else None


class CheckpointFiles:
    """What was read of one checkpoint. Names count from its root; sink logs keep their own."""

    def __init__(self, container: Container, root: str, limits: Limits) -> None:
        self.root = root
        self.names: set[str] = set()
        self._data: dict[str, bytes] = {}
        self._checksums: dict[str, bytes] = {}
        kept = 0
        for name, size, stream in container.members():
            limits.check_size(name, size)
            short = name.removeprefix(root) if name.startswith(root) else name
            folder, _, last = short.rpartition("/")
            checksum = last.startswith(".") and last.endswith(".crc")
            told = f"{folder}/{last[1:-4]}".lstrip("/") if checksum else short
            if not (_LOGS.fullmatch(told) or _OF_STATE.fullmatch(told) or _SINK_LOG.fullmatch(told)):
                continue
            if not checksum:
                self.names.add(told)
            if _NAMES_ONLY.fullmatch(told):
                continue
            data = _read(name, size, stream)
            kept += len(data)
            if kept > MOST_KEPT_BYTES:
                raise BundleError(
                    f"with this file the checkpoint has more than {MOST_KEPT_BYTES >> 20} MiB to read",
                    path=name,
                    remedy="Leave older versions of the state out of the copy",
                )
            (self._checksums if checksum else self._data)[told] = data
        for name, data in self._data.items():
            self._check(name, data)

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def of(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
        """The files of a kind, read or only named."""
        return ((found, name) for name in sorted(self.names) if (found := pattern.fullmatch(name)))

    def read(self, name: str) -> bytes:
        return self._data[name]

    def fault(self, name: str, why: str, offset: int | None = None) -> BundleError:
        return BundleError(why, path=f"{self.root}{name}" if name in self.names else name, offset=offset, remedy=REMEDY)

    def lines(self, name: str, versions: tuple[str, ...] = ("v1",)) -> list[str]:
        """The lines of a log's file behind the one that names its version."""
        try:
            # A Kafka source's own log begins with a zero byte, which its first version could not do without.
            data = self._data[name].removeprefix(b"\0" if name.startswith("sources/") else b"")
            version, *lines = data.decode("utf-8").split("\n")
        except UnicodeDecodeError as fault:
            raise self.fault(name, "the file is not UTF-8", fault.start) from None
        if version not in versions:
            known = " and ".join(versions)
            raise self.fault(
                name, f"its first line is {printable(version)!r} and must be its version; {known} is read", 0
            )
        return [line for line in lines if line.strip()]

    def json(self, name: str, line: str, what: str) -> Any:
        """A line of a log as JSON."""
        try:
            return read_json(line.encode())
        except (ValueError, RecursionError):
            raise self.fault(name, f"the line of {what} is not JSON") from None

    def object(self, name: str, line: str, what: str) -> dict[str, Any]:
        found = self.json(name, line, what)
        if not isinstance(found, dict):
            raise self.fault(name, f"the line of {what} must be a JSON object")
        return found

    def whole(self, name: str, value: Any, what: str) -> int:
        """A whole number of 64 bits, as the engine writes them."""
        if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
            raise self.fault(name, f"{what} must be a whole number")
        return value

    def _check(self, name: str, data: bytes) -> None:
        """Against its `.crc`, where that was copied along: a CRC of each stretch of the file."""
        told = self._checksums.get(name)
        if told is None:
            return
        if len(told) < 8 or told[:4] != _CHECKSUM_MAGIC:
            raise self.fault(name, "the checksum file beside it is damaged")
        (stretch,) = struct.unpack_from(">i", told, 4)
        count = -(-len(data) // stretch) if stretch > 0 else -1
        if count < 0 or len(told) != 8 + 4 * count:
            raise self.fault(
                name, f"the checksum file beside it is of a file of another length, not of {len(data)} bytes"
            )
        for n in range(count):
            (expected,) = struct.unpack_from(">I", told, 8 + 4 * n)
            if zlib.crc32(data[n * stretch : (n + 1) * stretch]) != expected:
                raise self.fault(
                    name, "the bytes from here on are not those of the checksum beside the file", n * stretch
                )


def _read(name: str, size: int, stream: Any) -> bytes:
    if size > MOST_FILE_BYTES:
        raise BundleError(
            f"the file has {size} bytes; at most {MOST_FILE_BYTES} are read of one", path=name, remedy=REMEDY
        )
    parts, left = [], MOST_FILE_BYTES + 1
    while left > 0 and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise BundleError(f"the file has more than {MOST_FILE_BYTES} bytes", path=name, remedy=REMEDY)
    return b"".join(parts)
