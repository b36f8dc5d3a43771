"""Turns: what the events tell of when a relay begins to tell a receiver everything anew, and when it forgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.model import ChannelId, TaskId

Execution = tuple[TaskId, int]
"""A task's attempt."""


@dataclass(slots=True)
class Turns:
    """`asked_again`: by channel and sender's attempt, when its receiver asked from which epoch on. `forgot`: when an
    attempt heard of which completed checkpoint. `restored`: the checkpoint that an attempt began at. `questions`: when
    an attempt asked for its own log, from which epoch on. `answered`: when it last heard an answer."""

    asked_again: dict[tuple[ChannelId, int], list[tuple[int, int]]] = field(default_factory=dict)
    forgot: dict[Execution, list[tuple[int, int]]] = field(default_factory=dict)
    restored: dict[Execution, int] = field(default_factory=dict)
    questions: dict[Execution, list[tuple[int, int]]] = field(default_factory=dict)
    answered: dict[Execution, int] = field(default_factory=dict)
    completed: list[tuple[int, int]] = field(default_factory=list)
    rollbacks: list[int] = field(default_factory=list)
    escalated: bool = False
    gaps: bool = False

    def follow(self, event: Mapping[str, Any]) -> None:
        """Takes in one event; what is not well formed tells nothing."""
        t_us, attempt = event.get("t_us"), event.get("attempt")
        if type(t_us) is not int:
            return
        match event:
            case {"type": "replay-request-received", "channel": str(channel), "epoch": int(epoch)}:
                if type(attempt) is int:
                    self.asked_again.setdefault((ChannelId(channel), attempt), []).append((t_us, epoch))
            case {"type": "checkpoint-notified", "at": str(at), "checkpoint": int(checkpoint)}:
                if type(attempt) is int:
                    self.forgot.setdefault((TaskId(at), attempt), []).append((t_us, checkpoint))
            case {"type": "attempt-started", "task": str(task), "checkpoint": int(checkpoint)}:
                if type(attempt) is int:
                    self.restored[TaskId(task), attempt] = checkpoint
            case {"type": "determinants-requested", "at": str(at), "of": str(of), "epoch": int(epoch)} if at == of:
                if type(attempt) is int:
                    self.questions.setdefault((TaskId(at), attempt), []).append((t_us, epoch))
            case {"type": "determinants-received", "at": str(at), "of": str(of)} if at == of:
                if type(attempt) is int:
                    self.answered[TaskId(at), attempt] = t_us
            case {"type": "checkpoint-completed", "checkpoint": int(checkpoint)}:
                self.completed.append((t_us, checkpoint))
            case {"type": "global-rollback"}:
                self.rollbacks.append(t_us)
            case {"type": "escalated"}:
                self.escalated = True
            case {"type": "gap"}:
                self.gaps = True

    def lineage(self, t_us: int) -> int:
        """How many rollbacks there were by then."""
        return sum(one <= t_us for one in self.rollbacks)


def turns_of(events: Iterable[Mapping[str, Any]]) -> Turns:
    """Of a recording's events, in their order."""
    found = Turns()
    for event in events:
        found.follow(event)
    return found


class AskedAgain:
    """When the receiver of one channel's sender knows nothing (any more) of what it was sent."""

    def __init__(self, requests: list[tuple[int, int]]) -> None:
        self._requests = requests
        self._at = 0
        self._receiver: int | None = None

    def from_epoch(self, t_us: int, receiver: int, restored: int) -> int | None:
        """From which epoch on a sending at that time begins anew; None where it goes on."""
        epoch = restored if receiver != self._receiver else None
        self._receiver = receiver
        while self._at < len(self._requests) and self._requests[self._at][0] <= t_us:
            epoch = self._requests[self._at][1]
            self._at += 1
        return epoch
