"""The recovery type of one failure, from what was found of all places where it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.debugger.redactions import redacted_in
from replay.errors import ReplayError, printable
from replay.guarantees.recovery_types.findings import WORST_FIRST, Finding
from replay.guarantees.recovery_types.inputs import missed
from replay.guarantees.recovery_types.outputs import given_below
from replay.guarantees.recovery_types.outside import Outside
from replay.guarantees.recovery_types.scene import Recovered, began, begins_anew, recoveries, seen_outside
from replay.guarantees.recovery_types.states import Met, met
from replay.guarantees.recovery_types.streams import Streams
from replay.guarantees.recovery_types.survivors import Survivors
from replay.guarantees.recovery_types.whole import gone
from replay.model import TaskId

Type = Literal["gap", "divergent", "convergent", "rollback", "repeating", "precise", "superseded", "undecided"]
TYPES: tuple[Type, ...] = (
    "gap", "divergent", "rollback", "convergent", "repeating", "undecided", "superseded", "precise",
)  # fmt: skip
"""The worst first. `rollback`: convergent or divergent, and nothing tells which; `superseded`: it failed again, or was
rolled back, before it had done all again, and what comes after that is another recovery's."""


_LEFT = ("incomplete", "superseded")
"""Something was left to do."""


@dataclass(slots=True)
class Judged:
    """One failure. `found`: the worst of each place; `wants`: what would decide it."""

    failure: int
    type: Type
    task: str = ""
    attempt: int | None = None
    rolled_back: bool = False
    sentence: str = ""
    evidence: tuple[str, ...] = ()
    wants: str = ""
    found: list[Finding] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As `numbers` hold it."""
        fields: dict[str, Any] = {"failure": self.failure, "type": self.type, "task": self.task}
        fields |= {"attempt": self.attempt, "rolled_back": self.rolled_back, "sentence": self.sentence}
        counts = {name: sum(one.count for one in self.found if one.found == name) for name in WORST_FIRST}
        return fields | {"repeated": counts["repeated"], "differs": counts["differs"], "lost": counts["lost"]}


@dataclass(slots=True)
class Judge:
    """Of one recording."""

    source: RecordingSource
    story: Story
    streams: Streams
    _judged: set[tuple[str, int]] = field(default_factory=set)
    _left: set[tuple[str, int]] = field(default_factory=set)
    _lacks: dict[tuple[str, int], str] = field(default_factory=dict)
    _states: dict[tuple[str, int], Met | None] = field(default_factory=dict)
    _unfinished: dict[tuple[str, int], bool] = field(default_factory=dict)

    def judge(self, failure: int) -> Judged:
        """What can't be read of it is said, and is not the end of all others."""
        try:
            ones = [self._began(*each, failure) for each in recoveries(self.source, self.story, failure)]
        except (ReplayError, DivergenceFound) as fault:
            wants = printable(str(getattr(fault, "path", None) or "events.ndjson"))
            return Judged(failure, "undecided", sentence=str(fault), wants=wants)
        one = ones[-1]
        judged = Judged(failure, "undecided", one.task, one.attempt, one.rolled_back is not None)
        try:
            # What a rollback leaves undone the next one that the same failure led to does.
            judged.found = [
                each for other in ones for each in self._found(other) if other is one or each.found not in _LEFT
            ]
        except (ReplayError, DivergenceFound) as fault:
            judged.sentence, judged.wants = str(fault), printable(str(getattr(fault, "path", None) or fault))
            return judged
        self._decide(judged, one)
        return judged

    def untold(self) -> Iterator[tuple[str, int]]:
        """Attempts that nothing is known of, once all failures were judged: of rollbacks that no failure led to, and
        those that had not done all, where none was judged that came after."""
        rolled_back = {key for key, start in self.story.starts.items() if "rollback" in start}
        yield from sorted(key for key in rolled_back - self._judged if key[0] in self.source.graph)
        for task, attempt in sorted(self._left):
            if not any(one == task and later > attempt for one, later in self._judged):
                yield task, attempt

    def _began(self, task: TaskId, attempt: int, failure: int) -> Recovered:
        return began(self.source, self.story, task, attempt, failure, self._is_unfinished)

    def _found(self, one: Recovered) -> Iterator[Finding]:
        for part in [one] if one.rolled_back is None else self._rolled_back(one):
            self._judged.add((part.task, part.attempt))
            for found in self._of_attempt(part):
                if found.found == "superseded":
                    self._left.add((part.task, part.attempt))
                yield found

    def _of_attempt(self, one: Recovered) -> Iterator[Finding]:
        followed = one.ended_by in ("failure", "rollback")
        for found in self._places(one):
            yield replace(found, found="superseded") if followed and found.found == "incomplete" else found

    def _places(self, one: Recovered) -> Iterator[Finding]:
        """Of a rollback's attempts what sources take, and what the outside gets: nobody else had lived on."""
        rolled_back = one.rolled_back is not None
        if not rolled_back or not self.source.graph.task(one.task).inputs:
            yield from missed(self.streams, one)
        if not rolled_back:
            survivors = Survivors(self.source, self.story, self.streams, one.begun_us, one.checkpoint)
            yield from given_below(self.streams, survivors, one)
        outside = Outside.of(self.streams, self.story, one.task)

        def adds_to_others(task: str, attempt: int) -> bool:
            return outside.holds_back(task, attempt) or self._is_unfinished(task, attempt)

        seen = seen_outside(self.story, one.task, one.attempt, self.source.attempts(one.task), adds_to_others)
        yield from outside.given(replace(one, before=seen))

    def _is_unfinished(self, task: str, attempt: int) -> bool:
        """The earliest first, as each is held against those before it, however many there are."""
        for one in self.source.attempts(TaskId(task)):
            if one > attempt:
                break
            if (task, one) not in self._unfinished and (one == attempt or begins_anew(self.story, task, one)):
                known = (task, one) in self.story.starts
                found = self._of_attempt(self._began(TaskId(task), one, -1)) if known else ()
                self._unfinished[task, one] = any(each.found in _LEFT for each in found)
        return self._unfinished.get((task, attempt), False)

    def _rolled_back(self, one: Recovered) -> Iterator[Recovered]:
        """Every task's attempt that the same rollback began."""
        for (task, attempt), start in sorted(self.story.starts.items()):
            if start.get("rollback") == one.rolled_back and task in self.source.graph:
                yield self._began(TaskId(task), attempt, one.failure)

    # --- what it comes to ---

    def _decide(self, judged: Judged, one: Recovered) -> None:
        worst = min((each.found for each in judged.found), key=WORST_FIRST.index, default="masked")
        first = next((each for each in judged.found if each.found == worst), Finding("masked"))
        judged.sentence, judged.evidence, judged.wants = first.sentence, first.evidence, first.wants
        if worst == "lost":
            judged.type = "gap"
        elif worst == "differs":
            self._converging(judged, one)
        elif worst == "repeated":
            judged.type = "repeating"
        elif worst == "masked":
            judged.type = "precise"
            judged.sentence = "nobody who lived on, nor the outside, can tell that it failed"
        elif worst == "superseded":
            judged.type = "superseded"
        elif worst == "incomplete":
            judged.wants = "the rest of the recording"
        self._doubt(judged, one)

    def _converging(self, judged: Judged, one: Recovered) -> None:
        """Of a rollback every task: all have to come to the states that there had been."""
        parts = [one] if one.rolled_back is None else [*self._rolled_back(one)]
        states = {part.task: self._met(part) for part in parts}
        told = {task: state for task, state in states.items() if state is not None}
        differing = next((task for task, state in told.items() if not state.same), None)
        if differing is None and len(told) < len(states):
            where = next(task for task in states if task not in told)
            judged.type = "rollback"
            judged.wants = f"tasks/{where}/*/state/*.json: of a checkpoint that old and new attempts both came to"
            return
        state = told[differing or one.task]
        judged.type = "convergent" if differing is None else "divergent"
        judged.evidence += state.evidence
        if one.rolled_back is not None:
            whose = f"{state.where} the state of {printable(differing)} was another one" if differing else ""
            judged.sentence += f"; {whose or 'every task came to the state that there had been'}"
        else:
            how = "its state was another one" if differing else "it came to the state that there had been"
            judged.sentence += f"; {state.where} {how}"

    def _met(self, one: Recovered) -> Met | None:
        key = one.task, one.attempt
        if key not in self._states:
            self._states[key] = met(self.source, self.story, one)
        return self._states[key]

    def _doubt(self, judged: Judged, one: Recovered) -> None:
        """What is hidden or gone may be what tells otherwise."""
        if judged.type in ("superseded", "undecided"):
            return
        # Two records that are there and are not the same stay so, whatever comes yet.
        proven = judged.type in ("gap", "rollback", "convergent", "divergent")
        wants = self._wants(one)
        if not wants and not proven and not self.source.manifest.complete:
            wants = "the rest of the recording, which is not complete"
        if wants:
            said = f"as far as the recording shows, it was {judged.type} ({judged.sentence})"
            judged.type, judged.sentence, judged.wants = "undecided", said, wants

    def _wants(self, one: Recovered) -> str:
        tasks = self.source.graph.downstream(one.task)
        if one.rolled_back is not None:
            tasks = tuple(task.id for task in self.source.manifest.tasks if task.id != one.task)
        below = [(task, attempt) for task in tasks for attempt in self.source.attempts(task)]
        own = [(one.task, attempt) for attempt in (one.attempt, *one.before)]
        hidden = next((task for task in dict(own + below) if redacted_in(self.source, task)), None)
        if hidden is not None:
            return f"what is redacted of {printable(hidden)}: {redacted_in(self.source, hidden)}"
        return next((gone for each in own + below if (gone := self._lack(*each))), "")

    def _lack(self, task: TaskId, attempt: int) -> str:
        if (task, attempt) not in self._lacks:
            self._lacks[task, attempt] = gone(self.streams, self.story, task, attempt)
        return self._lacks[task, attempt]
