"""Means over seeds, each with the interval that holds the true one 19 times of 20."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Any

# Student's t at 97.5 %, by degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120)
_T_MORE = 2.1


def mean_of(values: Iterable[float | None], digits: int = 2) -> dict[str, Any]:
    """`missing`: how many runs had no value, as one that never caught up; the mean is over the others."""
    all_of = list(values)
    there = [one for one in all_of if one is not None]
    found: dict[str, Any] = {"mean": None, "plus_minus": None, "runs": len(all_of), "missing": len(all_of) - len(there)}
    if there:
        found["mean"] = round(statistics.fmean(there), digits)
    if len(there) > 1:
        t = _T[len(there) - 2] if len(there) - 2 < len(_T) else _T_MORE
        found["plus_minus"] = round(t * statistics.stdev(there) / math.sqrt(len(there)), digits)
    return found


def seconds(value_us: float | None) -> float | None:
    """Of microseconds."""
    return None if value_us is None else value_us / 1e6
