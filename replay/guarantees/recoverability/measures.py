"""What is read off the answers: the smallest set by stretches of time, and how long so many failures were too many."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from replay.guarantees.recoverability.port import Worst


def heat(worst: Worst, ends: Sequence[int]) -> list[int | None]:
    """Of every stretch of time the smallest set at any moment of it; None where nobody can be orphaned."""
    found: list[int | None] = [None] * len(ends)
    for n, (since_us, size) in enumerate(worst.steps):
        if size is None:
            continue
        until_us = worst.steps[n + 1][0] if n + 1 < len(worst.steps) else ends[-1] + 1
        first = min(bisect_left(ends, since_us), len(ends) - 1)
        last = min(bisect_left(ends, max(until_us - 1, since_us)), len(ends) - 1)
        for bucket in range(first, last + 1):
            known = found[bucket]
            found[bucket] = size if known is None else min(known, size)
    return found


def times_by_size(worst: Worst, end_us: int) -> dict[int, tuple[int, int]]:
    """By size: for how long the smallest set was that small, and when first."""
    found: dict[int, tuple[int, int]] = {}
    for n, (since_us, size) in enumerate(worst.steps):
        if size is not None:
            until_us = worst.steps[n + 1][0] if n + 1 < len(worst.steps) else end_us
            for_us, first_us = found.get(size, (0, since_us))
            found[size] = (for_us + max(0, until_us - since_us), first_us)
    return found


def by_failures(worst: Worst, end_us: int) -> list[dict[str, Any]]:
    """Property 2.5 for every f from 0 to that from which on nothing changes: at how many moments it did not hold."""
    sizes = times_by_size(worst, end_us)
    found = []
    for f in range(max(sizes, default=-1) + 1):
        those = [when for size, when in sizes.items() if size <= f]
        broken_us = sum(for_us for for_us, _ in those)
        first_us = min((first for _, first in those), default=None)
        found.append({"f": f, "holds": not those, "broken_us": broken_us, "first_us": first_us})
    return found
