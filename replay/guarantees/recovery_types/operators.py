"""The strongest class of each vertex that a recording does not refute."""

from __future__ import annotations

from collections.abc import Iterator

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.debugger.redactions import redacted_in
from replay.errors import ReplayError, printable
from replay.guarantees.recovery_types.classes import OfVertex, of_logs
from replay.guarantees.recovery_types.emptied import beside_itself
from replay.guarantees.recovery_types.executions import Executed, executed
from replay.guarantees.recovery_types.scene import Recovered, all_done, began
from replay.guarantees.recovery_types.streams import Streams
from replay.guarantees.recovery_types.twice import against, against_states, of_one
from replay.model import MAIN, TaskId

MOST_BYTES = 16 << 20
"""Of one attempt; what more has is not read for it."""


def operator_classes(source: RecordingSource, story: Story, streams: Streams) -> Iterator[OfVertex]:
    """Of every vertex, in the manifest's order. What can't be read of a task is said, and the others are looked at."""
    for vertex in source.manifest.vertices:
        found = OfVertex(vertex.id)
        tasks = [task.id for task in source.manifest.tasks if task.vertex == vertex.id]
        try:
            of_logs(source, vertex, found)
        except ReplayError as fault:
            found.open.append(
                (f"What {printable(vertex.id)} chose can't be read: {fault}", printable(fault.path or ""))
            )
        for task in tasks:
            try:
                _OfTask(source, story, streams, task, found).look()
            except (ReplayError, DivergenceFound) as fault:
                found.open.append((f"What {printable(task)} made can't be read: {fault}", f"tasks/{task}/"))
        yield found


class _OfTask:
    """One task's attempts, each by itself and beside the one whose work it did again."""

    def __init__(self, source: RecordingSource, story: Story, streams: Streams, task: TaskId, found: OfVertex):
        self.source, self.story, self.streams = source, story, streams
        self.task, self.found = task, found

    def look(self) -> None:
        where = redacted_in(self.source, self.task)
        if where:
            said = f"What {printable(self.task)} made can't be compared: {where} is redacted"
            self.found.open.append((said, "what is redacted"))
            return
        for attempt in self.source.attempts(self.task):
            if (self.task, attempt) in self.story.starts and self._is_small(attempt):
                self._of_attempt(began(self.source, self.story, self.task, attempt, -1, all_done))
        self._emptied()

    def _emptied(self) -> None:
        """The latest attempt that has a log; of what is told otherwise each time it would show nothing."""
        if {"deterministic", "delivery-dependent"} & set(self.found.against):
            return
        logged = [one for one in self.source.attempts(self.task) if self.source.epochs(self.task, one, MAIN)]
        for attempt in logged[-1:]:
            beside = beside_itself(self.source, self.story, self.task, attempt)
            if beside.against is not None:
                self.found.add(beside.against)
            if beside.open:
                said = f"Whether {printable(self.task)} would converge from an empty state is open: {beside.open}"
                self.found.open.append((said, "a longer recording"))

    def _is_small(self, attempt: int) -> bool:
        shape = self.source.graph.task(self.task)
        names = [*self.source.members.names(f"tasks/{self.task}/{attempt}/")]
        for channel in shape.inputs:
            above = self.source.graph.channel(channel)
            names += [
                name
                for sender in self.source.attempts(above.source)
                for name in self.source.members.names(f"tasks/{above.source}/{sender}/sent-{above.k}/")
            ]
        size = sum(self.source.members.size(name) for name in names)
        if size > MOST_BYTES:
            said = f"What attempt {attempt} of {printable(self.task)} made of its records was not looked at"
            self.found.open.append((said, f"fewer than {MOST_BYTES:,} bytes that it took and gave; there are {size:,}"))
        return size <= MOST_BYTES

    def _of_attempt(self, one: Recovered) -> None:
        new = executed(self.streams, one, one.attempt)
        for found in of_one(new):
            self.found.add(found)
        if one.before and self._is_small(one.before[0]) and not one.lost:
            self._beside(one, executed(self.streams, one, one.before[0]), new)

    def _beside(self, one: Recovered, old: Executed, new: Executed) -> None:
        for found in against(old, new):
            self.found.add(found)
        for checkpoint in self.source.epochs(self.task, new.attempt, "state"):
            states = [self.source.state(self.task, attempt, checkpoint) for attempt in (old.attempt, new.attempt)]
            if checkpoint > one.checkpoint and states[0] is not None and states[1] is not None:
                both = states[0].get("operator"), states[1].get("operator")
                for found in against_states(old, new, checkpoint, both):
                    self.found.add(found)
