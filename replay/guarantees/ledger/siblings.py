"""What an execution that was undone gave to one task of a vertex, or by one, and the one that counts by another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from replay.debugger.ports import RecordingSource
from replay.guarantees.ledger.executions import Executions, Path
from replay.guarantees.ledger.flows import Flow, Origin, of_origins
from replay.guarantees.ledger.streams import Stream
from replay.guarantees.ledger.writes import Writes
from replay.model import Channel


def with_extras(source: RecordingSource, executions: Executions, flow: Flow) -> Flow:
    """What was taken of an execution that was undone counts twice if its source records were given again.

    Where a task goes on with what comes next, nothing is ever given again."""
    if flow.extra and source.manifest.protocol.name != "none":
        again = _given_again(source, executions, flow.channel)
        flow.twice += [replace(one, given_again=True) for one in flow.extra if not again.isdisjoint(one.origins)]
        flow.extra = [one for one in flow.extra if again.isdisjoint(one.origins)]
        if flow.extra and not flow.unknown:
            first = of_origins(flow.extra[0].origins)
            flow.unknown = f"{first} was taken of an execution that was undone, and nobody is recorded to have given it"
    return flow


def count_undone(source: RecordingSource, writes: Iterable[Writes]) -> None:
    """The same of what sinks gave to the outside: another task of the vertex may have given it again."""
    if source.manifest.protocol.name == "none":
        return
    writes = list(writes)
    named: dict[str, set[Origin]] = {}
    for one in writes:
        named.setdefault(source.graph.task(one.task).vertex, set()).update(one.named)
    for one in writes:
        again = named[source.graph.task(one.task).vertex]
        one.twice += [each for each in one.undone if not again.isdisjoint(each.origins)]
        one.undone = [each for each in one.undone if again.isdisjoint(each.origins)]
        if one.undone:
            first = of_origins(one.undone[0].origins)
            why = (
                f"an output of {first} is of an execution that was undone, and no other one is recorded to have made it"
            )
            one.unknown.append((why, one.undone[0].evidence[0]))


def _given_again(source: RecordingSource, executions: Executions, channel: Channel) -> set[Origin]:
    """The source records that executions which count gave to that vertex, past where those of the sender part.

    The sender may have been given other records when it ran again, and another task of its vertex these."""
    path = executions.surviving(channel.source)
    attempts = executions.attempts(channel.source)
    since = min((parting(executions.path(channel.source, one), path) for one in attempts), default=0)
    found: set[Origin] = set()
    for one in _siblings(source, channel):
        for entry in Stream.read(source, one, executions.surviving(one.source)).entries:
            if entry.epoch >= since:
                found.update(entry.lineage or ())
    return found


def _siblings(source: RecordingSource, channel: Channel) -> list[Channel]:
    """The channels by which a record might have come to the receiver's vertex instead; where each of its tasks gets
    every record, to the receiver."""
    graph = source.graph
    edge = _vertices(source, channel)
    ship = next((one.ship for one in source.manifest.edges if (one.source, one.target) == edge), "")
    among = (one for one in graph.channels if _vertices(source, one) == edge)
    return [one for one in among if ship != "broadcast" or one.target == channel.target]


def _vertices(source: RecordingSource, channel: Channel) -> tuple[str, str]:
    return source.graph.task(channel.source).vertex, source.graph.task(channel.target).vertex


def parting(one: Path, other: Path) -> int:
    """The epoch from which on two paths of a task are different executions; past all epochs where they are the same."""
    since = 0
    for mine, theirs in zip(one, other, strict=False):
        if (mine.attempt, mine.begins) != (theirs.attempt, theirs.begins):
            return since
        if mine.ends != theirs.ends:
            return min(end for end in (mine.ends, theirs.ends) if end is not None)
        since = theirs.ends if theirs.ends is not None else 1 << 63
    return since
