"""Stands before an operator: everything that it is asked to do is listened to."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from replay.debugger.hunting.hearing import Heard, Hearing, own_modules
from replay.debugger.hunting.readings import Moment, Readings
from replay.jobs.installed import find_installed
from replay.jobs.registry import OPERATORS, new_operator
from replay.model import Vertex
from replay.runtime.operators import Context, Operator
from replay.runtime.operators.surrounded import Surrounded

T = TypeVar("T")


class Hunt:
    """Makes operators that are listened to. `step` says how many steps there are so far."""

    def __init__(self, step: Callable[[], int]):
        self.step = step
        self.readings = Readings()
        self.modules: frozenset[str] = frozenset()
        self.operators: dict[str, str] = {}
        self.by_task: dict[str, Watched] = {}
        self._moment = Moment("open")
        self._hearing = Hearing(lambda: self.modules, self._note)

    def operator(self, vertex: Vertex) -> Operator:
        """As `new_operator`; what importing and making it reads is heard too."""
        installed = None if vertex.operator in OPERATORS else find_installed(vertex.operator)
        self.operators[vertex.operator] = "" if installed is None else installed.package
        if installed is not None:
            self.modules |= {installed.target.partition(":")[0]}
        begun = self.step()
        with self.listening(Moment("import", step=begun)):
            made = new_operator(vertex)
        self.modules |= own_modules(type(made))
        return Watched(made, self, begun)

    @contextmanager
    def listening(self, moment: Moment) -> Iterator[None]:
        """While an operator is at work; `moment` says where the replay stands."""
        self._moment = moment
        with self._hearing.listening():
            yield

    def _note(self, heard: Heard) -> None:
        place = heard.frame.f_code.co_filename, heard.line
        self.readings.note(heard.call.kind, heard.call.name, place, heard.through, self._moment, heard.detail)

    def step_of(self, task: str, element: int) -> int | None:
        """The step at which a task's operator was given its so-and-so-many-th element, made and opened being two."""
        steps = self.by_task[task].steps if task in self.by_task else array("q")
        return steps[element] if 0 <= element < len(steps) else None


class Watched(Surrounded):
    """As the operator, listened to."""

    def __init__(self, operator: Operator, hunt: Hunt, begun: int):
        super().__init__(operator)
        self.steps = array("q", [begun])
        self._hunt = hunt
        self._context: Any = None

    def open(self, context: Context) -> None:
        """As the operator."""
        self._context = context
        self._hunt.by_task[context.task] = self
        super().open(context)

    def called(self, method: str, action: Callable[[], T]) -> T:
        """What it reads is heard."""
        with self._hunt.listening(self._moment(method)):
            return action()

    def _moment(self, call: str) -> Moment:
        """Looking at an operator's state is nothing that it is given. A body that is being made knows no place yet."""
        step = self._hunt.step()
        if call != "snapshot":
            self.steps.append(step)
        task, body = self._context.task, None if call in ("open", "restore") else self._context
        return Moment(call, getattr(body, "epoch", 0), getattr(body, "record_count", 0), step, task)
