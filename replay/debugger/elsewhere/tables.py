"""What stands in such a file: its members, the columns of each, and what a value of a column may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from replay.debugger.ports import BufferRow, StepRow
from replay.log.determinants import Determinant
from replay.model import read_json
from replay.recovery.states import STATE_NAMES

FORMAT, VERSION = "clonoscope-steps", 1
REPLAY = "replay.json"
VERDICTS = ("identical", "diverged", "unknown")

STEP_KINDS = (
    "transition",
    "request",
    "answer",
    "merge",
    "restore",
    "take-buffer",
    "deliver-record",
    "take-determinant",
    "fire-async",
    "append",
    "write-record",
    "cut-buffer",
    "hold-back",
    "send-buffer",
    "snapshot",
    "finish",
    "diverge",
)
DETERMINANT_KINDS = frozenset(one.kind for one in get_args(Determinant))

TEXT_CHARACTERS = 20_000
NAME_CHARACTERS = 1_000
VALUE_CHARACTERS = 1 << 20
_BEYOND, _COUNTED = 1 << 63, 1 << 53
_CAUSE = re.compile(
    r"step:(?P<step>0|[1-9][0-9]{0,17})|event:(0|[1-9][0-9]{0,17})|det:[^/#\s]{1,200}/[0-9]{1,10}/[a-z0-9-]{1,20}/"
    r"[0-9]{1,19}#[0-9]{1,18}|delta:[^#\s]{1,400}#[0-9]{1,18}/[^/\s]{1,200}/[a-z0-9-]{1,20}"
)
_ACTOR = re.compile(r"main|coordinator|out-[0-9]{1,9}")

Rule = Callable[[Any], str | None]
"""What is wrong with a value, as the rest of a sentence; None where nothing is."""


def _number(value: Any) -> str | None:
    return None if type(value) is int and -_BEYOND <= value < _BEYOND else "must be a whole number of 64 bits"


def _count(value: Any) -> str | None:
    """Pages calculate with it, and scripts know no larger ones."""
    return None if type(value) is int and 0 <= value < _COUNTED else "must be a whole number from 0, below 2^53"


def _epoch(value: Any) -> str | None:
    return None if type(value) is int and 0 <= value < _BEYOND else "must be a whole number from 0"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _text(most: int) -> Rule:
    def rule(value: Any) -> str | None:
        if not isinstance(value, str):
            return "must be text"
        if len(value) > most:
            return f"is longer than {most:,} characters"
        return None

    return rule


def _one_of(names: tuple[str, ...] | frozenset[str]) -> Rule:
    return lambda value: None if isinstance(value, str) and value in names else f"is none of {', '.join(sorted(names))}"


def _matching(pattern: re.Pattern[str], what: str) -> Rule:
    return lambda value: None if isinstance(value, str) and pattern.fullmatch(value) else f"is no {what}"


def _json(value: Any) -> str | None:
    fault = _text(VALUE_CHARACTERS)(value)
    if fault is not None:
        return fault
    try:
        read_json(value.encode())
    except (ValueError, RecursionError):
        return "is not JSON"
    return None


def _or_nothing(rule: Rule) -> Rule:
    return lambda value: None if value is None else rule(value)


@dataclass(frozen=True, slots=True)
class StepTable:
    """A member: its columns in order, with the rule of each."""

    name: str
    columns: Mapping[str, Rule]

    @property
    def member(self) -> str:
        """Its name in the file."""
        return f"{self.name}.ndjson"


NAME = _text(NAME_CHARACTERS)
_RULES: dict[str, Rule] = {
    "step": _count,
    "task": NAME,
    "actor": _matching(_ACTOR, "thread"),
    "kind": _one_of(STEP_KINDS),
    "state": _one_of(STATE_NAMES),
    "epoch": _epoch,
    "record_count": _count,
    "t_us": _count,
    "log": _or_nothing(_matching(_ACTOR, "thread")),
    "log_offset": _or_nothing(_count),
    "channel": _or_nothing(NAME),
    "buffer": _or_nothing(_count),
    "bytes": _or_nothing(_count),
    "text": _text(TEXT_CHARACTERS),
}
STEPS = StepTable("steps", {name: _RULES[name] for name in StepRow._fields})
CAUSES = StepTable("causes", {"step": _count, "cause": _matching(_CAUSE, "cause")})
STATE_CHANGES = StepTable(
    "state_changes",
    {"step": _count, "task": NAME, "key": NAME, "before": _or_nothing(_json), "after": _or_nothing(_json)},
)
TAKEN = StepTable(
    "taken",
    {
        "step": _count,
        "task": NAME,
        "determinant": _one_of(DETERMINANT_KINDS),
        "value": _or_nothing(_number),
        "name": _or_nothing(NAME),
    },
)
BUFFERS = StepTable(
    "buffers",
    dict(
        zip(
            BufferRow._fields, (_count, NAME, NAME, _count, _count, _or_nothing(_flag), _or_nothing(_flag)), strict=True
        )
    ),
)
OPEN_ORDERS = StepTable("open_orders", {"step": _count, "before": _count})
TABLES = (STEPS, CAUSES, STATE_CHANGES, TAKEN, BUFFERS, OPEN_ORDERS)
OTHERS = TABLES[1:]

DETAIL: dict[str, Rule] = {
    "app": NAME,
    "asked": _text(TEXT_CHARACTERS),
    "logged": _text(TEXT_CHARACTERS),
    "member": NAME,
    "offset": _count,
    "epoch": _epoch,
    "determinant": _count,
    "record": NAME,
    "records": _count,
    "output": _count,
    "step": _count,
    "checkpoint": _count,
}
"""What of an outcome's detail is kept."""
LINE: dict[str, Rule] = {"file": NAME, "line": _count, "function": NAME, "text": NAME}
LISTS = ("why", "doubts")


def step_of_cause(cause: str) -> int | None:
    """The step that a cause names, if it names one."""
    named = _CAUSE.fullmatch(cause)
    return int(named["step"]) if named and named["step"] is not None else None
