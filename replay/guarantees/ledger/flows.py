"""What became of a channel's records, one by one: told apart by their place in the channel's bytes while executions of
the sender agree on these, and past that by the source records that they come from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_receipts
from replay.errors import printable
from replay.guarantees.ledger.executions import Executions
from replay.guarantees.ledger.streams import Entry, Stream, name_of
from replay.guarantees.ledger.takes import Takes
from replay.model import Channel

Origin = tuple[str, int]
"""A record of a source: (task, offset)."""


_NAMED = 3


def of_origins(origins: tuple[Origin, ...]) -> str:
    """`record 17 of bids.0`, `a record made of record 1 of a.0, record 2 of a.0 and 5 more`."""
    if not origins:
        return "a record"
    names = [f"record {offset} of {printable(task)}" for task, offset in origins[:_NAMED]]
    more = len(origins) - len(names)
    said = ", ".join(names) + (f" and {more:,} more" if more else "")
    return said if len(origins) == 1 else f"what came of {said}"


@dataclass(frozen=True, slots=True)
class Counted:
    """A record that did not count once, and the buffers that it ends in, as evidence. `given_again`: it was taken here
    of an execution that was undone, and the one that counts gave it to the vertex again, by whichever channel."""

    origins: tuple[Origin, ...]
    evidence: tuple[str, ...]
    given_again: bool = False


@dataclass(slots=True)
class Flow:
    """What became of a channel's records. `extra`: those taken of an execution that was undone, which the surviving one
    did not give again on this channel. `under_way`: buffers behind the last completed checkpoint that nobody took.
    `unknown`: why records can't be told apart; `unseen`: why it isn't known whether they were taken."""

    channel: Channel
    twice: list[Counted] = field(default_factory=list)
    lost: list[Counted] = field(default_factory=list)
    extra: list[Counted] = field(default_factory=list)
    under_way: int = 0
    unknown: str = ""
    unseen: str = ""


def flow_by_records(source: RecordingSource, executions: Executions, channel: Channel) -> Flow:
    """Reads what the attempts that anything was taken of put on the channel."""
    return _Flow(source, executions, channel, Takes.read(source, executions, channel)).flow()


@dataclass(slots=True)
class _Flow:
    source: RecordingSource
    executions: Executions
    channel: Channel
    takes: Takes
    alike: dict[int, int] = field(default_factory=dict)
    at: dict[int, list[Entry]] = field(default_factory=dict)
    """Of the surviving stream's records, by their number: as what they were taken."""
    apart: dict[str, list[Entry]] = field(default_factory=dict)
    """Taken past where executions part, by lineage."""
    closed: int = 0
    """The first epoch that a completed checkpoint closed, and of which nothing shows that its receiver left it."""

    def flow(self) -> Flow:
        surviving = Stream.read(self.source, self.channel, self.executions.surviving(self.channel.source))
        self.alike = {one: stream.alike(surviving) for one, stream in self.takes.streams.items()}
        self.closed = min(self.executions.last_completed, self._reached())
        found = Flow(self.channel)
        for attempt, index, entry in self.takes.entries():
            if index < self.alike[attempt]:
                self.at.setdefault(index, []).append(entry)
            elif entry.lineage is None:
                found.unknown = "its records do not name the source records that they come from"
            else:
                self.apart.setdefault(name_of(entry.lineage), []).append(entry)
        self._count(found, surviving)
        return found

    def _reached(self) -> int:
        """The last epoch in which the receiver's execution that counts is known to have been."""
        task, found = self.channel.target, [0]
        for segment in self.executions.surviving(task):
            found += [epoch for epoch in self.source.epochs(task, segment.attempt, "state") if segment.begins < epoch]
            for i in range(len(self.source.graph.task(task).inputs)):
                receipts = placed_receipts(self.source, task, segment.attempt, i)
                found += [one.epoch for *_, one in receipts if one.taken and segment.has(one.epoch)]
        return max(found)

    # --- counting ---

    def _count(self, found: Flow, surviving: Stream) -> None:
        groups: dict[str, list[int]] = {}
        parts = min(self.alike.values(), default=len(surviving.entries))
        for index, entry in enumerate(surviving.entries):
            if index >= parts and entry.lineage is not None and (name := name_of(entry.lineage)) in self.apart:
                groups.setdefault(name, []).append(index)
            else:
                self._count_one(found, entry, self.at.get(index, []))
        for name, entries in self.apart.items():
            places = groups.get(name, [])
            self._count_group(found, [surviving.entries[place] for place in places], entries, places)

    def _count_one(self, found: Flow, entry: Entry, taken: list[Entry]) -> None:
        if len(taken) > 1:
            found.twice.append(self._counted(taken))
        elif not taken and entry.epoch < self.closed and not found.unknown:
            found.lost.append(self._counted([entry]))
        elif not taken:
            found.under_way += 1
            self._doubt(found, entry)

    def _count_group(self, found: Flow, due: list[Entry], entries: list[Entry], places: list[int]) -> None:
        """Records of one lineage, of which some were taken of executions that were undone."""
        if not due:
            times = Counter(one.attempt for one in entries)
            (found.twice if len(times) > 1 else found.extra).append(self._counted(entries))
            return
        taken = [*entries, *(one for place in places for one in self.at.get(place, ()))]
        if len(taken) > len(due):
            found.twice.append(self._counted(taken))
        elif len(taken) < sum(one.epoch < self.closed for one in due):
            found.lost.append(self._counted(due))
        elif len(taken) < len(due):
            self._doubt(found, due[0])

    def _doubt(self, found: Flow, entry: Entry) -> None:
        """Where nobody took what a checkpoint closed, and its receiver's own account of that time is not there."""
        if self.closed <= entry.epoch < self.executions.last_completed:
            found.unseen = found.unseen or (
                f"epoch {entry.epoch} was closed by a completed checkpoint, and nothing that "
                f"{printable(self.channel.target)} left shows that it came to the end of it"
            )

    def _counted(self, entries: list[Entry]) -> Counted:
        origins = sorted({origin for one in entries for origin in one.lineage or ()})
        names = dict.fromkeys(f"buffer:{self.channel.id}/{one.attempt}#{one.seq}" for one in entries)
        return Counted(tuple(origins), tuple(names))
