"""What the tasks of one replay tell one another: which step asked, answered or sent what another takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.recorded.story import Event, Story

Attempt = tuple[str, int]
Sending = tuple[str, int, int]
"""(channel, sender's attempt, buffer)."""

TOLD_TO_OTHERS = frozenset({"replay-requested", "determinants-requested", "determinants-returned"})


@dataclass(slots=True)
class Exchange:
    """Between the `attempts` that are replayed together. `did` and `sent` name the steps of what others wait for.

    `verified` keeps what came of executing an attempt again in silence, as several of them would look at the same.
    """

    attempts: set[Attempt]
    awaited: dict[int, Attempt]
    did: dict[int, int] = field(default_factory=dict)
    sent: dict[Sending, int] = field(default_factory=dict)
    states: dict[str, dict[str, str]] = field(default_factory=dict)
    verified: dict[Attempt, DivergenceFound | Missing | None] = field(default_factory=dict)
    receivers: frozenset[str] = frozenset()

    @classmethod
    def between(cls, story: Story, attempts: Collection[Attempt]) -> Exchange:
        """Knows from the recording what each of them will tell others."""
        awaited = {
            event["n"]: one
            for one in attempts
            for event in story.of_attempt.get(one, ())
            if event.get("type") in TOLD_TO_OTHERS and isinstance(event.get("n"), int)
        }
        return cls(set(attempts), awaited, receivers=frozenset(task for task, _ in attempts))

    # --- what one does ---

    def told(self, event: Event, step: int) -> None:
        """What this event records was done at that step."""
        if self.awaited.pop(event.get("n", -1), None) is not None:
            self.did[event["n"]] = step

    def was_sent(self, channel: str, attempt: int, seq: int, step: int) -> None:
        """A buffer went out."""
        if channel.partition(">")[2] in self.receivers:
            self.sent[channel, attempt, seq] = step

    def ended(self, attempt: Attempt, state: Mapping[str, str] | None) -> None:
        """It does no more: nobody has to wait for it."""
        self.attempts.discard(attempt)
        self.awaited = {number: one for number, one in self.awaited.items() if one != attempt}
        if state is not None:
            self.states[attempt[0]] = dict(state)

    # --- what another takes ---

    def caused(self, event: Event) -> tuple[str, ...]:
        """The step of what an event is the arrival of, as a cause."""
        step = self.did.get(_number(event.get("re")))
        return () if step is None else (f"step:{step}",)

    def taken(self, channel: str, attempt: int, seq: int) -> tuple[str, ...]:
        """The step at which a buffer was sent, as a cause."""
        step = self.sent.pop((channel, attempt, seq), None)
        return () if step is None else (f"step:{step}",)

    def waits_for_event(self, event: Event) -> bool:
        """Whether what it is the arrival of is still to be done."""
        return _number(event.get("re")) in self.awaited

    def waits_for_buffer(self, channel: str, attempt: int, seq: int) -> bool:
        """Whether it is still to be sent."""
        return (channel.partition(">")[0], attempt) in self.attempts and (channel, attempt, seq) not in self.sent


def _number(value: Any) -> int:
    return value if isinstance(value, int) else -1
