"""What waited at an attempt's inputs, and what the attempt waited for: from the receipts of all that arrived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_receipts
from replay.errors import ReplayError
from replay.guarantees.recovery_time.places import MOST_FRAMES


class Arrival(NamedTuple):
    """A buffer that was taken."""

    taken_us: int
    received_us: int
    input: int


@dataclass(slots=True)
class Arrivals:
    """Of one attempt, in the order in which it took them. `never_taken_us`: when the first came of those that it never
    got to. `lacking`: why nothing can be said of them."""

    taken: list[Arrival] = field(default_factory=list)
    never_taken_us: int | None = None
    lacking: str = ""

    def caught_up_us(self, since_us: int) -> int | None:
        """The first moment from a time on at which nothing that had arrived waited; None where there was none."""
        open_us, found = self.never_taken_us, None
        for one in reversed(self.taken):
            if one.taken_us <= since_us:
                break
            if open_us is None or open_us > one.taken_us:
                found = one.taken_us
            open_us = one.received_us if open_us is None else min(open_us, one.received_us)
        return since_us if open_us is None or open_us > since_us else found

    def waited_for(self, since_us: int, until_us: int) -> Arrival | None:
        """The last buffer between two times that was not there yet when the attempt was done with the one before."""
        found, before_us = None, since_us
        for one in self.taken:
            if one.taken_us > until_us:
                break
            if one.taken_us >= since_us:
                found = one if one.received_us > before_us else found
                before_us = one.taken_us
        return found


def arrivals(source: RecordingSource, task: str, attempt: int) -> Arrivals:
    """All of them, or why not: with some alone it would seem to have caught up too early."""
    if not source.graph.task(task).inputs:
        return Arrivals(lacking="a source takes no buffers that could wait")
    member, found = f"tasks/{task}/{attempt}/received-*", Arrivals()
    try:
        rows = list(islice(_rows(source, task, attempt), MOST_FRAMES + 1))
    except (ReplayError, DivergenceFound):
        return Arrivals(lacking=f"{member}: they can't be read to their end")
    if not rows or len(rows) > MOST_FRAMES:
        return Arrivals(lacking=member if not rows else f"a recording with no more than {MOST_FRAMES:,} receipts in it")
    found.taken = sorted(Arrival(taken, received, i) for taken, received, i in rows if taken is not None)
    found.never_taken_us = min((received for taken, received, _ in rows if taken is None), default=None)
    return found


def _rows(source: RecordingSource, task: str, attempt: int) -> Iterator[tuple[int | None, int, int]]:
    for i in range(len(source.graph.task(task).inputs)):
        for _, _, receipt in placed_receipts(source, task, attempt, i):
            yield receipt.taken_us if receipt.taken else None, receipt.received_us, i
