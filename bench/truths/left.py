"""What an attempt left behind, read from its members alone: what arguments that a fault left no trace are made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from replay.bundle.frames import BufferFrame, ReceiptFrame, SendingFrame, read_buffers, read_receipts, read_sendings
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.log.deltas import decode_extents
from replay.model import MAIN
from tests.replay.debugger.diverging.known import ARRIVALS

_LATER = 1 << 62
_STORED = "checkpoint-acknowledged"
_BOUNDS = ("attempt-started", "task-failed")


@dataclass(frozen=True)
class Left:
    """What an attempt left behind. One that `lingers` was only taken for failed, and ran on: nobody tells for how long,
    but where its host went. One `to_the_end` was ended by nothing but the recording."""

    bundle: Bundle
    members: dict[str, bytes]
    task: str
    attempt: int
    ended_us: int
    events: list[dict[str, Any]]
    lingers: bool = False
    to_the_end: bool = False

    @classmethod
    def of(cls, members: dict[str, bytes], task: str, attempt: int) -> Left:
        """By what events tell of its end."""
        events = [json.loads(line) for line in members["events.ndjson"].splitlines()]
        ends = [one for one in events if _ends(one, task, attempt)]
        if not ends:
            bundle = Bundle(MembersInMemory(members))
            return cls(bundle, members, task, attempt, _LATER, events, to_the_end=True)
        lingers, ended_us = ends[0].get("cause") == "suspected", ends[0]["t_us"]
        if lingers:
            host = ends[0].get("host")
            gone = (one["t_us"] for one in events if one.get("host") == host and _struck_its_host(one))
            ended_us = min((t_us for t_us in gone if t_us >= ended_us), default=_LATER)
        return cls(Bundle(MembersInMemory(members)), members, task, attempt, ended_us, events, lingers)

    # --- what there is ---

    def _named(self, suffix: str, folder: str = "") -> Iterator[bytes]:
        begin = f"tasks/{self.task}/{self.attempt}/{folder}"
        return (data for name, data in self.members.items() if name.startswith(begin) and name.endswith(suffix))

    @property
    def cut(self) -> list[BufferFrame]:
        """Of all outputs."""
        return [one for data in self._named(".buf") for _, one in read_buffers(data, epoch=0)]

    @property
    def sent(self) -> list[SendingFrame]:
        """Of all outputs, and to the world."""
        return [one for data in self._named(".dlt") for _, one in read_sendings(data)]

    def cut_at(self) -> list[int]:
        """When it cut anything."""
        return [one.t_us for one in self.cut]

    def sent_at(self) -> list[int]:
        """When it sent anything."""
        return [one.t_us for one in self.sent]

    @property
    def receipts(self) -> list[ReceiptFrame]:
        """Of all inputs."""
        return [one for data in self._named(".rcv") for _, one in read_receipts(data)]

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Those that it read or wrote."""
        return [json.loads(line) for data in self._named(".ndjson") for line in data.splitlines()]

    def told(self, *, past: int = -1) -> list[int]:
        """When events tell of what it did; not of its beginning and its end, of what came to it, and of snapshots of
        its state as it was before the epoch `past` was over: those are stored beside all else."""
        own = (one for one in self.events if one.get("at", one.get("task")) == self.task)
        mine = (one for one in own if one.get("attempt") == self.attempt)
        did = (one for one in mine if one["type"] not in (*_BOUNDS, *ARRIVALS))
        return [one["t_us"] for one in did if one["type"] != _STORED or one["checkpoint"] > past]

    def did(self) -> list[int]:
        """When it did anything that the recording tells of."""
        times = self.cut_at() + self.sent_at() + self.told()
        return times + [one.taken_us for one in self.receipts if one.taken] + [one["t_us"] for one in self.lines]

    def log_bytes(self, epoch: int) -> int:
        """Of its main log."""
        return len(self.members.get(f"tasks/{self.task}/{self.attempt}/{MAIN}/{epoch}.det", b""))

    def known_upto(self, *, takes: bool = True, by_us: int = 1 << 62) -> tuple[int, int]:
        """The furthest place in its main log that a buffer, a take or anybody else knew of by then."""
        places = [(0, 0), *((one.main_epoch, one.main_offset) for one in self.cut if one.t_us <= by_us)]
        places += [(one.epoch, one.offset) for one in self.receipts if takes and one.taken and one.taken_us <= by_us]
        layout = self.bundle.manifest.protocol.delta_layout
        folders = [f"tasks/{self.task}/{self.attempt}/sent-", f"tasks/{self.task}/{self.attempt}/world/"]
        deltas = (
            one.delta
            for name, data in self.members.items()
            if name.endswith(".dlt") and name.startswith(tuple(folders))
            for _, one in read_sendings(data)
            if one.delta and one.t_us <= by_us
        )
        for delta in deltas:
            for one in decode_extents(delta, self.bundle.ids, layout):
                if (one.log.task, one.log.thread) == (self.task, MAIN):
                    places.append((one.epoch, one.offset + one.length))
        return max(places)


def _ends(event: dict[str, Any], task: str, attempt: int) -> bool:
    """It failed, or was given up for the next one."""
    after = attempt + 1 if event["type"] == "attempt-started" else attempt
    return event["type"] in _BOUNDS and (event.get("task"), event.get("attempt")) == (task, after)


def _struck_its_host(event: dict[str, Any]) -> bool:
    return event["type"] == "task-failed" and str(event.get("cause")).startswith("host")
