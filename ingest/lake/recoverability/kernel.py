"""The walk over logs, compiled: what `replay.guarantees.recoverability` does in plain Python, for many logs and depths.

Rows stand place by place, and of each place run by run, each run in time. The runs of a place are merged by a heap;
sizes are worked out anew only when what happened can have changed them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ingest.lake.recoverability import state as of
from ingest.lake.recoverability.compiled import compiled
from ingest.lake.recoverability.heap import ANSWERED, DEPENDS, ENDS, FOREVER, HOLDS, OUTSIDE, OWN, advance, gather
from ingest.lake.recoverability.state import COUNT, LOST_FOUND, LOST_WRITTEN, NONE, SIZES, SURPLUS, WRITTEN


def walk(
    places: Any, runs: Any, rows: Any, own: Any, executions: Any, reach: Any, buckets: Any, out: Any, best: Any
) -> Any:
    """Walks all places; returns how many stretches, and how many losses, were written, and how many there were.

    `places`: (where its runs begin, its task, when it becomes stable); `runs`: (kind, execution, where its rows begin
    and end); `rows`: (times of what is held, of what is depended on, and of that from when the outside did; how far of
    the first two; whose the first are); `own`: (t_us, kind, execution, attempt, how far) of the log's own task;
    `executions`: (when it ends, its task, whether it is the outside, host, number of the outside as dependent, hosts);
    `reach`: by task, holder and variation; `buckets`: (their ends, surplus); `out`: stretches as (begin, end, question,
    size) and losses as (place, attempt, t_us, returned, upto, execution); `best`: by question (size, when, where, of
    which byte the end).
    """
    count_who, variations = len(executions[0]), reach.shape[2]
    state = (
        np.zeros((variations, count_who), np.int64),
        np.zeros(count_who, np.int64),
        np.zeros(count_who, np.bool_),
        np.zeros(count_who, np.int64),
        np.zeros(count_who, np.bool_),
        np.zeros(executions[5], np.int64),
        np.zeros((variations, SIZES), np.int64),
        np.zeros((variations, SIZES), np.int64),
        np.zeros((variations, SIZES), np.int64),
        np.zeros(SIZES, np.int64),
        np.zeros(variations, np.bool_),
        np.zeros((2, len(own[0]) + 1), np.int64),
    )
    numbers = np.zeros(6, np.int64)
    most = len(runs[0])
    merging = (np.zeros(most, np.int64), runs[2].copy(), np.zeros(most, np.int64), np.zeros(most, np.int64))
    _walk_places(places, runs, rows, own, executions, reach, buckets, out, best, state, numbers, merging)
    return numbers


@compiled
def _walk_places(
    places: Any, runs: Any, rows: Any, own: Any, executions: Any, reach: Any, buckets: Any, out: Any, best: Any,
    state: Any, numbers: Any, merging: Any,
) -> None:  # fmt: skip
    for place in range(len(places[1])):
        _walk_place(place, places, runs, rows, own, executions, reach, buckets, out, best, state, numbers, merging)


@compiled
def _walk_place(
    place: int, places: Any, runs: Any, rows: Any, own: Any, executions: Any, reach: Any, buckets: Any, out: Any,
    best: Any, state: Any, numbers: Any, merging: Any,
) -> None:  # fmt: skip
    begin_of, stable_us = places[0], places[2][place]
    heap, _, t_next, _ = merging
    _begin(begin_of[place], begin_of[place + 1], runs, executions[4], state, numbers)
    left = gather(begin_of[place], begin_of[place + 1], runs, rows, own, executions[0], merging)
    bucket = 0
    while left and t_next[heap[0]] < stable_us:
        t_us = t_next[heap[0]]
        bucket = _pass(buckets, bucket, t_us, numbers[SURPLUS])
        _apply(place, places[1][place], runs, rows, own, executions, reach, out, state, numbers, merging)
        left = advance(left, runs, rows, own, executions[0], merging)
        if not left or t_next[heap[0]] != t_us:
            _look(place, t_us, executions, out, best, state, numbers)
    _pass(buckets, bucket, stable_us, numbers[SURPLUS])
    _close(stable_us, out, state, numbers)


@compiled
def _begin(first: int, last: int, runs: Any, outside: int, state: Any, numbers: Any) -> None:
    held, depends, lost, touched, is_touched = state[:5]
    for n in range(numbers[COUNT]):
        one = touched[n]
        is_touched[one] = lost[one] = False
        held[:, one] = 0
        depends[one] = 0
    numbers[:3] = 0
    state[6][:] = 0
    state[7][:] = NONE
    state[10][:] = False
    for run in range(first, last):
        if runs[0][run] != OWN:
            of.touch(outside if runs[0][run] == OUTSIDE else runs[1][run], state, numbers)


@compiled
def _pass(buckets: Any, bucket: int, t_us: int, surplus: int) -> int:
    """Of every stretch of time that ends before, what was held beyond dependence at its end."""
    while bucket < len(buckets[0]) and buckets[0][bucket] < t_us:
        buckets[1][bucket] += surplus
        bucket += 1
    return bucket


@compiled
def _apply(
    place: int, task: int, runs: Any, rows: Any, own: Any, executions: Any, reach: Any, out: Any, state: Any,
    numbers: Any, merging: Any,
) -> None:  # fmt: skip
    """The next step of all."""
    _, task_of_who, is_outside = executions[:3]
    held, depends = state[0], state[1]
    run = merging[0][0]
    row, kind = merging[1][run], merging[3][run]
    if runs[0][run] == OWN:
        _apply_own(place, row, own, task_of_who, is_outside, out, state, numbers)
        return
    who = executions[4] if runs[0][run] == OUTSIDE else runs[1][run]
    alien = not is_outside[who] and task_of_who[who] != task
    before = max(0, held[0, who] - depends[who]) if alien else 0
    if kind == HOLDS:
        of.hold(who, rows[3][row], rows[5][row], reach[task, task_of_who[who]], is_outside[who], state, numbers)
    elif kind == DEPENDS:
        of.depend(who, rows[4][row], reach[task, task_of_who[who]], state)
    else:
        of.end(who, state)
    if alien:
        numbers[SURPLUS] += max(0, held[0, who] - depends[who]) - before


@compiled
def _apply_own(
    place: int, row: int, own: Any, task_of_who: Any, is_outside: Any, out: Any, state: Any, numbers: Any
) -> None:
    """The log's own task ends, is answered or goes on."""
    t_us, kind, who, attempt, upto = own[0][row], own[1][row], own[2][row], own[3][row], own[4][row]
    of.touch(who, state, numbers)
    if kind == ENDS:
        of.end(who, state)
        return
    if kind == ANSWERED:
        for v in range(len(state[0])):
            state[0][v, who] = max(state[0][v, who], upto)
    else:
        _note_losses(place, t_us, attempt, upto, who, task_of_who, out, state, numbers)
        of.go_on(who, attempt, upto, task_of_who, state, numbers)
        numbers[SURPLUS] = of.surplus(task_of_who[who], task_of_who, is_outside, state, numbers)
    state[10][:] = True


@compiled
def _note_losses(
    place: int, t_us: int, attempt: int, given: int, who: int, task_of_who: Any, out: Any, state: Any, numbers: Any
) -> None:
    depends, touched, losses = state[1], state[3], out[4]
    for n in range(numbers[COUNT]):
        one = touched[n]
        if given < FOREVER and task_of_who[one] != task_of_who[who] and depends[one] > given:
            numbers[LOST_FOUND] += 1
            if numbers[LOST_WRITTEN] < len(losses):
                loss = losses[numbers[LOST_WRITTEN]]
                loss[0], loss[1], loss[2], loss[3], loss[4], loss[5] = place, attempt, t_us, given, depends[one], one
                numbers[LOST_WRITTEN] += 1


@compiled
def _look(place: int, t_us: int, executions: Any, out: Any, best: Any, state: Any, numbers: Any) -> None:
    """After all that happened in a microsecond: the sizes that may have changed."""
    _, _, is_outside, host_of, outside, _ = executions
    ends, now, since, found, dirty = state[6:11]
    best_size, best_t, best_place, best_upto = best
    for v in range(len(dirty)):
        if not dirty[v]:
            continue
        dirty[v] = False
        of.find_ends(v, is_outside, host_of, outside, state, numbers)
        of.count_sizes(v, is_outside, host_of, outside, state, numbers)
        for q in range(SIZES):
            size, n = found[q], v * SIZES + q
            if size == now[v, q]:
                continue
            if now[v, q] != NONE:
                _write(since[v, q], t_us, n, now[v, q], out, numbers)
            now[v, q], since[v, q] = size, t_us
            if size != NONE and (best_size[n] == NONE or (size, t_us) < (best_size[n], best_t[n])):
                best_size[n], best_t[n], best_place[n], best_upto[n] = size, t_us, place, ends[v, q]


@compiled
def _write(begin: int, end: int, question: int, size: int, out: Any, numbers: Any) -> None:
    at = numbers[WRITTEN]
    out[0][at], out[1][at], out[2][at], out[3][at] = begin, end, question, size
    numbers[WRITTEN] += 1


@compiled
def _close(stable_us: int, out: Any, state: Any, numbers: Any) -> None:
    now, since = state[7], state[8]
    for v in range(len(now)):
        for q in range(SIZES):
            if now[v, q] != NONE:
                _write(since[v, q], stable_us, v * SIZES + q, now[v, q], out, numbers)


def warm_up() -> None:
    """Compiles it, or loads it compiled."""
    none, one = np.zeros(0, np.int64), np.zeros(1, np.int64)
    stretches = (none, none, none.astype(np.int32), none.astype(np.int32), np.zeros((0, 6), np.int64))
    executions = (none, none, np.zeros(0, np.bool_), none, 0, 1)
    reach = np.zeros((1, 2, 1), np.uint8)
    walk(
        (one, none, none), (none,) * 4, (none,) * 6, (none,) * 5, executions, reach, (none, none), stretches, (one,) * 4
    )
