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
        self.operator_name = self.package = ""
        self.step_of_element = array("q")
        self.listens = Interception(calls, shared, system, lambda: self.modules)

    def moment(self, call: str, body: Any = None) -> Moment:
        """The operator is about to be called. Looking at its state is nothing that it is given."""
        step = self.step()
        if call != "snapshot":
            self.step_of_element.append(step)
        return Moment(call, getattr(body, "epoch", 0), getattr(body, "record_count", 0), step)

    def operator(self, vertex: Vertex) -> Operator:
        """As `new_operator`; what importing and making it reads is heard too."""
        installed = None if vertex.operator in OPERATORS else find_installed(vertex.operator)
        self.operator_name = vertex.operator
        if installed is not None:
            self.package = installed.package
            self.modules = frozenset((installed.target.partition(":")[0],))
        with self.listens.listening(self.moment("import")):
            made = new_operator(vertex)
        self.modules |= own_modules(type(made))
        return Watched(made, self)


class Watched(Operator):
    """As the operator, listened to."""

    def __init__(self, operator: Operator, hunt: Hunt):
        self._operator = operator
        self._hunt = hunt
        self._context: Any = None

    def _moment(self, call: str) -> Moment:
        return self._hunt.moment(call, self._context)

    def open(self, context: Context) -> None:
        """As the operator."""
        self._context = context
        # The body is still being made, so it can't say where it stands.
        with self._hunt.listens.listening(self._hunt.moment("open")):
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
        with self._hunt.listens.listening(self._hunt.moment("restore")):
            self._operator.restore(state)
