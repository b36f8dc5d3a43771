"""What came before and after a buffer, by following every single step of a recording's frames: slow, and plainly so."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property

from replay.bundle.reader import Bundle


@dataclass(frozen=True)
class Cut:
    channel: str
    attempt: int
    seq: int
    task: str
    t_us: int


@dataclass(frozen=True)
class Take:
    channel: str
    attempt: int
    seq: int
    task: str
    taker: int
    t_us: int
    epoch: int
    sending: int


Step = Cut | Take


@dataclass
class Oracle:
    bundle: Bundle

    @cached_property
    def cuts(self) -> list[Cut]:
        return [
            Cut(channel.id, attempt, one.seq, channel.source, one.t_us)
            for channel in self.bundle.graph.channels
            for attempt in self.bundle.attempts(channel.source)
            for one in self.bundle.buffers(channel.source, attempt, channel.k)
        ]

    @cached_property
    def takes(self) -> list[Take]:
        return [
            Take(channel.id, one.sender_attempt, one.seq, channel.target, taker, one.taken_us, one.epoch, one.sending)
            for channel in self.bundle.graph.channels
            for taker in self.bundle.attempts(channel.target)
            for one in self.bundle.receipts(channel.target, taker, channel.i)
            if one.taken
        ]

    @cached_property
    def restarts(self) -> list[tuple[str, int, int, int]]:
        """(task, attempt that took the snapshot, checkpoint, attempt that began from it)"""
        told = [one for one in self.bundle.events() if one["type"] == "checkpoint-acknowledged"]
        found = []
        for one in self.bundle.events():
            if one["type"] != "attempt-started" or not one["checkpoint"] or not one["attempt"]:
                continue
            owners = [
                other["attempt"]
                for other in told
                if (other["task"], other["checkpoint"]) == (one["task"], one["checkpoint"])
                and other["attempt"] < one["attempt"]
            ]
            if owners:
                found.append((one["task"], max(owners), one["checkpoint"], one["attempt"]))
        return found

    @cached_property
    def following(self) -> dict[Step, list[Step]]:
        """What follows from each step at once."""
        found: dict[Step, list[Step]] = {}
        takes: dict[tuple[str, int, int], list[Step]] = {}
        cuts: dict[tuple[str, int], list[Cut]] = {}
        for take in self.takes:
            takes.setdefault((take.channel, take.attempt, take.seq), []).append(take)
        for cut in self.cuts:
            found[cut] = takes.get((cut.channel, cut.attempt, cut.seq), [])
            cuts.setdefault((cut.task, cut.attempt), []).append(cut)
        for take in self.takes:
            later: list[Step] = [one for one in cuts.get((take.task, take.taker), []) if take.t_us <= one.t_us]
            for attempt in self._begun_with(take.task, take.taker, take.epoch):
                later += cuts.get((take.task, attempt), [])
            found[take] = later
        return found

    def _begun_with(self, task: str, attempt: int, epoch: int) -> set[int]:
        """The attempts that had in their snapshot what that attempt did in that epoch, and those that had that."""
        found: set[int] = set()
        waiting = [(attempt, epoch)]
        while waiting:
            of, before = waiting.pop()
            for one, owner, checkpoint, began in self.restarts:
                if (one, owner) == (task, of) and before < checkpoint and began not in found:
                    found.add(began)
                    waiting.append((began, -1))
        return found

    @cached_property
    def preceding(self) -> dict[Step, list[Step]]:
        found: dict[Step, list[Step]] = {}
        for step, later in self.following.items():
            for one in later:
                found.setdefault(one, []).append(step)
        return found

    def past(self, cut: Cut) -> set[Take]:
        return {one for one in _closed([cut], self.preceding) if isinstance(one, Take)}

    def future(self, cut: Cut) -> set[Cut]:
        return {one for one in _closed([cut], self.following) if isinstance(one, Cut)} - {cut}


def _closed(begin: list[Step], ways: dict[Step, list[Step]]) -> set[Step]:
    seen: set[Step] = set()
    waiting = deque(begin)
    while waiting:
        for one in ways.get(waiting.popleft(), []):
            if one not in seen:
                seen.add(one)
                waiting.append(one)
    return seen
