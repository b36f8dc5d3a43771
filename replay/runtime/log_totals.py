"""What the logs of a run cost, counted over all attempts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from replay.log.causal_log import CausalLog
from replay.log.determinants import KIND_OF_TAG


@dataclass(slots=True)
class LogTotals:
    """Determinants by kind, bytes to and from disk, time without a free buffer, and how full the pools ever were."""

    determinants: dict[str, int] = field(default_factory=dict)
    determinant_bytes: dict[str, int] = field(default_factory=dict)
    determinant_pool_bytes: int = 0
    in_flight_buffers: int = 0
    prefetch_buffers: int = 0
    spilled_buffers: int = 0
    spilled_bytes: int = 0
    reloaded_buffers: int = 0
    reloaded_bytes: int = 0
    stalls: int = 0
    stalled_us: int = 0

    def attempt_over(self, causal: CausalLog) -> None:
        """Adds what an attempt logged."""
        _add(self.determinants, causal.appended)
        _add(self.determinant_bytes, causal.appended_bytes)
        if causal.pool is not None:
            used = causal.pool.high_water * causal.pool.segment_bytes
            self.determinant_pool_bytes = max(self.determinant_pool_bytes, used)


def _add(by_kind: dict[str, int], by_tag: Iterable[int]) -> None:
    for tag, count in enumerate(by_tag):
        if count:
            kind = KIND_OF_TAG[tag]
            by_kind[kind] = by_kind.get(kind, 0) + count
