"""Small bundles for uploads: good ones, and every kind of bad one that must be refused whole."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
import zlib
from typing import Any

MANIFEST: dict[str, Any] = {
    "format": "causal-log-bundle",
    "version": 1,
    "job": {"name": "small", "recorder": "test", "recorded_at": "2026-11-18T00:00:00Z"},
    "clock": {"origin_ms": 0, "kind": "virtual"},
    "determinants": "clonos",
    "protocol": {"name": "clonos"},
    "vertices": [
        {"id": "source", "kind": "source", "parallelism": 1},
        {"id": "sink", "kind": "sink", "parallelism": 1},
    ],
    "edges": [{"from": "source", "to": "sink", "ship": "forward"}],
    "tasks": [
        {
            "id": "source.0",
            "vertex": "source",
            "subtask": 0,
            "number": 0,
            "inputs": [],
            "outputs": [{"channel": "source.0>sink.0", "partition": [0, 0], "sub": 0}],
        },
        {"id": "sink.0", "vertex": "sink", "subtask": 0, "number": 1, "inputs": ["source.0>sink.0"], "outputs": []},
    ],
    "complete": True,
}


def manifest(**changed: Any) -> bytes:
    return json.dumps({**MANIFEST, **changed}).encode()


def named(name: str) -> bytes:
    """A manifest whose content differs by its name."""
    return manifest(job={**MANIFEST["job"], "name": name})


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(members: list[tuple[str, bytes, dict[str, Any]]], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data, fields in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for field, value in fields.items():
                setattr(member, field, value)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def padded(size: int, name: str = "padded") -> bytes:
    """A good bundle of about this size, which no compression makes smaller."""
    noise = b"".join(struct.pack(">I", zlib.crc32(str(n).encode())) for n in range(size // 4))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("job.json", named(name))
        archive.writestr("notes.bin", noise)
    return out.getvalue()


def good(name: str = "good") -> bytes:
    return zipped({"job.json": named(name)})


def _link(kind: bytes) -> bytes:
    return tarred([("job.json", manifest(), {}), ("tasks/x", b"", {"type": kind, "linkname": "/etc/passwd"})])


def _twice() -> bytes:
    return tarred([("job.json", manifest(), {}), ("events.ndjson", b"", {}), ("events.ndjson", b"{}", {})])


def _not_utf8() -> bytes:
    whole = tarred([("job.json", manifest(), {}), ("tasks/QQQQ", b"x", {})], "w:")
    return _with_checksum(whole.replace(b"tasks/QQQQ", b"tasks/\xff\xfe\xff\xfe"), b"tasks/\xff\xfe")


def _with_checksum(tar: bytes, name: bytes) -> bytes:
    """The header's checksum made right again after a change, so that it is the name that is refused."""
    at = tar.index(name)
    header = bytearray(tar[at : at + 512])
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return tar[:at] + bytes(header) + tar[at + 512 :]


def _gigantic() -> bytes:
    """A member whose header declares far more than follows."""
    whole = tarred([("job.json", manifest(), {}), ("events.ndjson", b"{}", {})], "w:")
    at = whole.index(b"events.ndjson")
    header = bytearray(whole[at : at + 512])
    header[124:136] = b"77777777777\0"
    return _with_checksum(whole[:at] + bytes(header) + whole[at + 512 :], b"events.ndjson")


def _bomb() -> bytes:
    return zipped({"job.json": manifest(), "events.ndjson": b"\0" * (80 << 20)})


def _broken_gzip(at: int) -> bytes:
    """One byte changed: in the compressed stream, or in the checksum at its end."""
    whole = bytearray(tarred([("job.json", manifest(), {}), ("events.ndjson", b"{}\n" * 5000, {})]))
    whole[at] ^= 0xFF
    return bytes(whole)


REFUSED: dict[str, bytes] = {
    "no bundle": b"This is a letter and no bundle.",
    "nothing": b"",
    "no manifest": zipped({"events.ndjson": b""}),
    "truncated zip": good()[:-40],
    "truncated tar": tarred([("job.json", manifest(), {}), ("events.ndjson", b"x" * 99999, {})])[:-200],
    "broken gzip": _broken_gzip(200),
    "broken gzip checksum": _broken_gzip(-6),
    "encrypted": b"age-encryption.org/v1\n-> X25519 abc\n",
    "bomb": _bomb(),
    "absolute": tarred([("job.json", manifest(), {}), ("/etc/cron.d/x", b"x", {})]),
    "dot dot": tarred([("job.json", manifest(), {}), ("../../x", b"x", {})]),
    "zip dot dot": zipped({"job.json": manifest(), "tasks/../../x": b"x"}),
    "symlink": _link(tarfile.SYMTYPE),
    "hard link": _link(tarfile.LNKTYPE),
    "device": tarred([("job.json", manifest(), {}), ("tasks/x", b"", {"type": tarfile.CHRTYPE})]),
    "other version": zipped({"job.json": manifest(version=2)}),
    "not JSON": zipped({"job.json": b"{"}),
    "disagreeing manifest": zipped({"job.json": manifest(edges=[{"from": "nobody", "to": "sink", "ship": "forward"}])}),
    "two of one name": _twice(),
    "not UTF-8": _not_utf8(),
    "gigantic": _gigantic(),
}
