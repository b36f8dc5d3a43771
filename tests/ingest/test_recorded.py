"""Recordings of the engine, with failures: the lake equals what the plain reader finds, and nothing is rejected."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.bundle.reader import Bundle, open_bundle
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.log.deltas import decode_message
from replay.model import thread_of_output
from replay.protocols import PROTOCOLS
from tests.ingest.inprocess import ingested_here, rows_of
from tests.ingest.made import random_recording


def recorded(seed: int, folder: Path) -> Path:
    """A random job with random blows, through a container into a pack."""
    rng = random.Random(seed)
    depth, parallelism = rng.randrange(3, 5), rng.randrange(1, 4)
    vertices = ["source", *(f"map-{n + 1}" for n in range(depth - 2)), "sink"]
    kills = tuple(
        f"{rng.choice(vertices)}.{rng.randrange(parallelism)}@{rng.randrange(50, 900)}" for _ in range(rng.randrange(3))
    )
    options = RecordOptions(
        seed=seed, events=rng.randrange(100, 1500), depth=depth, parallelism=parallelism, kills=kills,
        checkpoint_interval_ms=rng.choice((100, 300, 1000)), buffer_bytes=rng.choice((200, 1000, 4096)),
        sharing_depth=rng.choice((None, None, 1, 0)),
    )  # fmt: skip
    record(options, folder / "bundle.tar", protocols=PROTOCOLS)
    container = open_container(folder / "bundle.tar")
    try:
        write_pack(container, folder / "bundle.pack")
    finally:
        container.close()
    return folder / "bundle.pack"


@pytest.mark.parametrize("seed", range(12))
def test_the_lake_holds_what_the_plain_reader_finds(seed: int, tmp_path: Path):
    pack = recorded(seed, tmp_path)
    job, result = ingested_here(pack, tmp_path / "data", part_bytes=random.Random(seed).choice((None, 20_000)))
    assert rows_of(job, "rejects") == [], f"seed {seed}"
    assert result["status"] == "ready"
    with open_bundle(pack) as bundle:
        tables = {"determinants": determinants(bundle), "buffers": buffers(bundle), "deltas": deltas(bundle)}
        tables |= {"sendings": sendings(bundle), "sources": lines(bundle, "source"), "sinks": lines(bundle, "sink")}
        for name, expected in tables.items():
            found = rows_of(job, name)
            assert Counter(map(key_of, found)) == Counter(map(key_of, expected)), f"seed {seed}, {name}"
            if bundle.manifest.protocol.sharing_depth != 0 or name in ("buffers", "sendings", "sources"):
                assert expected, f"seed {seed}: no {name} to compare"
        assert [row["n"] for row in rows_of(job, "events")] == list(range(len(list(bundle.events()))))
        failed = [event for event in bundle.events() if event["type"] == "task-failed"]
        assert [row["failed_us"] for row in rows_of(job, "failures")] == [event["t_us"] for event in failed]


KEYS = {
    "kind": ("task", "attempt", "thread", "epoch", "seq", "offset", "length", "kind"),
    "cut_us": ("channel", "attempt", "seq", "epoch", "bytes", "flags", "main_epoch", "main_offset", "records"),
    "thread": ("channel", "attempt", "seq", "sending", "task", "thread", "epoch", "offset", "length"),
    "receiver_attempt": ("channel", "attempt", "seq", "sending", "receiver_attempt", "received_us", "taken_us"),
    "t_us": ("task", "attempt", "offset", "n", "t_us"),
}


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    names = next(names for mark, names in KEYS.items() if mark in row)
    return tuple(row.get(name) for name in names)


def determinants(bundle: Bundle) -> list[dict[str, Any]]:
    return [
        {"task": task.id, "attempt": attempt, "thread": thread, "epoch": epoch, "seq": seq, "offset": offset,
         "length": length, "kind": one.kind}
        for task in bundle.manifest.tasks
        for attempt in bundle.attempts(task.id)
        for thread in task.threads
        for epoch in bundle.epochs(task.id, attempt, thread)
        for seq, (offset, length, one) in enumerate(bundle.determinants(task.id, attempt, thread, epoch))
    ]  # fmt: skip


def buffers(bundle: Bundle) -> list[dict[str, Any]]:
    """Records are counted by cutting the whole stream of an attempt, not buffer by buffer."""
    found = []
    for channel, attempt, k in outputs(bundle):
        frames = list(bundle.buffers(channel.source, attempt, k))
        stream = b"".join(frame.payload for frame in frames if not frame.is_event)
        ends, at = [], 0
        while at + 4 <= len(stream):
            at += 4 + int.from_bytes(stream[at : at + 4], "big")
            ends.append(at)
        begin = 0
        for frame in frames:
            end = begin if frame.is_event else begin + len(frame.payload)
            records = sum(begin < one <= end for one in ends)
            begin = end
            found.append({"channel": channel.id, "attempt": attempt, "seq": frame.seq, "epoch": frame.epoch,
                          "cut_us": frame.t_us, "bytes": len(frame.payload), "flags": frame.flags,
                          "main_epoch": frame.main_epoch, "main_offset": frame.main_offset,
                          "records": records})  # fmt: skip
    return found


def outputs(bundle: Bundle):
    return (
        (channel, attempt, channel.k)
        for channel in bundle.graph.channels
        for attempt in bundle.attempts(channel.source)
    )


def deltas(bundle: Bundle) -> list[dict[str, Any]]:
    layout = bundle.manifest.protocol.delta_layout
    return [
        {"channel": channel.id, "attempt": attempt, "seq": frame.seq, "sending": frame.sending, "task": one.log.task,
         "thread": one.log.thread, "epoch": one.epoch, "offset": one.offset, "length": len(one.data)}
        for channel, attempt, k in outputs(bundle)
        for frame in bundle.sendings(channel.source, attempt, k)
        for one in decode_message(frame.delta, bundle.ids, layout)
    ]  # fmt: skip


def sendings(bundle: Bundle) -> list[dict[str, Any]]:
    found = []
    for channel, attempt, k in outputs(bundle):
        receipts = {
            (receiver, receipt.seq, receipt.sending): receipt
            for receiver in bundle.attempts(channel.target)
            for receipt in bundle.receipts(channel.target, receiver, channel.i)
            if receipt.sender_attempt == attempt
        }
        for frame in bundle.sendings(channel.source, attempt, k):
            receipt = receipts.pop((frame.receiver_attempt, frame.seq, frame.sending), None)
            row = {"channel": channel.id, "attempt": attempt, "seq": frame.seq, "sending": frame.sending,
                   "receiver_attempt": frame.receiver_attempt}  # fmt: skip
            if receipt is not None:
                row["received_us"] = receipt.received_us
                row |= {"taken_us": receipt.taken_us} if receipt.taken else {}
            found.append(row)
        assert receipts == {}, thread_of_output(k)
    return found


def lines(bundle: Bundle, folder: str) -> list[dict[str, Any]]:
    read = bundle.source if folder == "source" else bundle.sink
    return [
        {"task": task, "attempt": attempt} | {name: line.get(name) for name in ("offset", "n", "t_us")}
        for task in bundle.tasks()
        for attempt in bundle.attempts(task)
        for line in read(task, attempt)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_many_small_parts_make_the_same_tables_as_one(seed: int, tmp_path: Path):
    pack = random_recording(seed, parallelism=2).pack(tmp_path)
    whole, one = ingested_here(pack, tmp_path / "whole")
    parted, many = ingested_here(pack, tmp_path / "parted", part_bytes=3000)
    assert (one["parts"], many["parts"] > 10) == (3, True)
    for name in ("determinants", "buffers", "sendings", "deltas", "epochs", "counts", "flows", "sources", "events"):
        assert rows_of(parted, name) == rows_of(whole, name), f"seed {seed}, {name}"
    for *key, rows in parted.rows("SELECT task, attempt, thread, epoch, determinants FROM epochs"):
        where = dict(zip(("task", "attempt", "thread", "epoch"), key, strict=True))
        assert sum(span.rows for span in parted.log_index.spans(*key)) == rows
        source = parted.log_source(*key)
        sql = f"SELECT count(*) FROM {source} WHERE task=$task AND attempt=$attempt AND thread=$thread AND epoch=$epoch"
        assert parted.rows(sql, where) == [(rows,)]
