"""Merges the runs of a place in time, compiled: a heap of runs by when and what their next step is."""

from __future__ import annotations

from typing import Any

from ingest.lake.recoverability.compiled import compiled

FOREVER = 1 << 62
HELD, DEPENDED, OUTSIDE, OWN = 0, 1, 2, 3
"""Kinds of runs: what is held, what is depended on, that from when the outside does, steps of the log's own task."""

HOLDS, DEPENDS, ENDS, ANSWERED, GOES_ON, NEVER = 0, 1, 2, 3, 4, 9
"""Kinds of steps, in the order in which those of one microsecond are applied."""


@compiled
def before(one: int, other: int, t_us: Any, kind: Any) -> bool:
    """Whether a run's next step comes before another one's."""
    return bool(t_us[one] < t_us[other] or (t_us[one] == t_us[other] and kind[one] < kind[other]))


@compiled
def sink(heap: Any, count: int, at: int, t_us: Any, kind: Any) -> None:
    """Restores the heap below a place in it."""
    while True:
        least, left = at, 2 * at + 1
        if left < count and before(heap[left], heap[least], t_us, kind):
            least = left
        if left + 1 < count and before(heap[left + 1], heap[least], t_us, kind):
            least = left + 1
        if least == at:
            return
        heap[at], heap[least] = heap[least], heap[at]
        at = least


@compiled
def next_step(run: int, runs: Any, times: Any, own: Any, ends_us: Any, merging: Any) -> None:
    """When and what the next step of a run is; behind its rows its execution ends."""
    what, who, _, last = runs
    _, position, t_us, kind = merging
    at = position[run]
    t_us[run], kind[run] = FOREVER, NEVER
    if what[run] == OWN:
        if at < last[run]:
            t_us[run], kind[run] = own[0][at], own[1][at]
    elif at < last[run]:
        t_us[run] = times[what[run]][at]
        kind[run] = HOLDS if what[run] == HELD else DEPENDS
    elif at == last[run] and what[run] != OUTSIDE:
        t_us[run], kind[run] = ends_us[who[run]], ENDS


@compiled
def gather(first: int, last: int, runs: Any, times: Any, own: Any, ends_us: Any, merging: Any) -> int:
    """Makes a heap of those runs; returns how many have a step."""
    heap, _, t_us, kind = merging
    count = 0
    for run in range(first, last):
        next_step(run, runs, times, own, ends_us, merging)
        if t_us[run] < FOREVER:
            heap[count] = run
            count += 1
    for at in range(count // 2 - 1, -1, -1):
        sink(heap, count, at, t_us, kind)
    return count


@compiled
def advance(count: int, runs: Any, times: Any, own: Any, ends_us: Any, merging: Any) -> int:
    """Past the first run's step; returns how many runs have another one."""
    heap, position, t_us, kind = merging
    run = heap[0]
    position[run] += 1
    next_step(run, runs, times, own, ends_us, merging)
    if t_us[run] >= FOREVER:
        count -= 1
        heap[0] = heap[count]
    sink(heap, count, 0, t_us, kind)
    return count
