"""Real time, real randomness and the environment: the only module of `replay` that touches them. For entry points."""

from __future__ import annotations

import gc
import time
from datetime import UTC, datetime


def recorded_at() -> str:
    """Now, as a manifest writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def elapsed_s() -> float:
    """Seconds since some moment of this process; only differences mean something."""
    return time.monotonic()


def collect_garbage_rarely() -> None:
    """For a process that does nothing but run a job: records live for one batch, and what stays has no circles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
