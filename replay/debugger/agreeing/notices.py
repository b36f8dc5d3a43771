"""Who is told of checkpoints, as events tell: that one is completed, all who execute hear; that one is let go stands in
the log of whoever heard it."""

from __future__ import annotations

from collections.abc import Collection
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
from replay.runtime.checkpoints import COULD_NOT_BEGIN, NOT_COMPLETE

_Who = tuple[str, int]
"""(task, attempt)."""

_AS_SLOW = 4
"""What is under way takes no longer than so many times what others took at the most."""


def check_notices(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first checkpoint of which somebody was not told who must have been."""
    if source.manifest.clock.kind == "virtual" and source.manifest.complete:
        _Notices(source).run()


def check_let_go(source: RecordingSource, story: Story) -> None:
    """Raises `DivergenceFound` at the first checkpoint that a log lets go, of which no event tells."""
    if source.manifest.clock.kind != "virtual" or not source.manifest.protocol.logs:
        return
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
    `to_let_go`: those that were aborted, as a task above it had failed, or did not begin them. `detected`: who had
    failed, by the event; `given_up`: who has been told, by checkpoint, until a later one is completed. `said_us`: when
    the coordinator said what tasks are told of, by the event; `slowest_us`: how long that took at the most."""

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
    given_up: dict[int, set[TaskId]] = field(default_factory=dict)
    triggered_us: dict[int, int] = field(default_factory=dict)
    said_us: dict[object, int] = field(default_factory=dict)
    slowest_us: int = 0

    def run(self) -> None:
        """Nobody is at the end of the job before all were told: whoever lived until then was, of every checkpoint."""
        for event in self.source.events():
            if isinstance(event.get("n"), int) and isinstance(event.get("t_us"), int):
                self._time(event, str(event.get("type")), event["t_us"])
                self._take(event["n"], event)
        for (task, attempt), checkpoints in self.due.items():
            for checkpoint, completed in checkpoints.items():
                if self.executing.get(task) == attempt:
                    self._not_told(completed, task, attempt, checkpoint)
        for (task, attempt), checkpoints in self.to_let_go.items():
            for checkpoint, aborted in checkpoints.items():
                if self.executing.get(task) == attempt and not self._overtaken((task, attempt), checkpoint, aborted):
                    self._not_let_go(aborted, task, attempt, checkpoint)

    def _time(self, event: Event, kind: str, t_us: int) -> None:
        if kind == "checkpoint-triggered" and isinstance(event.get("checkpoint"), int):
            self.triggered_us[event["checkpoint"]] = t_us
        elif kind in ("checkpoint-completed", "checkpoint-aborted", "failure-detected"):
            self.said_us[event["n"]] = t_us
        elif kind in ("checkpoint-notified", "checkpoint-ignored"):
            self.slowest_us = max(self.slowest_us, t_us - self.said_us.get(event.get("re"), t_us))

    def _overtaken(self, who: _Who, checkpoint: int, said: int) -> bool:
        """Whether it may have passed the next one before it was told, that being triggered at about the same time."""
        later = min((one for one in self.acknowledged.get(who, ()) if one > checkpoint), default=None)
        until_us = self.said_us[said] + _AS_SLOW * self.slowest_us
        return later is not None and self.triggered_us.get(later, 0) <= until_us

    def _take(self, number: int, event: Event) -> None:
        kind, task, attempt = event.get("type"), event.get("task"), event.get("attempt")
        checkpoint = event.get("checkpoint")
        if kind == "global-rollback":
            self.executing, self.loading, self.loaded, self.given_up = {}, {}, {}, {}
        elif kind == "checkpoint-completed" and isinstance(checkpoint, int):
            self.given_up = {one: told for one, told in self.given_up.items() if one > checkpoint}
            for who in self.executing.items():
                self.due.setdefault(who, {})[checkpoint] = number
        elif kind == "failure-detected":
            self.detected[number] = self.failed.get(event.get("failure"), "")
            for before in self.given_up:  # whose barriers may still be under way
                self._let_go_below(number, before, self.detected[number])
        elif kind == "checkpoint-aborted" and isinstance(checkpoint, int):
            self.given_up[checkpoint] = set()
            for above in self._because_of(event):
                self._let_go_below(number, checkpoint, above)
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

    def _because_of(self, aborted: Event) -> Collection[str]:
        """Below whom nobody can align it, by the event that it follows from, or, where it just wasn't begun or didn't
        come to its end, by what it says itself."""
        of, why = aborted.get("re"), str(aborted.get("why"))
        if of in self.detected:
            return (self.detected[of],)
        if why.startswith(NOT_COMPLETE):
            return [task for task in self.source.graph.order if not self.source.graph.task(task).inputs]
        return (why.removesuffix(COULD_NOT_BEGIN),)

    def _let_go_below(self, number: int, checkpoint: int, above: str) -> None:
        """Who is below that task can't align it. Who had acknowledged it has nothing to let go, and who recovered may
        be told when all of it is rebuilt, by when it may not matter."""
        told = self.given_up[checkpoint]
        below = self.source.graph.all_downstream(TaskId(above)) - told if above in self.source.graph else set()
        told |= below
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
            f"checkpoint {checkpoint} was given up, but no checkpoint-ignored says that attempt {attempt} of {task}, "
            f"which is below the task for which it was, let it go, nor that it had acknowledged it before",
            checkpoint=checkpoint,
        )

    def _differs(self, number: int, why: str, **detail: Any) -> NoReturn:
        raise DivergenceFound(f"Event {number}: {why}.", member="events.ndjson", event=number, **detail)
