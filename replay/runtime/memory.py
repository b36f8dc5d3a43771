"""How much memory a task has for its logs, and when it writes to its disk what does not fit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Memory:
    """Per attempt of a task. A bound that is None is none; Clonos' own choices are 16 MiB, 250, 50 ms, 0.4 and 10."""

    determinant_pool_bytes: int | None = 16 << 20
    determinant_segment_bytes: int = 4096
