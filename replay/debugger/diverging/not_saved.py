"""What an operator keeps between records, and its snapshots do not hold: it is gone in whoever is restored from one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.debugger.executing.bystander import Bystander
from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.verify import Silent, operator_of, plan_of_attempt, verify_attempt
from replay.debugger.hunting.canonical import TooLarge, canonical
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import CorruptMember
from replay.runtime.operators import Operator
from replay.runtime.operators.surrounded import innermost


class _Taken(Exception):
    """The snapshot that is looked for was taken just now."""


class _UpToSnapshot(Silent):
    def __init__(self, comparison: Comparison, checkpoint: int):
        super().__init__(comparison)
        self._checkpoint = checkpoint

    def snapshot_taken(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """Ends the execution at the one that is looked for, if it is as recorded."""
        super().snapshot_taken(checkpoint, state)
        if checkpoint == self._checkpoint:
            raise _Taken


def state_is_not_saved(source: RecordingSource, story: Story, plan: Plan, found: DivergenceFound) -> bool:
    """Whether who took the snapshot makes what is recorded, from its own log, and whoever was restored from it does
    not: of the same inputs, with the same choices."""
    taker = _taker(source, plan, found)
    if taker is None:
        return False
    try:
        return verify_attempt(source, story, plan.task, taker).compared > 0
    except (DivergenceFound, Missing, CorruptMember):
        return False


def _taker(source: RecordingSource, plan: Plan, found: DivergenceFound) -> int | None:
    """The attempt that made what the replay parts from, if it took the snapshot that the replay begins with."""
    folder, *rest = str(found.detail.get("member")).split("/")
    if not plan.checkpoint or folder != "tasks" or len(rest) < 2 or rest[0] != plan.task or not rest[1].isdigit():
        return None
    taker = int(rest[1])
    return taker if source.state(plan.task, taker, plan.checkpoint) is not None else None


def attributes_not_saved(source: RecordingSource, story: Story, plan: Plan, found: DivergenceFound) -> list[str]:
    """The operator's attributes that are others in what a plan begins with than in who took the snapshot."""
    taker = _taker(source, plan, found)
    if taker is None:
        return []
    restored = _attributes(Execution(source, plan, operator_of(source, plan.task), Bystander()).body.operator)
    before = _at_snapshot(source, story, plan, taker)
    return sorted(name for name, value in before.items() if restored.get(name) != value)


def _at_snapshot(source: RecordingSource, story: Story, plan: Plan, taker: int) -> dict[str, str]:
    first = plan_of_attempt(source, story, plan.task, taker)
    watcher = _UpToSnapshot(Comparison(source, story, first), plan.checkpoint)
    execution = Execution(source, first, operator_of(source, plan.task), watcher)
    try:
        execution.start()
        while execution.step():
            pass
    except _Taken:
        return _attributes(execution.body.operator)
    return {}


def _attributes(operator: Operator) -> dict[str, str]:
    """What each of them is; of those that hold too much to be looked at, nothing is said."""
    found = {}
    for name, value in vars(innermost(operator)).items():
        try:
            found[name] = _content(value)
        except TooLarge:
            continue
    return found


def _content(value: Any) -> str:
    """Snapshots need not keep the order of a dictionary, nor its class."""
    if isinstance(value, Mapping):
        return canonical({(canonical(key), canonical(one)) for key, one in list(value.items())})
    return canonical(value)
