"""One channel: has each record that its sender's surviving execution put on it influenced its receiver's state once?

Where the receiver took the very buffers that the sender ended up with, their numbers say so, and no record is read.
"""

from __future__ import annotations

from itertools import pairwise

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_buffers
from replay.guarantees.ledger.executions import Executions
from replay.guarantees.ledger.flows import Flow, flow_by_records
from replay.guarantees.ledger.streams import Run, cut_in, runs_of, taken_in
from replay.model import Channel


def flow_of(source: RecordingSource, executions: Executions, channel: Channel) -> Flow:
    """Raises where a member of it can't be read, or is not there."""
    path = executions.surviving(channel.source)
    cut = runs_of((attempt, placed.frame.seq) for attempt, placed in cut_in(source, channel, path))
    taken = runs_of(taken_in(source, channel, executions.surviving(channel.target)))
    upto = _upto(source, channel, cut, taken)
    if upto is not None:
        behind = [placed.frame for _, placed in cut_in(source, channel, path) if placed.frame.seq >= upto]
        records = [frame for frame in behind if not frame.is_event]
        if not any(frame.epoch < executions.last_completed for frame in records):
            return Flow(channel, under_way=len(records))
    return flow_by_records(source, executions, channel)


def _upto(source: RecordingSource, channel: Channel, cut: list[Run], taken: list[Run]) -> int | None:
    """Up to which number the receiver took what the sender ended up with; None where it took anything else."""
    if any(before.last + 1 != one.first for before, one in pairwise(cut)):
        return None
    at, end = (cut[0].first, cut[-1].last) if cut else (0, -1)
    for run in taken:
        if run.first != at or run.last > end or not all(_same(source, channel, one, run) for one in cut):
            return None
        at = run.last + 1
    return at


def _same(source: RecordingSource, channel: Channel, cut: Run, taken: Run) -> bool:
    """Whether two attempts of the sender cut the same buffers, where both did."""
    first, last = max(cut.first, taken.first), min(cut.last, taken.last)
    if cut.attempt == taken.attempt or first > last:
        return True
    one, other = (_contents(source, channel, run.attempt, first, last) for run in (cut, taken))
    return one == other


def _contents(source: RecordingSource, channel: Channel, attempt: int, first: int, last: int) -> list[tuple[bool, int]]:
    return [
        (placed.frame.is_event, hash(placed.frame.payload))
        for placed in placed_buffers(source, channel.source, attempt, channel.k)
        if first <= placed.frame.seq <= last
    ]
