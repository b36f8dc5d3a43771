"""Optimistic logging: all is rolled back if, and only if, one follows from what a failed task had not yet stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from replay.bundle.frames import BufferFrame, ReceiptFrame
from replay.model import MAIN, thread_of_output
from replay.simulation.checks import buffers, logs, sinks, states
from replay.simulation.checks.stable import Stored
from replay.simulation.recording import Recording

Needs = dict[tuple[str, int], int]  # of the failed task's logs, by thread and epoch: how far they must go
_BUFFER_BUILT_BYTES = 5


class Orphans:
    """Recomputed for one failure from what was cut, received, taken and written; nothing that the protocol kept."""

    def __init__(
        self, recording: Recording, stored: Stored, failure: dict[str, Any], decided: dict[str, Any], *, strict: bool
    ):
        """`strict`: what happened in the very microsecond of a cut, or may not be in the log, is left out."""
        self.recording = recording
        self.stored = stored
        self.task = failure["task"]
        self.attempt = failure["attempt"]
        self.n = decided["n"]
        self.at_us = int(decided["t_us"])
        self.strict = strict
        self.completed = max((0, *recording.completed_before(self.n)))
        self._known: dict[tuple[str, int, int, int], Needs] = {}

    def found(self) -> list[str]:
        """The other tasks that follow from what was lost."""
        tasks = [task.id for task in self.recording.manifest.tasks if task.id != self.task]
        return [task for task in tasks if self._is_lost(self._needs_of_task(task))]

    def _is_lost(self, needs: Needs) -> bool:
        return any(
            upto > self._stable(self.task, thread, epoch)
            for (thread, epoch), upto in needs.items()
            if epoch >= self.completed
        )

    def _needs_of_task(self, task: str) -> Needs:
        needs: Needs = {}
        chain = self._chain(task)
        for attempt in chain:
            is_current = attempt == chain[-1] and self.recording.ends.get((task, attempt), self.n) >= self.n
            for i, one in self._taken(task, attempt, self.at_us):
                if is_current or self._is_stored(task, attempt, one):
                    _merge(needs, self._needs_of(task, i, one))
        return needs

    def _chain(self, task: str) -> list[int]:
        """The task's attempts since the last rollback, as far as they had begun."""
        starts = self.recording.starts[task]
        chains = [[one for one in chain if starts[one]["n"] < self.n] for chain in self.recording.lineages(task)]
        return [chain for chain in chains if chain][-1]

    def _stable(self, task: str, thread: str, epoch: int) -> int:
        return self.stored.upto(task, thread, epoch, self.at_us, self._chain(task)[0])

    def _is_stored(self, task: str, attempt: int, one: ReceiptFrame) -> bool:
        """Whether the next attempt takes it because the log says so that this one left; not strict, wherever it may."""
        if not self.strict:
            return True
        ended_us = int(self.recording.events[self.recording.ends[task, attempt]]["t_us"])
        return one.offset < self.stored.upto(task, MAIN, one.epoch, ended_us, self._chain(task)[0])

    def _taken(self, task: str, attempt: int, until_us: int) -> Iterator[tuple[int, ReceiptFrame]]:
        for i in range(len(self.recording.graph.task(task).inputs)):
            for one in self.recording.receipts(task, attempt, i):
                if one.taken and (one.taken_us < until_us or (one.taken_us == until_us and not self.strict)):
                    yield i, one

    def _needs_of(self, task: str, i: int, one: ReceiptFrame) -> Needs:
        """What a buffer follows from: its sender's choices until the cut, and all that its sender had taken by then."""
        channel = self.recording.graph.channel(self.recording.graph.task(task).inputs[i])
        key = (channel.source, one.sender_attempt, channel.k, one.seq)
        if key not in self._known:
            frames = self.recording.buffers(channel.source, one.sender_attempt, channel.k)
            needs: Needs = {}
            if (channel.source, one.sender_attempt) == (self.task, self.attempt):
                needs = self._own_needs(frames, frames[one.seq], channel.k)
            for j, other in self._taken(channel.source, one.sender_attempt, frames[one.seq].t_us):
                _merge(needs, self._needs_of(channel.source, j, other))
            self._known[key] = needs
        return self._known[key]

    def _own_needs(self, frames: dict[int, BufferFrame], cut: BufferFrame, k: int) -> Needs:
        needs: Needs = {(MAIN, cut.main_epoch): cut.main_offset}
        for epoch in self.recording.epochs(self.task, self.attempt, MAIN):
            if epoch < cut.main_epoch:
                needs[MAIN, epoch] = len(self.recording.log(self.task, self.attempt, MAIN, epoch))
        for seq, frame in frames.items():
            if seq <= cut.seq:
                place = (thread_of_output(k), frame.epoch)
                needs[place] = needs.get(place, 0) + _BUFFER_BUILT_BYTES
        return needs


def _merge(into: Needs, other: Needs) -> None:
    for place, upto in other.items():
        into[place] = max(upto, into.get(place, 0))


def orphans_are_rolled_back_and_nobody_else(recording: Recording) -> Iterator[str]:
    """Both ways, for each failure that was decided."""
    stored = Stored.of(recording)
    failures = {one["failure"]: one for one in recording.events if one["type"] == "task-failed"}
    for one in recording.events:
        if one["type"] not in ("global-rollback", "standby-activated", "task-rescheduled"):
            continue
        rolled_back, failure = one["type"] == "global-rollback", failures[one["failure"]]
        found = Orphans(recording, stored, failure, one, strict=not rolled_back).found()
        if rolled_back and not found:
            yield f"failure {one['failure']} rolled everything back, and nobody was an orphan"
        if not rolled_back and found:
            yield f"failure {one['failure']} left orphans: {found}"


def nobody_asks_but_the_storage(recording: Recording) -> Iterator[str]:
    """Nothing is piggybacked that a task could answer with."""
    for one in recording.events:
        if one["type"] == "determinants-requested" and not one["channel"].endswith(">world"):
            yield f"event {one['n']}: {one['at']} asks {one['channel']}"
    for channel in recording.graph.channels:
        for attempt in range(recording.attempts(channel.source)):
            if any(frame.delta for frame in recording.sendings(channel.source, attempt, channel.k)):
                yield f"{channel.id} carries determinants of attempt {attempt}"


CHECKS = (
    orphans_are_rolled_back_and_nobody_else,
    nobody_asks_but_the_storage,
    *logs.EXACT,
    *buffers.EXACT,
    *states.EXACT,
    *sinks.EXACT,
)
