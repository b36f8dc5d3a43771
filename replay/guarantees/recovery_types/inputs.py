"""Whether a new attempt took all that the one before it had to take since the checkpoint, or missed some of it."""

from __future__ import annotations

from collections.abc import Iterator

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.errors import printable
from replay.guarantees.recovery_types.findings import MASKED, Finding
from replay.guarantees.recovery_types.scene import Recovered
from replay.guarantees.recovery_types.streams import Given, Streams
from replay.guarantees.recovery_types.whole import gone_of_source
from replay.log.determinants import Take
from replay.model import MAIN, Channel


def missed(streams: Streams, one: Recovered) -> Iterator[Finding]:
    """Of each input, or of the source; what is missing to tell is said."""
    source = streams.source
    shape = source.graph.task(one.task)
    if one.lost and not source.manifest.protocol.observed:
        sentence = f"the snapshot of checkpoint {one.checkpoint} that {printable(one.task)} began with is gone"
        yield Finding("open", sentence, wants=f"tasks/{one.task}/*/state/{one.checkpoint}.json")
        return
    for name in shape.inputs:
        yield _of_channel(streams, one, source.graph.channel(name))
    if not shape.inputs:
        yield _of_source(streams, one)


def _of_channel(streams: Streams, one: Recovered, channel: Channel) -> Finding:
    """By numbers; where another attempt of the sender begins them anew, by the records themselves."""
    first = one.first_seq("inputs", channel.id)
    taken = streams.takes(channel, one.attempt)
    old = [each for attempt in one.before for each in streams.takes(channel, attempt) if each.seq >= first]
    if not taken:
        return _took_nothing(one, channel.id, bool(old))
    if taken[0].seq > first:
        skipped = f"buffers {first} to {taken[0].seq - 1}" if taken[0].seq > first + 1 else f"buffer {first}"
        evidence = (f"receipt:{channel.id}/{taken[0].sender_attempt}#{taken[0].seq}/{taken[0].sending}",)
        said = f"{printable(one.task)} took {skipped} of {printable(channel.id)} never again"
        return Finding("lost", said, evidence, count=taken[0].seq - first)
    if streams.source.manifest.protocol.name == "none":
        return _taken_of_another(streams, one, channel, {each.sender_attempt for each in old})
    return MASKED


def _taken_of_another(streams: Streams, one: Recovered, channel: Channel, senders: set[int]) -> Finding:
    """Under gap recovery a sender that failed too does not send again what it had sent."""
    got = {
        record.whose
        for sender in sorted({each.sender_attempt for each in streams.takes(channel, one.attempt)})
        for record in _records(streams, channel, sender, one, (one.attempt,))
    }
    for sender in sorted(senders):
        for record in _records(streams, channel, sender, one, one.before):
            if record.whose and record.whose not in got:
                said = f"{printable(one.task)} never again took a record of {printable(channel.id)} that it had taken"
                return Finding("lost", said, (f"buffer:{channel.id}/{sender}#{record.at}",), count=1)
    return MASKED


def _records(streams: Streams, channel: Channel, sender: int, one: Recovered, takers: tuple[int, ...]) -> list[Given]:
    first = one.first_seq("inputs", channel.id)
    seqs = {
        each.seq
        for taker in takers
        for each in streams.takes(channel, taker)
        if each.sender_attempt == sender and each.seq >= first
    }
    found = streams.records(channel.source, sender, channel.k, one.checkpoint) if seqs else []
    return [record for record in found if record.at in seqs]


def _took_nothing(one: Recovered, where: str, had: bool) -> Finding:
    if not had:
        return MASKED
    if one.finished:
        said = f"{printable(one.task)} never again took anything of {printable(where)}"
        return Finding("lost", said, count=1)
    return Finding("incomplete", f"attempt {one.attempt} took nothing of {printable(where)} before it ended")


def _of_source(streams: Streams, one: Recovered) -> Finding:
    """By the offsets of its records, or of the runs that its log says it took."""
    lacks = gone_of_source(streams, one.task, one.attempt, one.checkpoint)
    if lacks:
        return Finding("open", f"what {printable(one.task)} read is not all there", wants=lacks)
    before = _first_offsets(streams, one, one.before)
    got, due = _first_offsets(streams, one, (one.attempt,)), dict(before)
    held = (one.state or {}).get("source")
    if isinstance(held, dict) and type(held.get("offset")) is int:
        due[_RECORDS] = held["offset"]
    elif not one.checkpoint:
        due[_RECORDS] = 0
    for name, first in due.items():
        if name in got and got[name] > first:
            said = f"{printable(one.task)} read on at {got[name]:,} of {name}, and had to begin at {first:,}"
            return Finding("lost", said, (_place(one, got[name], name),), count=got[name] - first)
    return MASKED if got else _took_nothing(one, "its source", bool(before))


_RECORDS = "its records"


def _place(one: Recovered, offset: int, name: str) -> str:
    if name == _RECORDS:
        return f"source:{one.task}/{one.attempt}#{offset}"
    return f"log:{one.task}/{one.attempt}/{MAIN}/{one.checkpoint}@0"


def _first_offsets(streams: Streams, one: Recovered, attempts: tuple[int, ...]) -> dict[str, int]:
    """Since the checkpoint, of all these attempts the first of each input."""
    found: dict[str, int] = {}
    for attempt in attempts:
        for name, offset in (*_runs(streams, one, attempt), *_lines(streams, one, attempt)):
            found[name] = min(offset, found.get(name, offset))
    return found


def _runs(streams: Streams, one: Recovered, attempt: int) -> Iterator[tuple[str, int]]:
    for epoch in streams.source.epochs(one.task, attempt, MAIN):
        for _, _, each in (
            streams.source.determinants(one.task, attempt, MAIN, epoch) if epoch >= one.checkpoint else ()
        ):
            if isinstance(each, Take):
                yield f"input {each.channel}", each.first_offset


def _lines(streams: Streams, one: Recovered, attempt: int) -> Iterator[tuple[str, int]]:
    """Of each epoch the first."""
    for epoch in streams.source.epochs(one.task, attempt, "source"):
        if epoch >= one.checkpoint:
            path = member_name(one.task, attempt, "source", epoch)
            with streams.source.members.open(path) as stream:
                first = next(read_lines(stream, path), None)
            if first is not None and type(first[1].get("offset")) is int:
                yield _RECORDS, first[1]["offset"]
