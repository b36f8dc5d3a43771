"""Makes random recordings member by member, and notes which rows the lake must hold: the oracle of the tests.

Nothing here reads a bundle: rows are noted as the bytes are made.
"""

import itertools
import json
import random
import struct
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.bundle.writer import BundleWriter
from replay.model import Manifest

Rows = dict[str, list[dict[str, Any]]]
REF_FIELDS = ("topic", "partition", "ref_offset", "sha256")


def manifest_of(parallelism: int = 2, depth: int = 1, **protocol: Any) -> dict[str, Any]:
    """source → map-1 … → sink, hash between all."""
    names = ["source", *(f"map-{n + 1}" for n in range(depth)), "sink"]
    kinds = ["source", *["operator"] * depth, "sink"]
    tasks, number = [], 0
    for level, name in enumerate(names):
        for i in range(parallelism):
            inputs = [f"{names[level - 1]}.{j}>{name}.{i}" for j in range(parallelism)] if level else []
            outputs = (
                [
                    {"channel": f"{name}.{i}>{names[level + 1]}.{j}", "partition": [0, 0], "sub": j}
                    for j in range(parallelism)
                ]
                if level + 1 < len(names)
                else []
            )
            tasks.append(
                {"id": f"{name}.{i}", "vertex": name, "subtask": i, "number": number, "inputs": inputs}
                | {"outputs": outputs}
            )
            number += 1
    return {
        "format": "causal-log-bundle",
        "version": 1,
        "job": {"name": "made", "recorder": "tests", "recorded_at": "2026-11-18T06:45:00Z", "seed": 1, "command": ""},
        "clock": {"origin_ms": 1600000000000, "kind": "virtual"},
        "determinants": "extended",
        "protocol": {"name": "clonos", "sharing_depth": "full", "delta_layout": "flat"} | protocol,
        "vertices": [
            {"id": name, "kind": kind, "operator": "", "options": {}, "parallelism": parallelism, "services": {}}
            for name, kind in zip(names, kinds, strict=True)
        ],
        "edges": [{"from": a, "to": b, "ship": "hash"} for a, b in itertools.pairwise(names)],
        "tasks": tasks,
        "redactions": [],
        "complete": True,
    }


@dataclass
class Made:
    """Members of a bundle, and the rows that must come of them."""

    manifest: dict[str, Any]
    members: dict[str, bytes] = field(default_factory=dict)
    rows: Rows = field(default_factory=lambda: defaultdict(list))

    def pack(self, folder: Path, name: str = "made") -> Path:
        """Through a real bundle in a real container into the store's form."""
        return packed(self.manifest, self.members, folder, name)


def packed(manifest: dict[str, Any], members: dict[str, bytes], folder: Path, name: str = "made") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    writer = BundleWriter(folder / f"{name}.tar")
    for path, data in members.items():
        writer.append(path, data)
    writer.close(Manifest.from_json(json.dumps(manifest).encode()))
    container = open_container(folder / f"{name}.tar")
    try:
        write_pack(container, folder / f"{name}.pack")
    finally:
        container.close()
    return folder / f"{name}.pack"


def random_recording(
    seed: int, *, parallelism: int = 2, epochs: int = 3, buffers: int = 6, layout: str = "flat"
) -> Made:
    return _Maker(random.Random(seed), parallelism, epochs, buffers, layout).make()


_ASYNC = ("timer-trigger", "source-checkpoint", "ignore-checkpoint")
_CALLBACKS = ("watermark", "timestamp-extractor", "periodic-watermark-extractor", "punctuated-watermark-extractor")


def random_determinant(rng: random.Random) -> tuple[bytes, dict[str, Any]]:
    """Of any kind but a Java stream: its bytes, and what its row must hold."""
    long, short, count = rng.randrange(-(2**63), 2**63), rng.randrange(-(2**31), 2**31), rng.randrange(2**31)
    match rng.randrange(9):
        case 0:
            return struct.pack(">BB", 0, count % 256), {"kind": "order", "channel": count % 256}
        case 1:
            return struct.pack(">Bq", 1, long), {"kind": "timestamp", "value": long}
        case 2:
            return struct.pack(">Bi", 2, short), {"kind": "rng", "value": short}
        case 3:
            content = rng.randbytes(rng.randrange(20))
            payload = b"CL\x00" + struct.pack(">i", len(content)) + content
            return b"\x03" + payload, {"kind": "serializable", "payload": payload}
        case 4:
            row = {"kind": "timer-trigger", "record_count": count, "timestamp": long}
            if rng.random() < 0.5:
                name = rng.choice(("x", "fenêtre", ""))
                tail = struct.pack(">Bi", 6, len(name.encode())) + name.encode()
                return struct.pack(">Biq", 4, count, long) + tail, row | {"callback": f"internal:{name}"}
            number = rng.randrange(4)
            return struct.pack(">BiqB", 4, count, long, number), row | {"callback": _CALLBACKS[number]}
        case 5:
            savepoint, reference = rng.randrange(2), rng.choice((None, b"", rng.randbytes(9)))
            tail = b"\x00" if reference is None else b"\x01" + struct.pack(">i", len(reference)) + reference
            row = {"kind": "source-checkpoint", "record_count": count, "checkpoint": 7, "timestamp": long}
            row |= {"checkpoint_type": ("checkpoint", "savepoint")[savepoint], "storage_ref": reference}
            return struct.pack(">BiqqB", 5, count, 7, long, savepoint) + tail, row
        case 6:
            row = {"kind": "ignore-checkpoint", "record_count": count, "checkpoint": long}
            return struct.pack(">Biq", 6, count, long), row
        case 7:
            return struct.pack(">Bi", 7, count), {"kind": "buffer-built", "buffer_bytes": count}
        case _:
            row = {"kind": "take", "channel": count, "first_offset": long, "records": count}
            return struct.pack(">BIqI", 16, count, long, count), row


class _Maker:
    def __init__(self, rng: random.Random, parallelism: int, epochs: int, buffers: int, layout: str) -> None:
        self.rng = rng
        self.epochs = epochs
        self.buffers = buffers
        self.layout = layout
        self.made = Made(manifest_of(parallelism, delta_layout=layout))
        self.tasks = {task["id"]: task for task in self.made.manifest["tasks"]}
        self.clock_us = 1000

    def make(self) -> Made:
        attempts = {task: self.rng.choice((1, 1, 2)) for task in self.tasks}
        for task, count in attempts.items():
            for attempt in range(count):
                self._main_log(task, attempt)
        for task in self.tasks.values():
            for k, output in enumerate(task["outputs"]):
                target = output["channel"].partition(">")[2]
                for attempt in range(attempts[task["id"]]):
                    self._channel(task["id"], attempt, k, output["channel"], target, attempts[target])
        self._outside(attempts)
        self._events(attempts)
        return self.made

    def _tick(self) -> int:
        self.clock_us += self.rng.randrange(1, 500)
        return self.clock_us

    # --- determinants ---

    def _main_log(self, task: str, attempt: int) -> None:
        for epoch in range(self.epochs):
            data = bytearray()
            for seq in range(self.rng.randrange(0, 40)):
                encoded, row = random_determinant(self.rng)
                self._note_determinant(task, attempt, "main", epoch, seq, len(data), encoded, row)
                data += encoded
            self.made.members[f"tasks/{task}/{attempt}/main/{epoch}.det"] = bytes(data)

    def _note_determinant(self, task, attempt, thread, epoch, seq, offset, encoded, row) -> None:
        place = {"task": task, "attempt": attempt, "thread": thread, "epoch": epoch}
        self.made.rows["determinants"].append(place | {"seq": seq, "offset": offset, "length": len(encoded)} | row)

    # --- a channel ---

    def _channel(self, task: str, attempt: int, k: int, channel: str, target: str, receivers: int) -> None:
        seq = 0
        held: dict[tuple[int, str, str, int], int] = defaultdict(int)
        for epoch in range(self.epochs):
            payloads = self._payloads(epoch)
            det, buf, dlt = bytearray(), bytearray(), bytearray()
            receipts: dict[int, list[bytes]] = defaultdict(list)
            for n, (payload, is_event, records) in enumerate(payloads):
                encoded = struct.pack(">Bi", 7, len(payload))
                row = {"kind": "buffer-built", "buffer_bytes": len(payload)}
                self._note_determinant(task, attempt, f"out-{k}", epoch, n, len(det), encoded, row)
                det += encoded
                buf += self._buffer(channel, attempt, seq, epoch, payload, is_event, records)
                for sending in range(self.rng.choice((1, 1, 1, 2))):
                    receiver = self.rng.randrange(receivers)
                    dlt += self._sending(channel, attempt, seq, sending, receiver, task, k, held)
                    receipt = self._receipt(seq, attempt, sending)
                    if receipt is not None:
                        receipts[receiver].append(receipt)
                seq += 1
            base = f"tasks/{task}/{attempt}"
            self.made.members[f"{base}/out-{k}/{epoch}.det"] = bytes(det)
            self.made.members[f"{base}/sent-{k}/{epoch}.buf"] = bytes(buf)
            self.made.members[f"{base}/sent-{k}/{epoch}.dlt"] = bytes(dlt)
            i = self.tasks[target]["inputs"].index(channel)
            for receiver, found in receipts.items():
                path = f"tasks/{target}/{receiver}/received-{i}/{epoch}.rcv"
                self.made.members[path] = self.made.members.get(path, b"") + b"".join(found)

    def _payloads(self, epoch: int) -> list[tuple[bytes, bool, int]]:
        """Records cut anywhere into buffers, an empty buffer now and then, a barrier at the end."""
        rng, found, ends, stream = self.rng, [], [], bytearray()
        for _ in range(rng.randrange(1, 3 * self.buffers)):
            body = json.dumps([f"k{rng.randrange(9)}", rng.randrange(10**6), "x" * rng.randrange(60)]).encode()
            stream += struct.pack(">i", len(body)) + body
            ends.append(len(stream))
        cuts = [*sorted(rng.randrange(len(stream) + 1) for _ in range(self.buffers)), len(stream)]
        begin = 0
        for cut in cuts:
            found.append((bytes(stream[begin:cut]), False, sum(begin < end <= cut for end in ends)))
            begin = cut
        return [*found, (json.dumps({"barrier": epoch + 1}).encode(), True, 0)]

    def _buffer(self, channel, attempt, seq, epoch, payload, is_event, records) -> bytes:
        flags = (1 if is_event else 0) | self.rng.choice((0, 0, 2))
        cut_us, main_offset = self._tick(), self.rng.randrange(100)
        row = {"channel": channel, "attempt": attempt, "seq": seq, "epoch": epoch, "cut_us": cut_us}
        row |= {"bytes": len(payload), "flags": flags, "main_epoch": epoch, "main_offset": main_offset}
        self.made.rows["buffers"].append(row | {"records": records})
        return struct.pack(">qqBqii", seq, cut_us, flags, epoch, main_offset, len(payload)) + payload

    def _sending(self, channel, attempt, seq, sending, receiver, task, k, held) -> bytes:
        sent_us, flags = self._tick(), self.rng.randrange(2)
        message = self._delta(channel, attempt, seq, sending, receiver, task, k, held)
        row = {"channel": channel, "attempt": attempt, "seq": seq, "sending": sending, "receiver_attempt": receiver}
        self.made.rows["sendings"].append(row | {"sent_us": sent_us, "flags": flags})
        return struct.pack(">qqIIBi", seq, sent_us, receiver, sending, flags, len(message)) + message

    def _delta(self, channel, attempt, seq, sending, receiver, task, k, held) -> bytes:
        """One message per epoch, of the task's main log and of the channel's own output log."""
        message = b""
        for epoch in sorted(self.rng.sample(range(self.epochs), self.rng.randrange(0, self.epochs))):
            entries = []
            for thread in self.rng.sample(("main", f"out-{k}"), self.rng.randrange(1, 3)):
                key = (receiver, task, thread, epoch)
                offset, data = (
                    held[key] - self.rng.randrange(held[key] + 1),
                    self.rng.randbytes(self.rng.randrange(1, 30)),
                )
                held[key] = max(held[key], offset + len(data))
                entries.append((thread, offset, data))
            entries.sort(key=lambda entry: entry[0] != "main")
            for thread, offset, data in entries:
                row = {"channel": channel, "attempt": attempt, "seq": seq, "sending": sending, "task": task}
                row |= {"thread": thread, "epoch": epoch, "offset": offset, "length": len(data)}
                self.made.rows["deltas"].append(row)
            message += self._message(task, epoch, entries)
        return message

    def _message(self, task: str, epoch: int, entries: list[tuple[str, int, bytes]]) -> bytes:
        number = self.tasks[task]["number"]
        flat, main, outs = b"", b"\x00", b""
        for thread, offset, data in entries:
            extent = struct.pack(">ii", offset, len(data))
            if thread == "main":
                flat += struct.pack(">HB", number, 1) + extent
                main = b"\x01" + extent
            else:
                sub = int(thread[4:])
                flat += struct.pack(">HBqqB", number, 0, 0, 0, sub) + extent
                outs = struct.pack(">qqBB", 0, 0, 1, sub) + extent
        grouping = struct.pack(">H", number) + main + (b"\x01" + outs if outs else b"\x00")
        heads = flat if self.layout == "flat" else grouping
        return struct.pack(">iq", 12 + len(heads), epoch) + heads + b"".join(data for _, _, data in entries)

    def _receipt(self, seq: int, attempt: int, sending: int) -> bytes | None:
        """Lost, received and never taken, or taken."""
        row = self.made.rows["sendings"][-1]
        fate = self.rng.random()
        if fate < 0.15:
            return None
        row["received_us"] = self._tick()
        taken = (-1, -1, -1, -1)
        if fate > 0.3:
            taken = (self._tick(), self.rng.randrange(3), self.rng.randrange(99), self.rng.randrange(99))
            row |= dict(zip(("taken_us", "taken_epoch", "taken_offset", "taken_count"), taken, strict=True))
        return struct.pack(">qIIqqqii", seq, attempt, sending, row["received_us"], *taken)

    # --- lines ---

    def _outside(self, attempts: dict[str, int]) -> None:
        for task in (t for t in self.tasks if t.startswith("source")):
            for attempt in range(attempts[task]):
                self._lines("sources", task, attempt, f"tasks/{task}/{attempt}/source/0.ndjson", self._source_line)
        for task in (t for t in self.tasks if t.startswith("sink")):
            for attempt in range(attempts[task]):
                self._lines("sinks", task, attempt, f"tasks/{task}/{attempt}/sink/0.ndjson", self._sink_line)
                site = {"site": 4, "file": "a.py", "line": 7, "function": "f", "text": "naïve()"}
                path = f"tasks/{task}/{attempt}/sites.ndjson"
                self.made.members[path] = (json.dumps(site) + "\n").encode()
                self.made.rows["sites"].append({"task": task, "attempt": attempt} | site)

    def _lines(self, table: str, task: str, attempt: int, path: str, make) -> None:
        lines = []
        for n in range(self.rng.randrange(1, 20)):
            line, row = make(n)
            lines.append(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            self.made.rows[table].append({"task": task, "attempt": attempt, "epoch": 0} | row)
        self.made.members[path] = b"".join(lines)

    def _source_line(self, n: int) -> tuple[dict[str, Any], dict[str, Any]]:
        t_us = self._tick()
        if self.rng.random() < 0.3:
            ref = {"topic": "bids", "partition": 3, "offset": n, "sha256": "ab" * 32}
            row = dict(zip(REF_FIELDS, ref.values(), strict=True))
            return {"offset": n, "t_us": t_us, "ref": ref}, {"offset": n, "t_us": t_us} | row
        line = {"offset": n, "t_us": t_us, "record": [n, t_us, {"ä": [1, 2]}]}
        return line, {"offset": n, "t_us": t_us, "key": str(n), "timestamp": t_us, "value": '{"ä":[1,2]}'}

    def _sink_line(self, n: int) -> tuple[dict[str, Any], dict[str, Any]]:
        t_us, txn = self._tick(), self.rng.choice((None, 4))
        line = {"n": n, "t_us": t_us, "record": ["k", 5, n], "source": [["source.0", n]]}
        row = {"n": n, "t_us": t_us, "key": '"k"', "timestamp": 5, "value": str(n), "source": f'[["source.0",{n}]]'}
        return (line, row) if txn is None else (line | {"txn": txn}, row | {"txn": txn})

    def _events(self, attempts: dict[str, int]) -> None:
        events: list[dict[str, Any]] = []

        def add(**event: Any) -> dict[str, Any]:
            events.append({"n": len(events), "t_us": self._tick()} | event)
            return events[-1]

        for task in attempts:
            add(type="attempt-started", task=task, attempt=0, host="h1", standby=False, checkpoint=0)
        triggered = add(type="checkpoint-triggered", checkpoint=1)
        for task in attempts:
            acked = add(type="checkpoint-acknowledged", at=task, task=task, checkpoint=1, bytes=77)
            row = {"checkpoint": 1, "task": task, "triggered_us": triggered["t_us"], "acknowledged_us": acked["t_us"]}
            self.made.rows["checkpoints"].append(row | {"bytes": 77})
        completed = add(type="checkpoint-completed", checkpoint=1, unheard_of=[1])
        for row in self.made.rows["checkpoints"]:
            row["completed_us"] = completed["t_us"]
        for number, task in enumerate(task for task, count in attempts.items() if count > 1):
            self._failure(number, task, add)
        metric = {"task": "map-1.0", "records_in": 5, "records_out": 4, "latency_p50_us": 1, "latency_p99_us": 2}
        noted = add(type="metric", **metric)
        self.made.rows["metrics"].append(metric | {"n": noted["n"], "t_us": noted["t_us"]})
        self.made.members["events.ndjson"] = b"".join(json.dumps(event).encode() + b"\n" for event in events)
        for event in events:
            row = {name: value for name, value in event.items() if name != "unheard_of"}
            self.made.rows["events"].append(row | ({"more": '{"unheard_of":[1]}'} if "unheard_of" in event else {}))

    def _failure(self, number: int, task: str, add) -> None:
        failed = add(
            type="task-failed", failure=number, task=task, attempt=0, host="h1", cause="killed", together=number
        )
        found = add(type="failure-detected", failure=number, by="connection")
        moved = add(type="standby-activated", failure=number, task=task, host="h2")
        begun = add(type="attempt-started", task=task, attempt=1, host="h2", standby=True, checkpoint=1, failure=number)
        done = add(type="recovery-state", at=task, attempt=1, task=task, **{"from": "Replaying", "to": "Running"})
        row = {"failure": number, "task": task, "attempt": 0, "host": "h1", "cause": "killed", "together": number}
        row |= {"failed_us": failed["t_us"], "detected_us": found["t_us"], "detected_by": "connection"}
        row |= {"action": "standby-activated", "action_us": moved["t_us"], "action_host": "h2", "next_attempt": 1}
        row |= {"started_us": begun["t_us"], "checkpoint": 1, "running_us": done["t_us"]}
        self.made.rows["failures"].append(row)
