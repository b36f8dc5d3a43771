"""What the survivors below a task got of it before it failed, and what its new attempt gave them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from replay.errors import printable
from replay.guarantees.recovery_types.comparing import compare
from replay.guarantees.recovery_types.findings import MASKED, Finding
from replay.guarantees.recovery_types.scene import Recovered
from replay.guarantees.recovery_types.streams import Streams
from replay.guarantees.recovery_types.survivors import Survivors
from replay.model import Channel


@dataclass(slots=True)
class _Got:
    """One receiver's. `old`: by attempt of the sender, the numbers that it got of the work that is done again, as far
    as that matters to anybody; `again`: those that it got of the new attempt. `alive`: it is there to get any."""

    attempt: int
    alive: bool
    old: dict[int, set[int]] = field(default_factory=dict)
    again: list[int] = field(default_factory=list)

    @property
    def upto(self) -> int:
        return max(seq for seqs in self.old.values() for seq in seqs)

    @property
    def repeated(self) -> list[int]:
        return [seq for seq in self.again if seq <= self.upto]


def given_below(streams: Streams, survivors: Survivors, one: Recovered) -> Iterator[Finding]:
    """Of each channel below, and each that took something from it."""
    for output in streams.source.graph.task(one.task).outputs:
        channel = streams.source.graph.channel(output.channel)
        for receiver in survivors.attempts(channel.target):
            got = _got(survivors, one, channel, receiver)
            if got.old:
                yield from _of_receiver(streams, one, channel, got)


def _got(survivors: Survivors, one: Recovered, channel: Channel, receiver: int) -> _Got:
    first = one.first_seq("outputs", channel.id)
    found = _Got(receiver, survivors.alive(channel.target, receiver))
    for sender, seq in survivors.seen(channel, receiver):
        if seq >= first and sender in one.before:
            found.old.setdefault(sender, set()).add(seq)
        elif sender == one.attempt and found.alive:
            found.again.append(seq)
    return found


def _of_receiver(streams: Streams, one: Recovered, channel: Channel, got: _Got) -> Iterator[Finding]:
    now = streams.frames(one.task, one.attempt, channel.k, one.checkpoint)
    lost = sorted(set(got.again) - now.keys())
    if lost:
        said = f"buffer {lost[0]} of {printable(channel.id)}, which was taken, is not in the recording"
        yield Finding("open", said, wants=f"tasks/{one.task}/{one.attempt}/sent-{channel.k}/*.buf")
        return
    for sender, seqs in got.old.items():
        then = streams.frames(one.task, sender, channel.k, one.checkpoint)
        gone = sorted(seqs - then.keys())
        if gone:
            said = f"buffer {gone[0]} of {printable(channel.id)}, which was taken, is not in the recording"
            yield Finding("open", said, wants=f"tasks/{one.task}/{sender}/sent-{channel.k}/*.buf")
            continue
        if all(then[seq] == now.get(seq) for seq in seqs):
            yield _rebuilt(streams, one, channel, got, sender)
            continue
        not_yet = {seq for seq in seqs if seq not in now}
        agree = all(then[seq] == now[seq] for seq in seqs - not_yet)
        if agree and not one.finished and not got.again:
            yield Finding("incomplete", f"attempt {one.attempt} ended before it had rebuilt buffer {min(not_yet)}")
            continue
        yield from _by_record(streams, one, channel, got, sender)


def _rebuilt(streams: Streams, one: Recovered, channel: Channel, got: _Got, sender: int) -> Finding:
    """Byte for byte: whoever took any of it again took the same again."""
    if got.again and got.again[0] > got.upto + 1:
        said = f"buffers {got.upto + 1} to {got.again[0] - 1} of {printable(channel.id)} were taken by nobody"
        return Finding("open", said, wants=f"tasks/{channel.target}/{got.attempt}/received-{channel.i}/*.rcv")
    # Of a record whose beginning alone had come nothing was given.
    ends = set(got.repeated) & got.old[sender]
    given = streams.records(one.task, one.attempt, channel.k, one.checkpoint) if ends else []
    repeated = [each for each in given if each.at in ends]
    if not repeated:
        return MASKED
    seq = repeated[0].at
    said = f"{printable(channel.target)} took buffer {seq} of {printable(channel.id)} again, the same as before"
    return Finding("repeated", said, _buffers(channel, one, sender, seq, seq), count=len(repeated))


def _by_record(streams: Streams, one: Recovered, channel: Channel, got: _Got, sender: int) -> Iterator[Finding]:
    """Cut otherwise, or made otherwise."""
    all_old = streams.records(one.task, sender, channel.k, one.checkpoint)
    old = [each for each in all_old if each.at in got.old[sender]]
    new = streams.records(one.task, one.attempt, channel.k, one.checkpoint)
    found, again = compare(old, new), set(got.again)
    known, where = {each.whose for each in old if each.whose}, printable(channel.id)
    repeated = [each for n, each in enumerate(new) if each.at in again and (n < len(old) or each.whose in known)]
    who = f"{printable(channel.target)} had taken"
    if not got.alive:
        who = f"what {printable(channel.target)}, attempt {got.attempt}, gave on before it ended had come of"
    if found.differing is not None:
        then, now = found.differing
        said = f"a record of {where} that {who} was given otherwise"
        yield Finding("differs", said, _buffers(channel, one, sender, then.at, now.at), count=found.missing)
        return
    if found.gone is not None and one.finished:
        said = f"{found.missing:,} records of {where} that {who} were never made again as they had been"
        yield Finding("differs", said, (f"buffer:{channel.id}/{sender}#{found.gone.at}",), count=found.missing)
        return
    if repeated:
        said = f"{len(repeated):,} records of {where} that {who} were given again, the same as before"
        yield Finding("repeated", said, _buffers(channel, one, sender, old[0].at, repeated[0].at), count=len(repeated))
    if found.missing:
        yield Finding("incomplete", f"attempt {one.attempt} ended before it had given {where} all again")


def _buffers(channel: Channel, one: Recovered, sender: int, then: int, now: int) -> tuple[str, ...]:
    return f"buffer:{channel.id}/{sender}#{then}", f"buffer:{channel.id}/{one.attempt}#{now}"
