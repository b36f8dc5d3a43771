"""How far an ingest is, in words: rows, rate, and how long it will go on."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from ingest.jobs.telling import Told

RATE_OVER_S = 10.0
"""The rate is that of the last seconds."""
MIB = 1 << 20


class DecodingProgress:
    """Bytes that were told stay told: a task that Spark does again begins its count again."""

    def __init__(self, total_bytes: int, parts: int, told: Told) -> None:
        self._total, self._parts, self._told = total_bytes, parts, told
        self._most = self._most_rows = 0
        self._rate = _Rate()

    def told(self, finished: int) -> dict[str, Any]:
        size, rows = self._told.look()
        self._most, self._most_rows = max(self._most, min(size, self._total)), max(self._most_rows, rows)
        words = [f"{finished} of {self._parts} parts are written" if finished else "Reading logs and channels"]
        words += [f"{self._most_rows:,} rows"] if self._most_rows else []
        per_s = self._rate.of(self._most)
        words += [f"{per_s / MIB:.1f} MiB/s", _left((self._total - self._most) / per_s)] if per_s else []
        return {
            "phase": "decoding",
            "done": self._most,
            "total": self._total,
            "unit": "bytes",
            "message": ", ".join(words),
        }


class FinishingProgress:
    """One thing after the other, each with rows of its own."""

    def __init__(self) -> None:
        self._what, self._rate = "", _Rate()

    def told(self, what: str, done: int, total: int) -> dict[str, Any]:
        if what != self._what:
            self._what, self._rate = what, _Rate()
        per_s = self._rate.of(done)
        words = [what, *([f"{per_s:,.0f} rows/s", _left((total - done) / per_s)] if per_s else [])]
        return {"phase": "finishing", "done": done, "total": total, "unit": "rows", "message": ", ".join(words)}


class _Rate:
    """How much a second, as far as the last seconds tell."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])

    def of(self, done: int) -> float:
        """0 while it is too early to say."""
        now_s = time.monotonic()
        self._seen.append((now_s, done))
        while now_s - self._seen[1][0] > RATE_OVER_S:
            self._seen.popleft()
        began_s, before = self._seen[0]
        return (done - before) / (now_s - began_s) if now_s - began_s >= 1 else 0.0


def _left(seconds: float) -> str:
    return f"about {seconds:.0f} s left" if seconds < 100 else f"about {seconds / 60:.0f} min left"
