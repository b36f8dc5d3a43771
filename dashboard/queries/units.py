"""What encloses a step: its record, its buffer, its epoch, its state; where they begin, and what comes behind them.

They nest: a record ends with the buffer that brought it, a buffer with its epoch, an epoch with its state. Records
and buffers begin at steps of their own kind, epochs and states where another one stood before.
"""

from __future__ import annotations

from typing import Any

from dashboard.queries.find import nearest_step
from ingest.lake.step_reader import StepReader
from replay.debugger.searching.conditions import All, AnyOf, Comparison, Condition, OneOf, Search, Value
from replay.debugger.searching.fields import FIELDS

UNITS = ("record", "buffer", "epoch", "state")
_BEGINNINGS = {"record": ("deliver-record", "take-buffer"), "buffer": ("take-buffer",)}
# Which of a step's own fields an enclosing unit has in common throughout: a state may last for several epochs.
_COMMON = {"record": ("epoch", "state"), "buffer": ("epoch", "state"), "epoch": ("epoch", "state"), "state": ("state",)}

Step = dict[str, Any]


def behind(written: StepReader, row: Step, unit: str) -> int | None:
    """The first step of the task behind the unit that encloses this one."""
    ends = [_is_other(row, unit)]
    if unit in _BEGINNINGS:
        ends.append(OneOf(FIELDS["kind"], _BEGINNINGS[unit]))
    return nearest_step(written, [_of_task(row, AnyOf(tuple(ends)))], after=row["step"])


def beginning(written: StepReader, row: Step, unit: str) -> int:
    """Where the enclosing unit begins: this very step, or one before it."""
    step = int(row["step"])
    other = nearest_step(written, [_of_task(row, _is_other(row, unit))], before=step)
    begun = nearest_step(written, [_of_task(row, All(()))], after=-1 if other is None else other)
    if unit in _BEGINNINGS:
        kinds = OneOf(FIELDS["kind"], _BEGINNINGS[unit])
        marked = nearest_step(written, [_of_task(row, kinds)], before=step + 1)
        begun = max(-1 if marked is None else marked, step if begun is None else begun)
    return step if begun is None else begun


def one_before(written: StepReader, row: Step, unit: str) -> int | None:
    """Where the unit before the enclosing one begins."""
    last = nearest_step(written, [_of_task(row, All(()))], before=beginning(written, row, unit))
    found = None if last is None else written.step(last)
    return None if found is None else beginning(written, found, unit)


def outward(written: StepReader, row: Step) -> int | None:
    """Where the innermost unit begins of which this step is not the first."""
    for unit in UNITS:
        begun = beginning(written, row, unit)
        if begun < row["step"]:
            return begun
    return None


def _is_other(row: Step, unit: str) -> Condition:
    """Of another epoch or state; a step that has none says nothing of the sort."""
    fields = [name for name in _COMMON[unit] if row[name] is not None]
    return AnyOf(tuple(Comparison(FIELDS[name], "!=", _value(row[name])) for name in fields) or (_NOTHING,))


def _of_task(row: Step, condition: Condition) -> Search:
    return Search(All((Comparison(FIELDS["task"], "=", _value(row["task"])), condition)))


def _value(value: Any) -> Value:
    return value if isinstance(value, (int, str)) else ""


_NOTHING = Comparison(FIELDS["step"], "<", 0)
