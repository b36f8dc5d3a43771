"""What changed in a task's state, told once of everything that its operator was given."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from replay.debugger.ports import Change
from replay.debugger.writing.state_watch import StateWatch
from replay.debugger.writing.steps import StepWriter
from replay.debugger.writing.words import counted
from replay.runtime.body.task import TaskBody
from replay.runtime.operators import Operator

_NOTHING: Mapping[str, str] = MappingProxyType({})


class StateNotes:
    """`left`: what an earlier attempt of the task, in the same steps, left behind."""

    def __init__(self, steps: StepWriter, body: TaskBody, left: Mapping[str, str]) -> None:
        self._steps = steps
        self._body = body
        self._left = dict(left)
        self._watch = StateWatch(body.operator)
        self._is_source = not body.shape.inputs
        self.due = False
        """Whether the operator was given something since."""

    def replace(self, operator: Operator) -> None:
        """Another operator has taken over the state."""
        self._watch.replace(operator)

    def note(self, step: int | None, *, always: bool = False) -> None:
        """What changed since belongs to the step of what the operator was given last."""
        if step is None or not (self.due or always):
            return
        self.due = False
        of_task = self._of_task() if self._is_source or self._body.watermark_ms is not None else _NOTHING
        changes = self._watch.look(of_task, always=always)
        if self._left:
            changes = self._since_left(changes)
        if changes:
            self._steps.changed(step, changes)

    def _of_task(self) -> Mapping[str, str]:
        watermark_ms = self._body.watermark_ms
        offset = {"source.offset": str(self._body.source_offset)} if self._is_source else {}
        return offset if watermark_ms is None else {**offset, "watermark_ms": str(watermark_ms)}

    def _since_left(self, changes: list[Change]) -> list[Change]:
        """What the earlier attempt left is what stood there before; what this one has not got is gone."""
        left, self._left = self._left, {}
        begun = [(key, left.pop(key, before), after) for key, before, after in changes]
        gone = [(key, value, None) for key, value in reversed(left.items())]
        return [change for change in begun if change[1] != change[2]] + gone

    @property
    def behind(self) -> bool:
        """Whether the state was too large to be looked at the last time."""
        return self._watch.behind

    @property
    def state(self) -> dict[str, str]:
        """As the changes so far add up to it."""
        return self._watch.state

    @property
    def resolution(self) -> dict[str, str]:
        """Said where the state is too large to be looked at after every record."""
        if not self._watch.skipped:
            return {}
        times = counted(self._watch.skipped, "time")
        return {"state_resolution": f"the state is large: it was not looked at {times}, and its changes told later"}
