"""Bundles and archives for tests, made by the standard library's own writers."""

import gzip
import io
import tarfile
import zipfile
import zlib

import zstandard

from replay.bundle.containers import open_container
from replay.bundle.frames import BufferFrame, ReceiptFrame, SendingFrame
from replay.bundle.pack import write_pack
from replay.log.codec import encode
from replay.log.deltas import DeltaEntry, LogIds, encode_flat
from replay.log.determinants import BufferBuilt, Order, Timestamp
from replay.model import LogId, Record
from tests.replay.log.graphs import manifest

MANIFEST = manifest([("source.0", "sink.0"), ("source.1", "sink.0")])
KINDS = ("dir", "zip", "tar", "tar.gz", "tar.zst")


def members():
    """A small bundle of two sources and a sink, with a member of every binary kind."""
    payload = Record("k", 7, "v").to_bytes()
    delta = encode_flat(
        [DeltaEntry(LogId("source.0", "out-0"), 0, 0, encode(BufferBuilt(len(payload))))], LogIds.of(MANIFEST)
    )
    return {
        "job.json": MANIFEST.to_bytes(),
        "events.ndjson": b'{"n":0,"t_us":5,"type":"checkpoint-triggered","checkpoint":1}\n',
        "tasks/source.0/0/out-0/0.det": encode(BufferBuilt(len(payload))),
        "tasks/source.0/0/sent-0/0.buf": BufferFrame(0, 10, 0, 0, 0, 0, payload).to_bytes(),
        "tasks/source.0/0/sent-0/0.dlt": SendingFrame(0, 11, 0, 0, 0, delta).to_bytes(),
        "tasks/source.0/0/source/0.ndjson": b'{"offset":0,"t_us":1,"record":["k",7,"v"]}\n',
        "tasks/sink.0/0/main/0.det": encode(Order(0)) + encode(Timestamp(1600000000000)),
        "tasks/sink.0/0/received-0/0.rcv": ReceiptFrame(0, 0, 0, 20, 21, 0, 0, 0).to_bytes(),
        "tasks/sink.0/0/sink/0.ndjson": b'{"n":0,"t_us":22,"record":["k",7,"v"],"source":[["source.0",0]]}\n',
        "tasks/sink.0/0/state/1.json": b'{"operator":{},"timers":[]}',
        "notes/by ü.txt": "kept and ignored ☃".encode(),
    }


def write(kind, path, content):
    """The members in that kind of container, by the standard library."""
    if kind == "dir":
        for name, data in content.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
    elif kind == "zip":
        path.write_bytes(zip_bytes(content))
    else:
        path.write_bytes(packed(kind, tar_bytes(content)))
    return path


def pack_of(path, out, limits=None, **more):
    """Packs what lies there, as an upload does."""
    with open_container(path, limits) as container:
        return write_pack(container, out, limits, **more)


def zip_bytes(content, compression=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return file.getvalue()


def tar_bytes(content, form=tarfile.PAX_FORMAT):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def tar_of(*infos):
    """A tar of entries whose every field the test sets; an info may come with its content."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for info in infos:
            info, data = info if isinstance(info, tuple) else (info, b"")
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def packed(kind, data):
    if kind == "tar.gz":
        return gzip.compress(data)
    return zstandard.compress(data) if kind == "tar.zst" else data


def deflated(data):
    squeezer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeezer.compress(data) + squeezer.flush()
