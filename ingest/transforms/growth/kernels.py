"""The two scans, compiled: what a receiver came to hold, and what it came to depend on, each a row where it grew.

They do what `replay.causality` does, which they are compared with, on numbers: places are epochs of logs.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


@numba.njit(cache=True)
def depend(
    takes: tuple[Any, ...], above: tuple[Any, ...], frontier: Any, t_out: Any, place_out: Any, upto_out: Any
) -> int:
    """What follows from what was taken, in that order; returns how many rows there are.

    `takes`: (t_us, source run, cut_us, main place, main offset, output's place, how far it was built); `above`: of each
    source run where its rows begin and end, how many of them are merged, and all rows as (t_us, place, upto).
    """
    t_us, run, cut_us, main, offset, output, built = takes
    first, last, merged, above_t, above_place, above_upto = above
    rows = 0
    for n in range(len(t_us)):
        if main[n] >= 0 and offset[n] > frontier[main[n]]:
            frontier[main[n]] = offset[n]
            t_out[rows], place_out[rows], upto_out[rows] = t_us[n], main[n], offset[n]
            rows += 1
        if output[n] >= 0 and built[n] > frontier[output[n]]:
            frontier[output[n]] = built[n]
            t_out[rows], place_out[rows], upto_out[rows] = t_us[n], output[n], built[n]
            rows += 1
        one = run[n]
        at = first[one] + merged[one]
        while at < last[one] and above_t[at] <= cut_us[n]:
            place = above_place[at]
            if above_upto[at] > frontier[place]:
                frontier[place] = above_upto[at]
                t_out[rows], place_out[rows], upto_out[rows] = t_us[n], place, above_upto[at]
                rows += 1
            at += 1
        merged[one] = at - first[one]
    return rows


@numba.njit(cache=True)
def hold(
    arrivals: tuple[Any, ...],
    entries: tuple[Any, ...],
    relays: tuple[Any, ...],
    tasks: tuple[Any, ...],
    state: tuple[Any, ...],
    nodes: tuple[Any, ...],
    out: tuple[Any, ...],
    known_nodes: int,
) -> tuple[int, int, int]:
    """What deltas brought, in the order in which they arrived; returns how many rows, gaps and nodes there are.

    `arrivals`: (received_us, sent_us, task and attempt of the sender, its run, where its entries begin and end);
    `entries`: (place, offset, length); `relays`: what each run holds, as found so far; `tasks`: (task of each place,
    whether a task's logs reach another one, where a task's attempts begin, their starts and numbers); `state`: what is
    held of each place, its newest node, and scratch; `nodes`: of a place and an attempt that wrote it (whose, how far,
    node before of that place), so many `known_nodes` from before; `out`: (t_us, place, upto, whose attempt).
    """
    received, sent, source, sender, run, first, last = arrivals
    place_of, offset_of, length_of = entries
    task_of, reaches, begin_of, starts, numbers = tasks
    held, newest, grown, grown_at, gapped_at = state
    node_whose, node_upto, node_before = nodes
    t_out, place_out, upto_out, whose_out = out
    rows = gaps = 0
    count = known_nodes
    for n in range(len(received)):
        for at in range(first[n], last[n]):
            place = place_of[at]
            if not reaches[task_of[place], source[n]]:
                continue
            known = grown[place] if grown_at[place] == n else held[place]
            end = offset_of[at] + length_of[at]
            if offset_of[at] > known:
                gapped_at[task_of[place]] = n
                gaps += 1
            elif end > known:
                grown[place], grown_at[place] = end, n
        for at in range(first[n], last[n]):
            place = place_of[at]
            task = task_of[place]
            if not reaches[task, source[n]] or gapped_at[task] == n:
                continue
            end = offset_of[at] + length_of[at]
            held[place] = max(held[place], end)
            if task == source[n]:
                whose = sender[n]
            else:
                whose = _relayed(relays, run[n], place, end, sent[n])
                if whose < 0:
                    whose = 0
                    for one in range(begin_of[task], begin_of[task + 1]):
                        if starts[one] <= sent[n]:
                            whose = max(whose, numbers[one])
            node = newest[place]
            while node >= 0 and node_whose[node] != whose:
                node = node_before[node]
            if node < 0:
                node_whose[count], node_before[count] = whose, newest[place]
                newest[place] = node = count
                count += 1
            elif node_upto[node] >= end:
                continue
            node_upto[node] = end
            t_out[rows], place_out[rows], upto_out[rows], whose_out[rows] = received[n], place, end, whose
            rows += 1
    return rows, gaps, count


@numba.njit(cache=True, inline="always")
def _relayed(relays: tuple[Any, ...], run: int, place: int, end: int, sent_us: int) -> int:
    """Of whose attempt the relay had bytes that far, by its first row that went so far; -1 where it had none then."""
    begin_of, end_of, place_at, first_of, t_us, most, whose = relays
    if run < 0:
        return -1
    low, high = begin_of[run], end_of[run]
    while low < high:
        middle = (low + high) // 2
        if place_at[middle] < place:
            low = middle + 1
        else:
            high = middle
    if low == end_of[run] or place_at[low] != place:
        return -1
    left, right = first_of[low], first_of[low + 1]
    end_of_rows = right
    while left < right:
        middle = (left + right) // 2
        if most[middle] < end:
            left = middle + 1
        else:
            right = middle
    if left == end_of_rows or t_us[left] > sent_us:
        return -1
    return int(whose[left])


def warm_up() -> None:
    """Compiles both, or loads them compiled, so that no ingest waits for it."""
    none, places = np.zeros(0, np.int64), np.zeros(1, np.int64)
    depend((none,) * 7, (places, places, places, none, none, none), none, none, none, none)
    relays = (places, places, none, places, none, none, none)
    tasks = (none, np.zeros((1, 1), np.bool_), places, none, none)
    hold((none,) * 7, (none, none, none), relays, tasks, (none,) * 5, (none,) * 3, (none,) * 4, 0)
