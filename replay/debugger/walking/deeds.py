"""What the recovery manager does in a replay, held against what the recording says that it did."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.answers import Answers
from replay.debugger.recorded.scene import Scene
from replay.debugger.recorded.story import Event, extents_of
from replay.debugger.writing.steps import StepWriter
from replay.model import TaskId

_FIELDS = {
    "replay-requested": ("channel", "epoch", "skip"),
    "determinants-requested": ("of", "channel", "epoch"),
    "determinants-returned": ("of", "channel", "result", "logs"),
    "escalated": (),
}
EFFECTS = tuple(_FIELDS)
"""The kinds of events that tell of what the manager asked for."""

_TOLD = "told"


@dataclass(slots=True)
class Deeds:
    """Both sides come in their own order; whoever is first waits for the other.

    `of_states`, `of_effects`: whether the recording tells of them at all, so that it binds.
    """

    scene: Scene
    answers: Answers
    steps: StepWriter
    of_states: bool
    of_effects: bool
    _entered: deque[tuple[str, str]] = field(default_factory=deque)
    _done: deque[tuple[str, dict[str, Any], int]] = field(default_factory=deque)

    @classmethod
    def of(cls, scene: Scene, answers: Answers, steps: StepWriter, events: Iterable[Event]) -> Deeds:
        """As far as the attempt's events tell of them."""
        kinds = {event.get("type") for event in events}
        return cls(scene, answers, steps, "recovery-state" in kinds, not kinds.isdisjoint(EFFECTS))

    def loosen(self) -> None:
        """From here on the recording binds no more."""
        self.of_states = self.of_effects = False

    # --- what the manager does ---

    def went(self, before: str, after: str) -> None:
        """From one state to another."""
        if self.of_states:
            if self._entered and self._entered[0] == (_TOLD, after):
                self._entered.popleft()
            else:
                self._entered.append((before, after))

    def did(self, kind: str, step: int, **fields: Any) -> None:
        """Asked for something, in that step."""
        if self.of_effects:
            self._done.append((kind, fields, step))

    # --- what the recording says ---

    def told_that_it_went(self, event: Event, awaited: Callable[[], str]) -> None:
        """`awaited` says what the manager waits for, where it did not."""
        before, after = str(event.get("from")), str(event.get("to"))
        if self._entered and self._entered[0] == (before, after):
            self._entered.popleft()
        elif after == "Running" and not self._entered:
            self._entered.appendleft((_TOLD, "Running"))
        else:
            seen = f"{self._entered[0][0]} to {self._entered[0][1]}" if self._entered else "nothing"
            found = DivergenceFound(
                f"Event {event['n']} records that {self.scene.task} went from {before} to {after}, but the recovery "
                f"manager does {seen} there{awaited()}.",
                member="events.ndjson",
                event=event["n"],
                asked=seen,
                logged=f"{before} to {after}",
            )
            self.steps.findings.differs(found)

    def told_that_it_did(self, kind: str, event: Event) -> int | None:
        """The step in which it did; None where it did not."""
        fields = _fields_of(event)
        if self._done and (self._done[0][:2] == (kind, fields) or self._is_tie(event)):
            return self._done.popleft()[2]
        asked = str(self._done[0][:2]) if self._done else "nothing"
        found = DivergenceFound(
            f"Event {event['n']} records {kind} {fields} at {self.scene.task}, but the recovery manager asks for "
            f"{asked} there.",
            member="events.ndjson",
            event=event["n"],
            asked=asked,
            logged=f"{kind} {fields}",
        )
        self.steps.findings.differs(found)
        if any(one == kind for one, *_ in self._done):
            while self._done.popleft()[0] != kind:  # what stands there in its place was the one that was meant
                pass
        return None

    def _is_tie(self, event: Event) -> bool:
        """A delta of the very microsecond of an answer may have come before or after it."""
        (kind, expected, _), fields = self._done[0], _fields_of(event)
        if kind != "determinants-returned" or event.get("type") != kind:
            return False
        if any(fields[key] != expected[key] for key in ("of", "channel")):
            return False
        said, most = _lengths(fields["logs"]), _lengths(expected["logs"])
        results = fields["result"], expected["result"]
        # Where that delta brought the first bytes there are, the one is held and the other is not.
        if results[0] != results[1] and (any(said.values()) or results != ("failed-too", "held")):
            return False
        of = TaskId(str(fields["of"]))
        before = self.answers.held_by(self.scene.task, self.scene.attempt, of, 0, int(event["t_us"]) - 1)
        least = {log: upto for log, upto in _lengths(before.extents()).items() if log in most}
        return all(upto <= most.get(log, -1) for log, upto in said.items()) and all(
            upto <= said.get(log, 0) for log, upto in least.items()
        )

    def check_all_told(self, later: Iterable[Event]) -> None:
        """At the end: what the manager did stands in the recording, or `later`, in what is not come to."""
        if not self.of_effects:
            return
        for before, after in self._entered if self.of_states else ():
            if before != _TOLD:
                self._differs(
                    f"goes from {before} to {after}, but the recording has no recovery-state event that says so",
                    f"{before} to {after}",
                )
        to_come = [(str(event.get("type")), _fields_of(event)) for event in later]
        for kind, fields, _ in self._done:
            if (kind, fields) not in to_come:
                self._differs(f"asks for {kind} {fields}, but the recording has no such event", f"{kind} {fields}")

    def _differs(self, how: str, asked: str) -> None:
        found = DivergenceFound(
            f"The recovery manager {how} at {self.scene.task}, attempt {self.scene.attempt}.",
            member="events.ndjson",
            asked=asked,
            logged="nothing",
        )
        self.steps.findings.differs(found)


def _fields_of(event: Event) -> dict[str, Any]:
    return {key: event.get(key) for key in _FIELDS.get(str(event.get("type")), ())}


def _lengths(extents: Any) -> dict[tuple[str, int], int]:
    listed = (
        [list(one) if isinstance(one, tuple) else one for one in extents] if isinstance(extents, list | tuple) else []
    )
    return {(thread, epoch): upto for _, thread, epoch, upto in extents_of({"logs": listed})}
