"""Holders and frontiers straight from the members' bytes, with no code of `replay.causality`: slow and obvious."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from tests.oracle.delta_layouts import delta_messages

BUFFER, SENDING, RECEIPT = struct.Struct(">qqBqii"), struct.Struct(">qqIIBi"), struct.Struct(">qIIqqqii")


class Raw:
    """A bundle's members as a dict of bytes."""

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self.members = members
        self.manifest = json.loads(members["job.json"])
        self.tasks = {task["id"]: task for task in self.manifest["tasks"]}
        self.by_number = {task["number"]: task["id"] for task in self.manifest["tasks"]}
        self.outputs = {
            (task["number"], *output["partition"], output["sub"]): f"out-{k}"
            for task in self.manifest["tasks"]
            for k, output in enumerate(task["outputs"])
        }
        self.ends = {
            output["channel"]: (task["id"], k)
            for task in self.manifest["tasks"]
            for k, output in enumerate(task["outputs"])
        }

    def files(self, task: str, attempt: int, folder: str, suffix: str) -> list[tuple[int, bytes]]:
        prefix = f"tasks/{task}/{attempt}/{folder}/"
        found = [
            (int(n[len(prefix) :].split(".")[0]), d)
            for n, d in self.members.items()
            if n.startswith(prefix) and n.endswith(suffix)
        ]
        return sorted(found)

    def attempts(self, task: str) -> list[int]:
        return sorted({int(name.split("/")[2]) for name in self.members if name.startswith(f"tasks/{task}/")})

    def framed(self, form: struct.Struct, data: bytes) -> Iterator[tuple[tuple[int, ...], bytes]]:
        at = 0
        while at < len(data):
            head = form.unpack_from(data, at)
            at += form.size
            yield head, data[at : at + head[-1]]
            at += head[-1]

    def sendings(self, channel: str) -> dict[tuple[int, int, int], tuple[int, bytes]]:
        task, k = self.ends[channel]
        return {
            (attempt, head[0], head[3]): (head[1], delta)
            for attempt in self.attempts(task)
            for _, data in self.files(task, attempt, f"sent-{k}", ".dlt")
            for head, delta in self.framed(SENDING, data)
        }

    def receipts(self, task: str, attempt: int, i: int) -> list[tuple[int, ...]]:
        return [
            RECEIPT.unpack_from(data, at)
            for _, data in self.files(task, attempt, f"received-{i}", ".rcv")
            for at in range(0, len(data), RECEIPT.size)
        ]

    def entries(self, delta: bytes) -> Iterator[tuple[str, str, int, int, bytes]]:
        """(task, thread, epoch, offset, bytes) of every message of a sending."""
        layout = self.manifest["protocol"].get("delta_layout", "flat")
        for epoch, found in delta_messages(delta, layout):
            for number, output, offset, data in found:
                thread = "main" if output is None else self.outputs[(number, *output)]
                yield self.by_number[number], thread, epoch, offset, data

    # --- who held what ---

    def held(self, holder: str, attempt: int, until_us: int) -> dict[tuple[str, str, int], bytes]:
        """Every received delta until then, laid over one another byte by byte."""
        known: dict[tuple[str, str, int], dict[int, int]] = {}
        for i, channel in enumerate(self.tasks[holder]["inputs"]):
            sendings = self.sendings(channel)
            for receipt in self.receipts(holder, attempt, i):
                seq, sender_attempt, sending, received_us = receipt[:4]
                if received_us > until_us or (sender_attempt, seq, sending) not in sendings:
                    continue
                for task, thread, epoch, offset, data in self.entries(sendings[sender_attempt, seq, sending][1]):
                    known.setdefault((task, thread, epoch), {}).update(enumerate(data, offset))
        return {
            log: bytes(positions[n] for n in range(len(positions))) for log, positions in known.items() if positions
        }

    # --- who depended on what ---

    def cuts(self, channel: str) -> dict[tuple[int, int], tuple[int, int, int, int, int]]:
        """(attempt, seq) -> (cut_us, main epoch, main offset, epoch, end of its determinant in the output's log)."""
        task, k = self.ends[channel]
        found = {}
        for attempt in self.attempts(task):
            for epoch, data in self.files(task, attempt, f"sent-{k}", ".buf"):
                for n, (head, _) in enumerate(self.framed(BUFFER, data)):
                    found[attempt, head[0]] = (head[1], head[3], head[4], epoch, 5 * (n + 1))
        return found

    def depends(self, task: str, attempt: int, until_us: int) -> dict[tuple[str, str, int], int]:
        """By recursion over every buffer taken until then."""
        found: dict[tuple[str, str, int], int] = {}

        def add(place: tuple[str, str, int], upto: int) -> None:
            if upto > found.get(place, 0):
                found[place] = upto

        last: dict[tuple[str, int], int] = {}
        for i, channel in enumerate(self.tasks[task]["inputs"]):
            sender, k = self.ends[channel]
            cuts = self.cuts(channel)
            for receipt in self.receipts(task, attempt, i):
                seq, sender_attempt, taken_us = receipt[0], receipt[1], receipt[4]
                if taken_us < 0 or taken_us > until_us or (sender_attempt, seq) not in cuts:
                    continue
                cut_us, main_epoch, main_offset, epoch, built = cuts[sender_attempt, seq]
                add((sender, "main", main_epoch), main_offset)
                add((sender, f"out-{k}", epoch), built)
                last[sender, sender_attempt] = max(cut_us, last.get((sender, sender_attempt), 0))
        for (sender, sender_attempt), cut_us in last.items():
            for place, upto in self.depends(sender, sender_attempt, cut_us).items():
                add(place, upto)
        return found


def as_raw(members: Any) -> Raw:
    return Raw(members.members)
