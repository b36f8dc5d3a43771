"""Curves of two recordings in one picture: each from its first failure on, where both have one, at one scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from dashboard.measures import count, duration
from dashboard.models import Job
from dashboard.queries.curves import curves_of
from dashboard.queries.failures import job_failures
from dashboard.queries.graph import job_graph
from dashboard.queries.lake import lake
from ingest.lake.errors import NotPublished

WIDTH, HEIGHT = 1000.0, 160.0
MOMENTS_TOLD = 12
# So many times the usual distance of two points is no line, but a time of which nothing is told.
A_BREAK = 3
Points = list[tuple[int, float]]


def curves_beside(first: Job, second: Job) -> list[dict[str, Any]]:
    """A picture for each curve that both have: paths, bounds in words, and some of its values for a table."""
    sides = [_curves(job) for job in (first, second)]
    failed = [_first_failure_us(job) for job in (first, second)]
    aligned = None not in failed
    zeros = [at_us if aligned and at_us is not None else 0 for at_us in failed]
    names = [name for name in sides[0] if name in sides[1]]
    return [_picture(name, [side[name] for side in sides], zeros, aligned=aligned) for name in names]


def _curves(job: Job) -> dict[tuple[str, str], Points]:
    """By name and unit."""
    found = job_graph(job.id)
    duration_us = job.facts.get("duration_us") or 0
    if found is None or not duration_us:
        return {}
    try:
        curves = curves_of(lake(), job=job.id, manifest=found.manifest, of="", duration_us=duration_us)
    except NotPublished:
        return {}
    return {(one["name"], one["unit"]): [(point["tUs"], point["value"]) for point in one["points"]] for one in curves}


def _first_failure_us(job: Job) -> int | None:
    try:
        times = [one.failed_us for one in job_failures(lake(), job=job.id) if one.failed_us is not None]
    except NotPublished:
        return None
    return min(times, default=None)


def _picture(name: tuple[str, str], sides: Sequence[Points], zeros: Sequence[int], *, aligned: bool) -> dict[str, Any]:
    title, unit = name
    moved = [[(t_us - zero, value) for t_us, value in points] for points, zero in zip(sides, zeros, strict=True)]
    begin = min(points[0][0] for points in moved)
    end = max(points[-1][0] for points in moved)
    high = max(value for points in moved for _, value in points) or 1.0
    return {
        "name": title,
        "aligned": aligned,
        "paths": [path(points, begin, end, high) for points in moved],
        "zero": f"{WIDTH * -begin / max(1, end - begin):.1f}" if aligned and begin <= 0 <= end else "",
        "high": _said(high, unit),
        "begin": _when(begin),
        "end": _when(end),
        "rows": _rows(moved, begin, end, unit),
    }


def path(points: Points, begin: int, end: int, high: float) -> str:
    """The points as a line in a picture of `WIDTH` by `HEIGHT`, its foot at zero, broken where points are missing."""
    steps = [after - before for (before, _), (after, _) in pairwise(points)]
    usual = median(steps) if steps else 0
    drawn = []
    for (t_us, value), step in zip(points, [None, *steps], strict=True):
        x, y = WIDTH * (t_us - begin) / max(1, end - begin), HEIGHT * (1 - max(0.0, value) / high)
        drawn.append(f"{'M' if step is None or step > A_BREAK * usual else 'L'}{x:.1f} {y:.1f}")
    return "".join(drawn)


def _rows(sides: Sequence[Points], begin: int, end: int, unit: str) -> list[tuple[str, list[str]]]:
    """At moments evenly over the picture, the last value of each side that is not older than two of its own steps."""
    step = max(1, (end - begin) // (MOMENTS_TOLD - 1))
    return [
        (_when(at), [_value_at(points, at, step, unit) for points in sides])
        for at in (begin + n * step for n in range(MOMENTS_TOLD))
    ]


def _value_at(points: Points, at: int, within: int, unit: str) -> str:
    before = [(t_us, value) for t_us, value in points if at - within <= t_us <= at]
    return _said(before[-1][1], unit) if before else "–"


def _said(value: float, unit: str) -> str:
    return duration(value) if unit == "us" else f"{count(value)} {unit}"


def _when(t_us: int) -> str:
    return f"{'−' if t_us < 0 else ''}{abs(t_us) / 1e6:,.1f} s"
