"""When buffers of the in-flight log are written to disk, and which: Clonos' three policies, and a fourth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpillPolicy:
    """What is asked with every buffer, and once in a while.

    `at_once(resident, size)`: whether the newest of so many buffers, in a pool of that size, is to be written now.
    `checked`: whether the pool is looked at in intervals, to write everything once too few buffers are free.
    """

    name: str
    spills: bool
    checked: bool
    at_once: Callable[[int, int, float], bool]


def _never(resident: int, size: int, threshold: float) -> bool:
    return False


def _always(resident: int, size: int, threshold: float) -> bool:
    return True


def _past_threshold(resident: int, size: int, threshold: float) -> bool:
    # At least one buffer must come free again, whatever the threshold.
    return resident > min(size - 1, int(size * (1 - threshold)))


SPILL_POLICIES: dict[str, SpillPolicy] = {
    one.name: one
    for one in (
        SpillPolicy("memory", spills=False, checked=False, at_once=_never),
        SpillPolicy("eager", spills=True, checked=False, at_once=_always),
        SpillPolicy("availability", spills=True, checked=True, at_once=_never),
        # Replays begin with the oldest: those stay, and what comes when only the threshold's share is free is written.
        SpillPolicy("oldest", spills=True, checked=False, at_once=_past_threshold),
    )
}
