"""What is left of a task that fails at a moment of a recording: what comes back of its logs, and who depends on more.

The task's own recovery manager asks; whoever lives then answers with what it held at that moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from replay.causality.frontiers import frontiers
from replay.causality.life import attempt_at
from replay.debugger.forks.answering import Answering
from replay.debugger.recorded.answers import disagreeing
from replay.debugger.recorded.story import Story
from replay.debugger.writing.words import bytes_of, listed
from replay.errors import CorruptRecording
from replay.model import ChannelId, TaskId
from replay.recovery import (
    ChannelReconnected,
    DeterminantsReturned,
    Escalate,
    Event,
    Logs,
    RecoveryManager,
    RecoveryStarted,
    RequestDeterminants,
    RestoreStarted,
    Setting,
    StartReplaying,
    StateRestored,
)
from replay.recovery.answers import Answer
from replay.recovery.effects import Effect


@dataclass(frozen=True, slots=True)
class Orphan:
    """A task that lives and depends on more of a log than comes back."""

    task: str
    attempt: int
    thread: str
    epoch: int
    depends_on: int
    returned: int

    def to_json(self) -> dict[str, Any]:
        """As reports hold it."""
        return {
            "task": self.task,
            "attempt": self.attempt,
            "thread": self.thread,
            "epoch": self.epoch,
            "depends_on": self.depends_on,
            "returned": self.returned,
        }


@dataclass(slots=True)
class Survival:
    """`attempt` of `task` fails at `t_us`, when `down` were down; the next one begins from `checkpoint`.

    `returned` None: its recovery never comes to replaying, as it `escalates`.
    """

    task: TaskId
    attempt: int
    t_us: int
    checkpoint: int
    down: tuple[str, ...]
    answers: dict[ChannelId, Answer] = field(default_factory=dict)
    returned: Logs | None = None
    escalates: str | None = None
    orphans: tuple[Orphan, ...] = ()

    @property
    def size(self) -> int:
        """How many bytes of log come back."""
        return sum(len(copy.data) for copy in self.returned or ())

    def words(self) -> str:
        """What would come of it."""
        what = f"checkpoint {self.checkpoint}" if self.checkpoint else "the beginning"
        begins = f"its next attempt begins from {what}"
        if self.escalates is not None and self.returned is None:
            return f"{begins} and gives up recovering by itself: {self.escalates}"
        back = f"{bytes_of(self.size)} of its logs come back" if self.size else "nothing of its logs comes back"
        if not self.orphans:
            return f"{begins}, {back}, and nobody who lives depends on more"
        who = listed(sorted({one.task for one in self.orphans}))
        return f"{begins}, {back}, and {who} would depend on choices that are lost: orphans"

    def to_json(self) -> dict[str, Any]:
        """As reports hold it."""
        return {
            "task": self.task,
            "attempt": self.attempt,
            "t_us": self.t_us,
            "checkpoint": self.checkpoint,
            "down": list(self.down),
            "answers": {channel: one.result for channel, one in sorted(self.answers.items())},
            "returned": None if self.returned is None else [list(one) for one in self.returned.extents()],
            "escalates": self.escalates,
            "orphans": [one.to_json() for one in self.orphans],
            "not_known": (
                f"What was on its way when {self.task} failed may still have come to its holders before they "
                f"answered: then more comes back. And one of them may fail before it is asked, or the outside world "
                f"may not have accepted the last write: then less does."
            ),
        }


def completed_checkpoint(story: Story, t_us: int) -> int:
    """The last one that was complete at a time; 0 is the beginning."""
    done = (one for one in story.by_number.values() if one.get("type") == "checkpoint-completed")
    found = (one.get("checkpoint") for one in done if int(one["t_us"]) <= t_us)
    return max((one for one in found if isinstance(one, int)), default=0)


def survival(asked: Answering, task: TaskId) -> Survival:
    """Works the recovery of a task out, as far as to what comes back. `asked.down` has the task among the others."""
    story, t_us = asked.story, asked.t_us
    down = tuple(sorted(asked.down - {task}))
    found = Survival(task, attempt_at(story.lives, task, t_us), t_us, completed_checkpoint(story, t_us), down)
    manager = RecoveryManager(Setting.of(asked.graph, task))
    try:
        for effect in _recovering(manager, asked, found):
            if isinstance(effect, StartReplaying):
                found.returned = effect.logs
            elif isinstance(effect, Escalate):
                found.escalates = effect.why
    except CorruptRecording as fault:
        raise disagreeing(fault) from None
    if found.returned is not None:
        found.orphans = tuple(_orphans(asked, found))
    return found


def _recovering(manager: RecoveryManager, asked: Answering, found: Survival) -> Iterator[Effect]:
    """What the manager asks for, from its beginning until it replays or gives up."""
    setting = manager.setting
    events: tuple[Event, ...] = (
        RestoreStarted(found.checkpoint),
        StateRestored(found.checkpoint),
        RecoveryStarted(),
        *(ChannelReconnected(one, "input", 0) for one in setting.inputs),
        *(ChannelReconnected(one, "output", 0) for one in setting.outputs),
    )
    requests: list[RequestDeterminants] = []
    for event in events:
        for effect in manager.handle(event):
            if isinstance(effect, RequestDeterminants):
                requests.append(effect)
            yield effect
    for request in requests:
        answer = found.answers[request.channel] = asked.asked(request.channel, request.of, request.epoch)
        yield from manager.handle(DeterminantsReturned(request.channel, request.of, answer.result, answer.logs))


def _orphans(asked: Answering, found: Survival) -> Iterator[Orphan]:
    """Of each log, who depended at that time on more than what comes back."""
    back = {(copy.log.thread, copy.epoch): len(copy.data) for copy in found.returned or ()}
    depends: dict[tuple[str, int, str, int], int] = {}
    for row in frontiers(asked.source):
        if row.of_task != found.task or row.t_us > found.t_us or row.epoch < found.checkpoint:
            continue
        if row.task in asked.down or row.attempt != attempt_at(asked.story.lives, row.task, found.t_us):
            continue
        place = row.task, row.attempt, row.thread, row.epoch
        depends[place] = max(row.upto, depends.get(place, 0))
    for (task, attempt, thread, epoch), upto in sorted(depends.items()):
        returned = back.get((thread, epoch), 0)
        if upto > returned:
            yield Orphan(task, attempt, thread, epoch, upto, returned)
