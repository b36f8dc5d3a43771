"""The recovery type of one failure, from what was found of all places where it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
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
from replay.guarantees.recovery_types.scene import Recovered, began, recovered
from replay.guarantees.recovery_types.states import met
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
    _lacks: dict[tuple[str, int], str] = field(default_factory=dict)

    def judge(self, failure: int) -> Judged:
        """What can't be read of it is said, and is not the end of all others."""
        try:
            one = recovered(self.source, self.story, failure)
        except ReplayError as fault:
            return Judged(failure, "undecided", sentence=str(fault), wants=printable(fault.path or "events.ndjson"))
        judged = Judged(failure, "undecided", one.task, one.attempt, one.rolled_back is not None)
        try:
            judged.found = list(self._found(one))
        except (ReplayError, DivergenceFound) as fault:
            judged.sentence, judged.wants = str(fault), printable(str(getattr(fault, "path", None) or fault))
            return judged
        self._decide(judged, one)
        return judged

    def _found(self, one: Recovered) -> Iterator[Finding]:
        if one.rolled_back is not None:
            for part in self._rolled_back(one):
                yield from missed(self.streams, part) if not self.source.graph.task(part.task).inputs else ()
                yield from Outside.of(self.streams, self.story, part.task).given(part)
            return
        survivors = Survivors(self.source, self.story, self.streams, one.begun_us, one.checkpoint)
        yield from missed(self.streams, one)
        yield from given_below(self.streams, survivors, one)
        yield from Outside.of(self.streams, self.story, one.task).given(one)

    def _rolled_back(self, one: Recovered) -> Iterator[Recovered]:
        """Every task's attempt that the same rollback began."""
        for (task, attempt), start in sorted(self.story.starts.items()):
            if start.get("rollback") == one.rolled_back and task in self.source.graph:
                yield began(self.source, self.story, TaskId(task), attempt, one.failure)

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
        elif worst == "incomplete":
            judged.type = "superseded" if one.ended_by in ("failure", "rollback") else "undecided"
            judged.wants = "" if judged.type == "superseded" else "the rest of the recording"
        self._doubt(judged, one)

    def _converging(self, judged: Judged, one: Recovered) -> None:
        state = met(self.source, self.story, one)
        if state is None:
            judged.type = "rollback"
            judged.wants = f"tasks/{one.task}/*/state/*.json: of a checkpoint that old and new attempts both came to"
            return
        judged.type = "convergent" if state.same else "divergent"
        judged.evidence += state.evidence
        how = "it came to the state that there had been" if state.same else "its state was another one"
        judged.sentence += f"; {state.where} {how}"

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
        below = [(task, attempt) for task in self.source.graph.downstream(one.task)
                 for attempt in self.source.attempts(task)]  # fmt: skip
        own = [(one.task, attempt) for attempt in (one.attempt, *one.before)]
        hidden = next((task for task in dict(own + below) if redacted_in(self.source, task)), None)
        if hidden is not None:
            return f"what is redacted of {printable(hidden)}: {redacted_in(self.source, hidden)}"
        return next((gone for each in own + below if (gone := self._lack(*each))), "")

    def _lack(self, task: TaskId, attempt: int) -> str:
        if (task, attempt) not in self._lacks:
            self._lacks[task, attempt] = gone(self.streams, self.story, task, attempt)
        return self._lacks[task, attempt]
