"""Operators with a fault, each as somebody might write it; and jobs recorded and replayed with them."""

from __future__ import annotations

import hashlib
import os
import random
import time
from pathlib import Path
from typing import Any

from replay.jobs import registry
from replay.jobs.graphs import operator_name
from replay.jobs.options import RecordOptions
from replay.jobs.pass_through import PassThrough
from replay.jobs.record import run_of
from replay.model import Record
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine
from replay.runtime.operators import Context
from replay.runtime.recorder import MemoryMembers as EngineMembers
from tests.replay.debugger.worlds import MemoryMembers

NAME = operator_name(PassThrough)


class Sound(PassThrough):
    """Does nothing that its record does not lead to."""

    def on_record(self, record: Record, context: Context) -> None:
        context.emit(Record(record.key, record.timestamp, self.value(record)))

    def value(self, record: Record) -> Any:
        return [record.key, "sound"]


class TellsTime(Sound):
    def value(self, record: Record) -> Any:
        return time.time_ns()


class TossesCoins(Sound):
    def value(self, record: Record) -> Any:
        return random.randrange(10**8, 10**9)  # as wide each time, so that the live recovery can be gone through


class ReadsEnvironment(Sound):
    def value(self, record: Record) -> Any:
        return os.environ.get("CLONOSCOPE_TEST_PLANTED", "")


class ReadsFile(Sound):
    path = Path("/nowhere")

    def value(self, record: Record) -> Any:
        return self.path.read_text("utf-8")


class UsesIdentity(Sound):
    kept: list[Any] = []

    def value(self, record: Record) -> Any:
        self.kept.append(object())  # so that no address is used twice
        return id(self.kept[-1])


class IteratesSet(Sound):
    def value(self, record: Record) -> Any:
        return list({f"{record.key}-{n}" for n in range(8)})


class Changed(Sound):
    def value(self, record: Record) -> Any:
        return [record.key, "changed"]


class Counts(Sound):
    """Keeps a count by key. What it does at the third record of one key is what differs between the two versions."""

    third = "counted"

    def open(self, context: Context) -> None:
        super().open(context)
        self.counts: dict[str, int] = {}

    def value(self, record: Record) -> Any:
        key = str(record.key)
        self.counts[key] = self.counts.get(key, 0) + 1
        return [record.key, self.third if self.counts[key] == 3 else "counted"]

    def snapshot(self) -> dict[str, Any]:
        return {"counts": [[key, count] for key, count in sorted(self.counts.items())]}

    def restore(self, state: Any) -> None:
        self.counts = dict(state["counts"])


class CountsOtherwise(Counts):
    third = "changed"


class Forgets(Sound):
    """Counts records, and its snapshots don't say how many."""

    def open(self, context: Context) -> None:
        super().open(context)
        self.seen = 0

    def value(self, record: Record) -> Any:
        self.seen += 1
        return [record.key, self.seen % 1000 + 1000]


class DigestsASet(Sound):
    """Of the order of a set only a digest is given away."""

    def value(self, record: Record) -> Any:
        text = "".join({f"{record.key}-{n}" for n in range(8)})
        return hashlib.sha256(text.encode()).hexdigest()


class AsksTheClock(Sound):
    """Asks the clock at every seventh record."""

    every = 7

    def open(self, context: Context) -> None:
        super().open(context)
        self.seen = 0

    def on_record(self, record: Record, context: Context) -> None:
        self.seen += 1
        at_ms = context.clock.now_ms() if self.seen % self.every == 0 else 0
        context.emit(Record(record.key, record.timestamp, [record.key, at_ms]))

    def snapshot(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def restore(self, state: Any) -> None:
        self.seen = state["seen"]


class AsksTheClockLess(AsksTheClock):
    every = 14


class Fails(Sound):
    def value(self, record: Record) -> Any:
        raise ValueError("an operator's own fault")


def recorded_with(operator: type[PassThrough], monkeypatch: Any, **options: Any) -> MemoryMembers:
    """A small job with one failure, whose maps are that operator."""
    monkeypatch.setitem(registry.OPERATORS, NAME, operator)
    small = {"events": 400, "rate_per_s": 4000.0, "depth": 4, "checkpoint_interval_ms": 60, "buffer_bytes": 512}
    run = run_of(RecordOptions(**{"seed": 7, "kills": ("map-1.0@95",), **small, **options}), PROTOCOLS)
    members = EngineMembers()
    Engine(run, members).run()
    files = {name: bytes(data) for name, data in members.members.items()}
    return MemoryMembers({**files, "job.json": run.manifest.to_bytes()})
