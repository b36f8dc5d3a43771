"""Recordings with few failures, in memory, as `record` makes them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine
from replay.runtime.recorder import MemoryMembers as EngineMembers
from tests.replay.debugger.worlds import MemoryMembers


def one_failure(*, task: str = "map-1.0", at_ms: int = 115, **options: Any) -> MemoryMembers:
    """A small pass-through job in which a task fails once."""
    return failing(f"{task}@{at_ms}", **options)


@lru_cache(maxsize=8)
def failing(*kills: str, **options: Any) -> MemoryMembers:
    """A small pass-through job with these failures."""
    small = {"events": 400, "rate_per_s": 4000.0, "depth": 4, "checkpoint_interval_ms": 60, "buffer_bytes": 512}
    chosen = {"seed": 7, **small, **options}
    run = run_of(RecordOptions(kills=kills, **chosen), PROTOCOLS)
    members = EngineMembers()
    Engine(run, members).run()
    files = {name: bytes(data) for name, data in members.members.items()}
    return MemoryMembers({**files, "job.json": run.manifest.to_bytes()})
