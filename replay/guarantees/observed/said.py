"""A verdict on delivery in words. The sentence quotes no value: who may not see what a recording says may read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from replay.debugger.redactions import TOKEN
from replay.debugger.sides.trace import shown
from replay.debugger.writing.words import counted, shortened
from replay.errors import printable
from replay.model import json_bytes

_TIMES = {2: "twice", 3: "three times"}
_NAMED = 3


def sentence(verdict: str, sinks: Sequence[str], twice: Counter[bool | None], again: int, by_id: int) -> str:
    """The verdict, of which tasks, and how many."""
    named = ", ".join(printable(one) for one in sinks[:_NAMED])
    of = named + (f" and {len(sinks) - _NAMED:,} more" if len(sinks) > _NAMED else "")
    if verdict == "at least once":
        others = f", {twice[True]:,} of them not the same each time" if twice[True] else ""
        records = counted(twice.total(), "source record")
        return f"At least once: {of} gave the outputs of {records} to the outside more than once{others}."
    if verdict == "undecided":
        return "Undecided: whether every output was given to the outside once can't be told from this recording."
    said = f"Exactly once, as far as it is recorded: every output of {of} was given to the outside once"
    if not again:
        return f"{said}, and none of their epochs ran again."
    return f"{said}; {counted(by_id, 'output')} of epochs that ran again had the id and the value that they had before."


def given_in_words(records: Sequence[Any], differs: bool | None) -> str:
    """One output, and what it was each time: `1207 twice: price 19.9 and 24.9`."""
    times = _TIMES.get(len(records), f"{len(records)} times")
    parts = [one if isinstance(one, list) and len(one) == 3 else [None, None, one] for one in records]
    keys = {json_bytes(key) for key, _, _ in parts if key is not None and not TOKEN.fullmatch(json_bytes(key))}
    what = shortened(keys.pop().decode()) if len(keys) == 1 else "An output"
    if differs is None:
        return shown(f"{what} {times}, redacted: it may be the same or not")
    if not differs:
        hidden = any(TOKEN.search(json_bytes(one)) for one in records)
        return shown(f"{what} {times}, {'redacted, with the same tokens' if hidden else 'the same'}")
    for name, values in (*_fields([value for _, _, value in parts]), ("", [value for _, _, value in parts])):
        if len({json_bytes(one) for one in values}) > 1:
            named = f"{name} " if name else ""
            return shown(f"{what} {times}: {named}{_and(values)}")
    return shown(f"{what} {times}: timestamp {_and([timestamp for _, timestamp, _ in parts])}")


def _fields(values: list[Any]) -> list[tuple[str, list[Any]]]:
    """Of objects with the same names, field by field."""
    if not all(isinstance(one, dict) and set(one) == set(values[0]) for one in values):
        return []
    return [(printable(str(name)), [one[name] for one in values]) for name in values[0]]


def _and(values: list[Any]) -> str:
    return " and ".join(shortened(json_bytes(one).decode()) for one in values)
