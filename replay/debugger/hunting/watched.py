"""Stands before an operator: everything that it is asked to do is listened to."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import Any

from replay.debugger.hunting.interception import Interception, RealCall, own_modules
from replay.debugger.hunting.readings import Moment
from replay.jobs.installed import find_installed
from replay.jobs.registry import OPERATORS, new_operator
from replay.model import Record, Vertex
from replay.runtime.operators import Context, Operator, Timer


class Hunt:
    """Makes operators that are listened to. `step` says how many steps there are so far."""

    def __init__(self, calls: list[RealCall], shared: Any, system: Any, step: Callable[[], int]):
        self.step = step
        self.modules: frozenset[str] = frozenset()
        self.operators: dict[str, str] = {}
        self.by_task: dict[str, Watched] = {}
        self.listens = Interception(calls, shared, system, lambda: self.modules)

    def operator(self, vertex: Vertex) -> Operator:
        """As `new_operator`; what importing and making it reads is heard too."""
        installed = None if vertex.operator in OPERATORS else find_installed(vertex.operator)
        self.operators[vertex.operator] = "" if installed is None else installed.package
        if installed is not None:
            self.modules |= {installed.target.partition(":")[0]}
        begun = self.step()
        with self.listens.listening(Moment("import", step=begun)):
            made = new_operator(vertex)
        self.modules |= own_modules(type(made))
        return Watched(made, self, begun)

    def step_of(self, task: str, element: int) -> int | None:
        """The step at which a task's operator was given its so-and-so-many-th element, made and opened being two."""
        steps = self.by_task[task].steps if task in self.by_task else array("q")
        return steps[element] if 0 <= element < len(steps) else None


class Watched(Operator):
    """As the operator, listened to."""

    def __init__(self, operator: Operator, hunt: Hunt, begun: int):
        self.steps = array("q", [begun])
        self.stands_for = type(operator)
        self._operator = operator
        self._hunt = hunt
        self._context: Any = None

    def _moment(self, call: str, *, known: bool = True) -> Moment:
        """Looking at an operator's state is nothing that it is given. A body that is being made knows no place yet."""
        step = self._hunt.step()
        if call != "snapshot":
            self.steps.append(step)
        task, body = self._context.task, self._context if known else None
        return Moment(call, getattr(body, "epoch", 0), getattr(body, "record_count", 0), step, task)

    def open(self, context: Context) -> None:
        """As the operator."""
        self._context = context
        self._hunt.by_task[context.task] = self
        with self._hunt.listens.listening(self._moment("open", known=False)):
            self._operator.open(context)

    def on_record(self, record: Record, context: Context) -> None:
        """As the operator."""
        with self._hunt.listens.listening(self._moment("on_record")):
            self._operator.on_record(record, context)

    def on_timer(self, timer: Timer, context: Context) -> None:
        """As the operator."""
        with self._hunt.listens.listening(self._moment("on_timer")):
            self._operator.on_timer(timer, context)

    def on_watermark(self, watermark_ms: int, context: Context) -> None:
        """As the operator."""
        with self._hunt.listens.listening(self._moment("on_watermark")):
            self._operator.on_watermark(watermark_ms, context)

    def snapshot(self) -> dict[str, Any]:
        """As the operator."""
        with self._hunt.listens.listening(self._moment("snapshot")):
            return self._operator.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """As the operator."""
        with self._hunt.listens.listening(self._moment("restore", known=False)):
            self._operator.restore(state)
