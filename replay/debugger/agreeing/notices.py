"""Who is told of checkpoints, as events tell: that one is completed, all who execute hear; that one is let go stands in
the log of whoever heard it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event, Story
from replay.errors import CorruptDeterminant
from replay.log.codec import decode_all
from replay.log.determinants import IgnoreCheckpoint
from replay.model import MAIN, TaskId

_Who = tuple[str, int]
"""(task, attempt)."""


def check_notices(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first checkpoint of which somebody was not told who must have been."""
    if source.manifest.clock.kind == "virtual" and source.manifest.complete:
        _Notices(source).run()


def check_let_go(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first checkpoint that a log lets go, of which no event tells."""
    if source.manifest.clock.kind != "virtual" or not source.manifest.protocol.logs:
        return
    story = Story.read(source.events())
    told = {
        (str(event.get("task")), event.get("attempt"), event.get("checkpoint"))
        for event in story.by_number.values()
        if event.get("type") == "checkpoint-ignored"
    }
    for task in source.graph.order:
        for attempt in source.attempts(task):
            for path, offset, checkpoint in _let_go(source, story, task, attempt):
                if (task, attempt, checkpoint) not in told:
                    raise DivergenceFound(
                        f"{path} at offset {offset} lets checkpoint {checkpoint} go, but no checkpoint-ignored event "
                        f"of attempt {attempt} of {task} tells of it.",
                        member=path,
                        offset=offset,
                        checkpoint=checkpoint,
                    )


def _let_go(source: RecordingSource, story: Story, task: TaskId, attempt: int) -> list[tuple[str, int, int]]:
    """(member, offset, checkpoint) of its own choices; what was returned to it was told to an attempt before."""
    returned, found = story.returned_to(task, attempt), []
    for epoch in source.epochs(task, attempt, MAIN):
        try:
            for offset, _, one in decode_all(source.log_bytes(task, attempt, MAIN, epoch)):
                if isinstance(one, IgnoreCheckpoint) and offset >= returned.get((MAIN, epoch), 0):
                    found.append((member_name(task, attempt, MAIN, epoch), offset, one.checkpoint))
        except CorruptDeterminant:
            return []  # found out where that log is looked at
    return found


@dataclass(slots=True)
class _Notices:
    """`due`: by attempt, the checkpoints that were completed while it executed, and the events that tell so;
    `to_let_go`: those that were aborted, as a task above it had failed. `detected`: who had, by the event."""

    source: RecordingSource
    executing: dict[str, int] = field(default_factory=dict)
    loading: dict[str, int] = field(default_factory=dict)
    loaded: dict[str, int] = field(default_factory=dict)
    due: dict[_Who, dict[int, int]] = field(default_factory=dict)
    to_let_go: dict[_Who, dict[int, int]] = field(default_factory=dict)
    acknowledged: dict[_Who, set[int]] = field(default_factory=dict)
    recovered: set[_Who] = field(default_factory=set)
    failed: dict[object, str] = field(default_factory=dict)
    detected: dict[object, str] = field(default_factory=dict)

    def run(self) -> None:
        """Nobody is at the end of the job before all were told: whoever lived until then was, of every checkpoint."""
        for event in self.source.events():
            if isinstance(event.get("n"), int):
                self._take(event["n"], event)
        for (task, attempt), checkpoints in self.due.items():
            for checkpoint, completed in checkpoints.items():
                if self.executing.get(task) == attempt:
                    self._not_told(completed, task, attempt, checkpoint)
        for (task, attempt), checkpoints in self.to_let_go.items():
            for checkpoint, aborted in checkpoints.items():
                if self.executing.get(task) == attempt:
                    self._not_let_go(aborted, task, attempt, checkpoint)

    def _take(self, number: int, event: Event) -> None:
        kind, task, attempt = event.get("type"), event.get("task"), event.get("attempt")
        checkpoint = event.get("checkpoint")
        if kind == "global-rollback":
            self.executing, self.loading, self.loaded = {}, {}, {}
        elif kind == "checkpoint-completed" and isinstance(checkpoint, int):
            for who in self.executing.items():
                self.due.setdefault(who, {})[checkpoint] = number
        elif kind == "failure-detected":
            self.detected[number] = self.failed.get(event.get("failure"), "")
        elif kind == "checkpoint-aborted" and isinstance(checkpoint, int):
            self._abort(number, checkpoint, self.detected.get(event.get("re"), ""))
        elif not isinstance(task, str) or not isinstance(attempt, int):
            return
        elif kind == "attempt-started" and attempt == 0:
            self.executing[task] = attempt
        elif kind == "attempt-started" and "rollback" in event:
            self.loading[task] = attempt
        elif kind == "state-restored" and self.loading.get(task) == attempt:
            self.loaded[task] = attempt
            if len(self.loaded) == len(self.source.graph.order):
                self.executing |= self.loaded  # all begin with the last one
        elif kind == "task-failed":
            self.executing.pop(task, None)
            self.failed[event.get("failure")] = task
        elif kind == "recovery-state" and event.get("to") == "Replaying":
            self.executing[task] = attempt
            self.recovered.add((task, attempt))
        elif kind == "checkpoint-notified" and isinstance(checkpoint, int):
            self.due.get((task, attempt), {}).pop(checkpoint, None)
        elif kind in ("checkpoint-ignored", "checkpoint-acknowledged") and isinstance(checkpoint, int):
            self.acknowledged.setdefault((task, attempt), set()).add(checkpoint)
            self.to_let_go.get((task, attempt), {}).pop(checkpoint, None)

    def _abort(self, number: int, checkpoint: int, failed: str) -> None:
        """Who is below the task that failed can't align it. Who had acknowledged it has nothing to let go, and who
        recovered may be told when all of it is rebuilt, by when it may not matter."""
        below = self.source.graph.all_downstream(TaskId(failed)) if failed in self.source.graph else ()
        for task in below:
            who = str(task), self.executing.get(task, -1)
            if who[1] >= 0 and who not in self.recovered and checkpoint not in self.acknowledged.get(who, ()):
                self.to_let_go.setdefault(who, {})[checkpoint] = number

    def _not_told(self, number: int, task: str, attempt: int, checkpoint: int) -> NoReturn:
        self._differs(
            number,
            f"checkpoint-completed ends checkpoint {checkpoint}, but no checkpoint-notified tells attempt {attempt} of "
            f"{task} of it, which executed from before it to the end of the job",
            checkpoint=checkpoint,
        )

    def _not_let_go(self, number: int, task: str, attempt: int, checkpoint: int) -> None:
        self._differs(
            number,
            f"checkpoint-aborted ends checkpoint {checkpoint}, but no checkpoint-ignored says that attempt {attempt} "
            f"of {task}, which is below the task that failed, let it go, nor that it had acknowledged it before",
            checkpoint=checkpoint,
        )

    def _differs(self, number: int, why: str, **detail: Any) -> NoReturn:
        raise DivergenceFound(f"Event {number}: {why}.", member="events.ndjson", event=number, **detail)
