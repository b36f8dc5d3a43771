"""How much memory a task has for its logs, and when it writes to its disk what does not fit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Memory:
    """Per attempt of a task. Clonos' own choices are 16 MiB, 250 buffers, 50 ms, 0.4 and 10 buffers.

    `determinant_pool_bytes` None has no bound. `in_flight_buffers` None has none either where nothing is ever spilled,
    and is Clonos' choice where something is.
    """

    determinant_pool_bytes: int | None = 16 << 20
    determinant_segment_bytes: int = 4096
    in_flight_buffers: int | None = None
    spill_interval_us: int = 50_000
    spill_threshold: float = 0.4
    prefetch_buffers: int = 10

    def in_flight_pool(self, *, spills: bool) -> int | None:
        """How many buffers the in-flight log may keep in memory."""
        return 250 if spills and self.in_flight_buffers is None else self.in_flight_buffers
