"""Why a replay is likely to have parted from its recording: found out by executing again, not by guessing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.debugger.diverging.not_saved import attributes_not_saved, state_is_not_saved
from replay.debugger.diverging.probe import Again, executed_again
from replay.debugger.diverging.side_by_side import SideBySide, beside
from replay.debugger.diverging.source_line import SourceLine
from replay.debugger.diverging.unlogged import OutsideCall, OutsideCalls
from replay.debugger.executing.execution import Execution
from replay.debugger.executing.verify import operator_of, verify_attempt
from replay.debugger.hunting.hearing import deaf
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.debugger.writing.words import counted
from replay.errors import CorruptMember, printable
from replay.jobs.code import operator_digest
from replay.runtime.operators import Operator
from replay.runtime.operators.surrounded import innermost

DIAGNOSED_BYTES = 32 << 20
"""Of the buffers of a task and of those above it: where there are more, nothing is executed again to find a reason."""
_SIBLINGS = 6
_FEW_BITS = 2


@dataclass(frozen=True, slots=True)
class Reason:
    """`code` is one of `REASONS`; `evidence` are the observations that led to it, each a sentence."""

    code: str
    words: str
    evidence: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As an outcome's detail carries it."""
        return {"code": self.code, "words": self.words, "evidence": list(self.evidence)}


REASONS = (
    "unlogged-clock",
    "unlogged-random",
    "unlogged-environment",
    "unlogged-file",
    "unlogged-network",
    "unlogged-choice",
    "iteration-order",
    "state-not-saved",
    "operator-changed",
    "corrupt-recording",
    "undecided",
)

_OF_CALLS: Mapping[str, tuple[str, str]] = {
    "clock": ("unlogged-clock", "a clock that no determinant covers"),
    "random": ("unlogged-random", "a random number that no determinant covers"),
    "environment": ("unlogged-environment", "the environment of its process, which no determinant covers"),
    "files": ("unlogged-file", "a file, which no determinant covers"),
    "network": ("unlogged-network", "the network, which no determinant covers"),
    "machine": ("unlogged-environment", "the machine or its processes, which no determinant covers"),
}
_SHUFFLING = ("random", "identity")
_KEPT_IN_A_PROCESS = ("environment", "files", "machine")


@dataclass(slots=True)
class Diagnosis:
    """Of one divergence. `line` and `sides` are what was seen on the way, where anything was executed again."""

    source: RecordingSource
    story: Story
    found: DivergenceFound
    line: SourceLine | None = None
    sides: SideBySide | None = None
    evidence: list[str] = field(default_factory=list)

    def reason(self) -> Reason:
        """The likely one. What contradicts itself without anything being executed is damaged."""
        execution = self.found.execution
        if not isinstance(execution, Execution):
            return Reason(
                "corrupt-recording",
                "The recording contradicts itself, whatever an operator does: it is damaged, or was changed.",
            )
        if "why" in self.found.detail and "tag" in self.found.detail:
            return Reason("corrupt-recording", "The log does not decode there: it is damaged.")
        if self._buffer_bytes(execution) > DIAGNOSED_BYTES:
            return self._decided("undecided", "What diverged is too large to be executed again to find out why.")
        return self._by_executing(execution)

    def _decided(self, code: str, words: str) -> Reason:
        return Reason(code, words, tuple(self.evidence))

    def _by_executing(self, execution: Execution) -> Reason:
        plan, calls = execution.plan, OutsideCalls()
        kind = type(innermost(execution.body.operator))

        def make() -> Operator:
            made = operator_of(self.source, plan.task)
            return made if type(made) is kind else kind()

        with deaf():
            once = executed_again(self.source, self.story, plan, make)
            twice = executed_again(self.source, self.story, plan, lambda: calls.around(kind, make))
        if once.found is not None:
            self._look_at(execution, once)
        after = execution.body.processed if self.sides is None else self.sides.after
        if self._differ(once, twice):
            return self._unlogged(calls.suspects(after) or calls.during(after))
        if once.found is not None:
            self.evidence.append("Executed twice more, it parts from the recording at the same place in the same way.")
        return self._same_each_time(execution, calls.suspects(after))

    def _look_at(self, execution: Execution, once: Again) -> None:
        found = once.found
        if found is None:
            return
        self.line = once.probe.code.line_raised(found)
        byte, buffer = found.detail.get("byte"), found.detail.get("buffer")
        if isinstance(byte, int) and isinstance(buffer, int):
            self.line = once.line_that_wrote(byte)
            attempt = int(str(found.detail["member"]).split("/")[2])
            self.sides = beside(self.source, execution.plan.task, attempt, once, byte, buffer)

    def _differ(self, once: Again, twice: Again) -> bool:
        """Whether two executions of the same inputs and choices, or the replay itself, came out otherwise."""
        if once.place != twice.place:
            self.evidence.append(
                "Executed twice more with the same inputs and choices, it did something else each time."
            )
            return True
        if once.found is None:
            self.evidence.append("Executed once more with the same inputs and choices, it does not diverge.")
            return True
        names = ("thread", "epoch", "offset", "member", "channel", "buffer", "byte", "asked")
        if [once.found.detail.get(name) for name in names] != [self.found.detail.get(name) for name in names]:
            self.evidence.append(
                "Executed once more with the same inputs and choices, it parts from the recording otherwise."
            )
            return True
        return False

    def _unlogged(self, calls: list[OutsideCall]) -> Reason:
        """What differs between two executions of the same log is chosen by something that the log doesn't know."""
        # What the environment or a file says does not change between one execution and the next.
        changing = [one for one in calls if one.kind not in _KEPT_IN_A_PROCESS]
        if changing or calls:
            return self._by_calls(changing or calls)
        return self._decided(
            "unlogged-choice",
            f"The operator{self._at_line()} makes a choice that no determinant covers; no call of a clock, of chance, "
            f"environment, file or network was seen, so that it follows from an identity, an address, another thread, "
            f"or what its module or class keeps from one execution to the next.",
        )

    def _by_calls(self, calls: list[OutsideCall]) -> Reason:
        """Of one kind, that is it; of several, nobody can tell which of them it is."""
        self.evidence += [f"The operator calls {one}." for one in calls[:5]]
        self.line = self.line or calls[0].line
        kinds = {one.kind for one in calls}
        if len(kinds) > 1:
            named = ", ".join(map(str, calls[:5]))
            return self._decided(
                "unlogged-choice",
                f"The operator asks for what no determinant covers, and which of it made the difference can't be told: "
                f"{named}.",
            )
        (kind,) = kinds
        if kind not in _OF_CALLS:
            return self._decided(
                "unlogged-choice", f"The operator uses {calls[0]}, whose value changes from execution to execution."
            )
        code, what = _OF_CALLS[kind]
        return self._decided(code, f"The operator asks {what}: {calls[0]}. In a replay it gives something else.")

    def _same_each_time(self, execution: Execution, calls: list[OutsideCall]) -> Reason:
        """`calls`: what it read past its log that may have made the difference."""
        sides = self.sides
        if sides is not None and sides.held is None:
            self.evidence.append("What the recording holds there can't be read as a record.")
            return self._decided(
                "corrupt-recording", "The recording is damaged: no operator writes what it holds there."
            )
        with deaf():
            if state_is_not_saved(self.source, self.story, execution.plan, self.found):
                return self._not_saved(execution)
        changed = self._code_changed(execution)
        agree, differ = self._siblings(execution)
        ordered = self._if_ordered()
        if ordered and not changed and all(one.kind not in _SHUFFLING for one in calls):
            return ordered[0]  # nothing else that was read puts the same things in another order
        possible = [*self._if_changed(changed, agree, differ), *ordered, *self._if_bits(changed, agree)]
        if calls and not possible:
            return self._by_calls(calls)
        if len(possible) == 1 and not calls:
            return possible[0]
        if possible:
            self.evidence += [f"The operator calls {one}." for one in calls[:5]]
            named = [*(one.words.rstrip(".") for one in possible), *(f"it calls {one}" for one in calls[:3])]
            return self._decided("undecided", f"One of several, and which can't be told: {'; '.join(named)}.")
        if agree:
            return self._single_spot(agree, known=changed is not None)
        if changed is None:
            return self._decided(
                "undecided",
                "The operator was changed since the recording, or the recording is damaged here: the recording names "
                "no code, and there is no other execution of this operator to compare with.",
            )
        self.evidence.append("The operator's code is that which the recording names.")
        return self._of_its_process(differ)

    def _of_its_process(self, differ: int) -> Reason:
        """The same code does otherwise, and the same each time: what it follows stays as it is within a process."""
        follows = "the order of texts in a set, or what was read once and kept; a hunt tells which"
        if not differ:
            return self._decided(
                "undecided",
                f"The recording is damaged here, or the operator{self._at_line()} follows what is another in each "
                f"process, as {follows}: there is no other execution of it to compare with.",
            )
        self.evidence.append(f"Of the same operator {_others(differ)} nothing replays as recorded either.")
        return self._decided(
            "unlogged-choice",
            f"The operator{self._at_line()} makes a choice that no determinant covers, and that is the same within a "
            f"process, as {follows}.",
        )

    def _not_saved(self, execution: Execution) -> Reason:
        """Its code, its process, its inputs and its choices are those of who made what is recorded: its state isn't."""
        plan = execution.plan
        with deaf():
            names = attributes_not_saved(self.source, self.story, plan, self.found)
        shown = ", ".join(printable(name, 40) for name in names[:5])
        if names:
            self.evidence.append(f"After it was restored, the operator is another one in {shown}.")
        self.evidence.append("Who took the snapshot makes what is recorded, from its own log.")
        return self._decided(
            "state-not-saved",
            f"The operator keeps between records what its snapshots do not hold{f', in {shown}' if names else ''}: who "
            f"took that of checkpoint {plan.checkpoint} goes on as recorded, and whoever is restored from it does not.",
        )

    def _if_changed(self, changed: str | None, agree: int, differ: int) -> list[Reason]:
        """Where its code is known it is another one; else nothing of the same operator replays as recorded."""
        if changed:
            self.evidence.append(f"{changed} is not the code that the recording names.")
            words = f"The operator was changed since the recording{self._shown()}."
        elif changed is None and differ and not agree:
            self.evidence.append(f"Of the same operator {_others(differ)} nothing else replays as recorded either.")
            words = "The operator was changed since the recording: it does otherwise wherever it is executed."
        else:
            return []
        return [self._decided("operator-changed", words)]

    def _if_ordered(self) -> list[Reason]:
        if self.sides is None or not self.sides.same_in_another_order:
            return []
        self.evidence.append("The replay makes the same as the recording holds, in another order.")
        words = (
            f"The order of iteration over a set or a dictionary{self._at_line()} is not that of the first execution: "
            f"the order of texts in a set changes from process to process."
        )
        return [self._decided("iteration-order", words)]

    def _if_bits(self, changed: str | None, agree: int) -> list[Reason]:
        """What one flipped bit explains; where nothing else of a changed operator agrees, it is no damage."""
        bits = None if self.sides is None else self.sides.bits
        if bits is None or bits > _FEW_BITS or (changed and not agree):
            return []
        self.evidence.append(f"The two buffers differ in {counted(bits, 'bit')}.")
        words = "The recording is damaged: single bits of it have another value."
        return [self._decided("corrupt-recording", words)]

    def _single_spot(self, agree: int, *, known: bool) -> Reason:
        if known:
            self.evidence.append("The operator's code is that which the recording names.")
        if agree:
            self.evidence.append(f"The same operator replays as recorded in {counted(agree, 'other execution')}.")
        return self._decided(
            "corrupt-recording", "The recording is damaged here: its operator does elsewhere what was recorded."
        )

    def _shown(self) -> str:
        return "" if self.line is None else f"; what differs comes from {self.line}"

    def _at_line(self) -> str:
        return "" if self.line is None else f" in {self.line}"

    # --- what else is known of the operator ---

    def _code_changed(self, execution: Execution) -> str | None:
        """The operator's name where its code is not the recorded one, "" where it is; None where that isn't known."""
        code = self.source.manifest.raw.get("code")
        recorded = code.get("operators") if isinstance(code, Mapping) else None
        name = self.source.graph.vertex_of(execution.plan.task).operator
        if not isinstance(recorded, Mapping) or not isinstance(recorded.get(name), str):
            return None
        here = operator_digest(type(operator_of(self.source, execution.plan.task)))
        return None if here is None else printable(name) if here != recorded[name] else ""

    def _siblings(self, execution: Execution) -> tuple[int, int]:
        """How many other executions of the same operator replay as recorded, and how many do not.

        Held against itself alone, the attempt that is replayed is one of them, where it parts from one before it.
        """
        operator = self.source.graph.vertex_of(execution.plan.task).operator
        own = execution.plan.task, execution.plan.take_from[0]
        folder = f"tasks/{own[0]}/{own[1]}/"
        parted_from_itself = str(self.found.detail.get("member", folder)).startswith(folder)
        others = [
            (task, attempt)
            for task in self.source.graph.order
            if self.source.graph.vertex_of(task).operator == operator
            for attempt in self.source.attempts(task)
            if (task, attempt) != own or not parted_from_itself
        ]
        agree = differ = 0
        for task, attempt in others[:_SIBLINGS]:
            try:
                compared = verify_attempt(self.source, self.story, task, attempt)
                agree += bool(compared.compared)
            except DivergenceFound:
                differ += 1
            except (Missing, CorruptMember):
                continue
        return agree, differ

    def _buffer_bytes(self, execution: Execution) -> int:
        graph, members = self.source.graph, self.source.members
        tasks = {execution.plan.task, *graph.upstream(execution.plan.task)}
        names = (name for task in tasks for name in members.names(f"tasks/{task}/") if name.endswith(".buf"))
        return sum(members.size(name) for name in names)


def _others(differ: int) -> str:
    return f"in {counted(differ, 'other execution')}"
