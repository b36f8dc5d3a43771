"""Bound: up to where of one task's logs those depend who live at a moment, by what had arrived at them until then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from replay.bundle.frames import ReceiptFrame
from replay.causality.frontiers import Cuts
from replay.causality.passing_on import Place
from replay.causality.recording import Recording
from replay.causality.turns import Execution
from replay.model import MAIN, TaskId, thread_of_output

_Taken = list[tuple[int, Place, int]]
"""(t_us, place, upto), in time"""


@dataclass(slots=True)
class Bound:
    """By execution and log. `unknown`: buffers that arrived and stand nowhere."""

    upto: dict[Execution, dict[Place, int]] = field(default_factory=dict)
    unknown: int = 0


def bound_by(recording: Recording, task: TaskId, living: set[Execution], t_us: int) -> Bound:
    """What arrived binds: it is kept, and taken sooner or later. What a relay sent follows from what it had taken."""
    found = Bound()
    taken: dict[Execution, _Taken] = {}
    below = recording.graph.all_downstream(task)
    for one in (each for each in recording.graph.order if each in below):
        inputs = [recording.graph.channel(channel) for channel in recording.graph.task(one).inputs]
        cuts = {c.i: Cuts(recording, c) for c in inputs if c.source == task or c.source in below}
        for attempt in recording.attempts(one):
            receipts = [(i, r) for i in cuts for r in recording.receipts(one, attempt, i) if r.received_us <= t_us]
            if (one, attempt) in living:
                news = _news(task, receipts, cuts, taken, found)
                found.upto[one, attempt] = _furthest(news)
            receipts = sorted((pair for pair in receipts if pair[1].taken), key=lambda pair: pair[1].taken_us)
            taken[one, attempt] = _grown(_news(task, receipts, cuts, taken, None))
    return found


def _news(
    task: TaskId,
    receipts: list[tuple[int, ReceiptFrame]],
    cuts: dict[int, Cuts],
    taken: dict[Execution, _Taken],
    found: Bound | None,
) -> Iterator[tuple[int, Place, int]]:
    merged: dict[tuple[int, int], int] = {}  # (input, sender's attempt) -> how many of the sender's rows are in
    for i, receipt in receipts:
        cut = cuts[i].find(receipt.sender_attempt, receipt.seq)
        if cut is None:
            if found is not None:
                found.unknown += 1
            continue
        frame, built = cut
        channel = cuts[i].channel
        if channel.source == task:
            yield receipt.taken_us, (MAIN, frame.main_epoch), frame.main_offset
            yield receipt.taken_us, (thread_of_output(channel.k), frame.epoch), built
            continue
        above, at = taken.get((channel.source, receipt.sender_attempt), []), merged.get((i, receipt.sender_attempt), 0)
        while at < len(above) and above[at][0] <= frame.t_us:
            yield receipt.taken_us, above[at][1], above[at][2]
            at += 1
        merged[i, receipt.sender_attempt] = at


def _furthest(news: Iterator[tuple[int, Place, int]]) -> dict[Place, int]:
    found: dict[Place, int] = {}
    for _, place, upto in news:
        found[place] = max(upto, found.get(place, 0))
    return found


def _grown(news: Iterator[tuple[int, Place, int]]) -> _Taken:
    furthest: dict[Place, int] = {}
    found: _Taken = []
    for t_us, place, upto in news:
        if upto > furthest.get(place, 0):
            furthest[place] = upto
            found.append((t_us, place, upto))
    return found
