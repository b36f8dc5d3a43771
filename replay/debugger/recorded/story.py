"""The recording's events as a replay needs them: failures, attempts, and what each attempt noticed, in order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.causality.life import ENDED_WITH_RECORDING, Life, life_of, lives
from replay.errors import ReplayError, printable

Event = Mapping[str, Any]

_LEFT_OUT = frozenset({"metric", "checkpoint-acknowledged", "checkpoint-notified", "epoch-precommitted"})


@dataclass(slots=True)
class Story:
    """Read once. `of_attempt` holds what happened at an attempt, by (task, attempt).

    `losses`: where choices were given up, and where an attempt began without determinants for that; `valid_from`: of
    each the first checkpoint that was triggered after it, where one was.
    """

    failures: dict[int, Event] = field(default_factory=dict)
    starts: dict[tuple[str, int], Event] = field(default_factory=dict)
    of_attempt: dict[tuple[str, int], list[Event]] = field(default_factory=dict)
    by_number: dict[int, Event] = field(default_factory=dict)
    rollbacks: list[Event] = field(default_factory=list)
    losses: list[Event] = field(default_factory=list)
    valid_from: list[int] = field(default_factory=list)
    activations: dict[int, Event] = field(default_factory=dict)
    lives: dict[str, list[Life]] = field(default_factory=dict)
    records_states: bool = False
    unreadable: str | None = None

    @classmethod
    def read(cls, events: Iterable[Event]) -> Story:
        """Up to a fault in the member, which is kept as a sentence."""
        story = cls()
        kept: list[Event] = []
        try:
            for event in events:
                kept.append(event)
                story._take(event)
        except ReplayError as fault:
            story.unreadable = str(fault)
        story.lives = lives(kept)
        return story

    def _take(self, event: Event) -> None:
        kind, number = event.get("type"), event.get("n")
        if kind in _LEFT_OUT:
            return
        if isinstance(number, int):
            self.by_number[number] = event
        self.records_states = self.records_states or kind == "recovery-state"
        if kind == "escalated" or (kind == "attempt-started" and event.get("diverged") is True):
            self.losses.append(event)
        elif kind == "checkpoint-triggered" and len(self.valid_from) < len(self.losses):
            missing = len(self.losses) - len(self.valid_from)
            self.valid_from += [event.get("checkpoint", 0)] * missing
        task, attempt = event.get("at", event.get("task")), event.get("attempt")
        if kind == "task-failed" and isinstance(event.get("failure"), int):
            self.failures[event["failure"]] = event
        elif kind == "attempt-started" and isinstance(task, str) and isinstance(attempt, int):
            self.starts[str(event.get("task", task)), attempt] = event
        elif kind == "global-rollback":
            self.rollbacks.append(event)
        elif kind in ("standby-activated", "task-rescheduled") and isinstance(event.get("failure"), int):
            self.activations[event["failure"]] = event
        elif isinstance(task, str) and isinstance(attempt, int):
            self.of_attempt.setdefault((task, attempt), []).append(event)

    def failure(self, number: int) -> Event:
        """The `task-failed` event of a failure."""
        if number not in self.failures:
            known = ", ".join(str(one) for one in sorted(self.failures)) or "none"
            named = next((n for n, one in sorted(self.by_number.items()) if one.get("failure") == number), None)
            if named is not None:
                raise ReplayError(
                    f"the recording has no failure {number}, though event {named} of events.ndjson names it: its "
                    f"task-failed event is missing",
                    remedy=f"Its failures are: {known}",
                )
            raise ReplayError(f"the recording has no failure {number}", remedy=f"Its failures are: {known}")
        return self.failures[number]

    def failed_us(self, number: int | None) -> int:
        """When a failure happened; 0 where the recording does not say."""
        t_us = self.failures.get(-1 if number is None else number, {}).get("t_us")
        return t_us if isinstance(t_us, int) else 0

    def first_failure(self, task: str | None) -> int:
        """The first failure, or the first of that task."""
        found = [n for n, event in sorted(self.failures.items()) if task is None or event.get("task") == task]
        if not found:
            whose = "nothing failed" if task is None else f"{printable(task)} never failed"
            raise ReplayError(
                f"{whose} in this recording", remedy="--attempt K executes an attempt again from its own log"
            )
        return found[0]

    def checkpoint_of(self, task: str, attempt: int) -> int:
        """The checkpoint that an attempt restored; 0 is the initial state."""
        checkpoint = self.starts.get((task, attempt), {}).get("checkpoint", 0)
        return checkpoint if isinstance(checkpoint, int) else 0

    def start_of(self, task: str, attempt: int) -> tuple[int, tuple[str, ...]]:
        """When an attempt began, and the event that tells of it as a cause; (0, nothing) where none does."""
        event = self.starts.get((task, attempt), {})
        number, t_us = event.get("n"), event.get("t_us")
        return (t_us, (f"event:{number}",)) if isinstance(number, int) and isinstance(t_us, int) else (0, ())

    def returned_to(self, task: str, attempt: int) -> dict[tuple[str, int], int]:
        """How many bytes of each of its logs came back to an attempt: (thread, epoch) to the longest extent."""
        found: dict[tuple[str, int], int] = {}
        for event in self._answers_to(task, attempt):
            for owner, thread, epoch, upto in extents_of(event):
                if owner == task:
                    found[thread, epoch] = max(upto, found.get((thread, epoch), 0))
        return found

    def _answers_to(self, task: str, attempt: int) -> list[Event]:
        """The answers that counted: a later one on a channel replaces the one before, a channel's loss voids it."""
        counted: dict[str, Event] = {}
        for event in self.of_attempt.get((task, attempt), ()):
            kind, channel = event.get("type"), str(event.get("channel"))
            if kind == "recovery-state" and event.get("to") == "Replaying":
                break
            if kind == "determinants-received" and event.get("of") == task:
                counted[channel] = event
            elif kind == "channel-lost" and self.records_states:
                counted.pop(channel, None)
        return list(counted.values())

    def states_of(self, task: str, attempt: int) -> list[str]:
        """The recovery states that the attempt is recorded to have entered, in order."""
        events = self.of_attempt.get((task, attempt), ())
        return [str(event.get("to")) for event in events if event.get("type") == "recovery-state"]

    def last_state(self, task: str, attempt: int) -> str:
        """The recovery state that an attempt ended in."""
        return (self.states_of(task, attempt) or ["Standby"])[-1]

    def began_to_replay(self, task: str, attempt: int) -> bool:
        """Whether the attempt came so far as to process records; true where states are not recorded."""
        if self.records_states:
            return "Replaying" in self.states_of(task, attempt)
        return (task, attempt) in self.starts

    def processed(self, task: str, attempt: int) -> bool:
        """Whether the attempt executed anything: from the start, after a rollback, or or once its recovery let it."""
        whole = attempt == 0 or self.was_rolled_back_to(task, attempt)
        return whole or self.began_to_replay(task, attempt)

    def was_cut_short(self, task: str, attempt: int) -> bool:
        """Whether a failure or a rollback ended the attempt."""
        life = life_of(self.lives, task, attempt)
        return life is not None and life.ended_by != ENDED_WITH_RECORDING

    def was_rolled_back_to(self, task: str, attempt: int) -> bool:
        """Whether the attempt began with a global rollback."""
        return "rollback" in self.starts.get((task, attempt), {})

    def void_before(self, task: str, above: Collection[str], t_us: int) -> int | None:
        """Past lost choices of it or of one of the tasks above it: before which epoch a task's log is not shared.

        0 where nothing was lost by then; None: before any, as no checkpoint was triggered since.
        """
        found = 0
        for number, event in enumerate(self.losses):
            begins_anew = event.get("task") == task and event.get("type") == "attempt-started"
            if (begins_anew or event.get("task") in above) and event["t_us"] <= t_us:
                if number >= len(self.valid_from):
                    return None
                found = max(found, self.valid_from[number])
        return found

    def recovers_without_determinants(self, task: str, attempt: int) -> bool:
        """Whether the attempt began past choices that were lost, so that no log binds it."""
        return self.starts.get((task, attempt), {}).get("diverged") is True

    @property
    def without_determinants(self) -> frozenset[tuple[str, int]]:
        """All such attempts."""
        return frozenset(one for one in self.starts if self.recovers_without_determinants(*one))

    def attempts(self, task: str) -> frozenset[int]:
        """The attempts of a task that any event tells of."""
        told = (attempt for one, attempt in (*self.starts, *self.of_attempt) if one == task)
        return frozenset((*told, *(life.attempt for life in self.lives.get(task, ()))))

    def lineage_before(self, task: str, attempt: int, recorded: Iterable[int]) -> tuple[int, ...]:
        """The attempts whose logs and buffers an attempt continues, the latest first.

        A rollback cuts the chain, and so does an execution that was free: one to which nothing was returned. Of
        attempts that neither an event nor a member (`recorded`) tells of there is nothing to look at: a recording
        may give an attempt any number, and those below it are not counted through.
        """
        chain: list[int] = []
        known = self.attempts(task).union(recorded)
        for before in sorted((one for one in known if 0 <= one < attempt), reverse=True):
            if self.was_rolled_back_to(task, attempt):
                break
            if self.began_to_replay(task, attempt) and not any(self.returned_to(task, attempt).values()):
                break
            attempt = before
            chain.append(attempt)
        return tuple(chain)


def extents_of(event: Event) -> list[tuple[str, str, int, int]]:
    """The `logs` of an answer, those that are well formed."""
    found = []
    logs = event.get("logs")
    for extent in logs if isinstance(logs, list | tuple) else ():
        if isinstance(extent, list) and len(extent) == 4:
            task, thread, epoch, upto = extent
            if isinstance(task, str) and isinstance(thread, str) and type(epoch) is int and type(upto) is int:
                found.append((task, thread, epoch, upto))
    return found
