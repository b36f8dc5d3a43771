"""Executes an attempt from its own log and notes what each call of its operator gave away, and what it is then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

from replay.debugger.executing.bystander import Bystander
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.verify import operator_of, plan_of_attempt
from replay.debugger.hunting.canonical import TooLarge, canonical
from replay.debugger.hunting.hearing import is_operators, own_modules
from replay.debugger.hunting.line_trace import LineTrace
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.debugger.sides.trace import digest, shown
from replay.debugger.writing.state_keys import flat
from replay.errors import ReplayError
from replay.jobs.installed import find_installed
from replay.jobs.registry import OPERATORS, new_operator
from replay.model import Record, TaskId, Vertex, json_bytes
from replay.runtime.operators import Operator
from replay.runtime.operators.surrounded import Surrounded

T = TypeVar("T")

MOST_CALLS = 100_000
LOOKED_AT_ONCE_IN = 64
"""Calls between two looks at an operator that holds much."""
Write = Callable[[dict[str, Any]], None]


class _Enough(BaseException):
    """As many calls as are looked at."""


@dataclass(slots=True)
class Noting:
    """Writes a note per call of the operator: its number, what was called, where, what it gave, what it is then.

    Of the calls within `traced` the note holds everything: lines, values and state.
    """

    source: RecordingSource
    task: TaskId
    attempt: int
    write: Write
    traced: frozenset[int] = frozenset()
    most_calls: int = MOST_CALLS
    calls: int = -1
    elements: int = -1
    modules: frozenset[str] = frozenset()
    operator: Operator | None = None
    execution: Execution | None = None
    outputs: list[tuple[str, str]] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    trace: LineTrace | None = None
    _large: bool = False

    def run(self) -> None:
        """To the end of the log, or to where the execution and the log part."""
        ended = ""
        try:
            plan = self._plan()
            operator = operator_of(self.source, self.task, self.operators)
            giving = _Giving(self)
            self.execution = Execution(self.source, plan, operator, giving)
            self.execution.body.observer = giving
            self.execution.start()
            while self.execution.step():
                pass
        except (DivergenceFound, Missing) as found:
            ended = found.sentence
        except ReplayError as fault:
            ended = str(fault)
        except _Enough:
            self.write({"enough": self.calls})
        self.write({"end": ended})

    def _plan(self) -> Plan:
        return plan_of_attempt(self.source, Story.read(self.source.events()), self.task, self.attempt)

    def operators(self, vertex: Vertex) -> Operator:
        """The operator, noted; importing and making it is its first call."""
        installed = None if vertex.operator in OPERATORS else find_installed(vertex.operator)
        if installed is not None:
            self.modules = frozenset((installed.target.partition(":")[0],))
        made = self.called("import", lambda: new_operator(vertex))
        self.modules |= own_modules(type(made))
        self.operator = made
        return Noted(made, self)

    def called(self, method: str, action: Callable[[], T]) -> T:
        """Does it, and notes what came of it."""
        self.calls += 1
        self.elements += method != "snapshot"
        if self.calls > self.most_calls:
            raise _Enough
        self.outputs, self.given = [], []
        follow = self.calls in self.traced
        self.trace = LineTrace(lambda module: is_operators(module, self.modules)) if follow else None
        with nullcontext() if self.trace is None else self.trace.following():
            result = action()
        if method == "snapshot":
            self.gave("its snapshot", json_bytes(result))
        self.write(self._note(method) | (self._all() if follow else {}))
        self.trace = None
        return result

    def _note(self, method: str) -> dict[str, Any]:
        body = None if self.execution is None else self.execution.body
        where = [0, 0] if body is None else [body.epoch, body.record_count]
        return {
            "call": self.calls,
            "element": self.elements,
            "method": method,
            "at": where,
            "gave": self.outputs,
            "is": self._is(),
        }

    def _is(self) -> str | None:
        """What the operator is, by its attributes; where that is much, it is looked at now and then."""
        if self.operator is None or (self._large and self.calls % LOOKED_AT_ONCE_IN):
            return None
        try:
            return canonical(vars(self.operator), 1 << 30 if self._large else 2000)
        except TooLarge:
            self._large = True
            return None
        except Exception as fault:  # an edge: looking at an operator's attributes may run its own code
            return f"not to be looked at: {type(fault).__name__}"

    def _all(self) -> dict[str, Any]:
        state = {} if self.operator is None else flat(self.operator.snapshot())
        events = [] if self.trace is None else [tuple(event) for event in self.trace.events]
        return {"events": events, "state": state, "given": self.given}

    def gave(self, where: str, data: bytes) -> None:
        """The call that is being made gave something away."""
        self.outputs.append((where, digest(data).hex()))
        if self.trace is not None:
            self.given.append(shown(data.decode("utf-8", "replace")))
            self.trace.emitted(digest(data).hex())


class Noted(Surrounded):
    """As the operator; each call is noted."""

    def __init__(self, operator: Operator, noting: Noting):
        super().__init__(operator)
        self._noting = noting

    def called(self, method: str, action: Callable[[], T]) -> T:
        """Notes what came of it."""
        return self._noting.called(method, action)


@dataclass(frozen=True, slots=True)
class _Giving(Bystander):
    """What is written, to an output or to the world outside, is given away; nothing is compared with the recording."""

    noting: Noting

    def wrote(self, record: Record) -> None:
        self.noting.gave("the world outside", record.to_body())

    def writing(self, k: int, record: Record, data: bytes) -> None:
        shape = self.noting.source.graph.task(self.noting.task)
        self.noting.gave(shape.outputs[k].channel, data[4:])
