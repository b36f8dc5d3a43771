"""Two executions of one attempt in different surroundings, side by side: what moved first, and by which line."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from replay.debugger.diverging.source_line import source_name
from replay.debugger.hunting.line_trace import Event, moving_line
from replay.debugger.hunting.noting import LOOKED_AT_ONCE_IN

Note = Mapping[str, Any]
_SOURCE_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Moved:
    """`call` is where it shows, `since` where the operator was first another one: the line is looked for there.

    `element` counts what the operator was given: calls that only look at it are none.
    """

    call: int
    since: int
    element: int
    method: str
    epoch: int
    record_count: int
    where: str
    ended: str = ""

    @property
    def followed(self) -> list[int]:
        """The calls to be followed line by line."""
        return [*range(self.since, min(self.since + LOOKED_AT_ONCE_IN + 1, self.call)), self.call]


def first_moved(first: Iterable[Note], second: Iterable[Note]) -> Moved | None:
    """The first call that gave something else, or where one execution ended and the other went on."""
    alike, since = -1, -1
    last: Note = {"call": 0, "element": 0, "method": "import", "at": (0, 0)}
    for one, other in zip_longest(first, second):
        if one is None or other is None or "call" not in one or "call" not in other:
            if one == other:
                continue
            ended = next((str(note["end"]) for note in (one, other) if note and note.get("end")), "")
            return _moved(last, since, "where it ends", ended)
        last = one
        if one["is"] != other["is"]:
            since = alike + 1 if since < 0 else since
        elif one["is"] is not None:
            alike, since = one["call"], -1
        if one["gave"] != other["gave"]:
            return _moved(one, since, _where(one["gave"], other["gave"]))
    return None


def _moved(note: Note, since: int, where: str, ended: str = "") -> Moved:
    epoch, record_count = note["at"]
    call = int(note["call"])
    since = since if since >= 0 else call
    return Moved(call, since, note["element"], note["method"], epoch, record_count, where, ended)


def _where(one: list[list[str]], other: list[list[str]]) -> str:
    for mine, others in zip_longest(one, other):
        if mine != others:
            return str((mine or others)[0])
    return ""


def explained(moved: Moved, first: Iterable[Note], second: Iterable[Note]) -> dict[str, Any]:
    """Of two executions in which the calls in question were followed line by line: the line, the key and the values."""
    line: tuple[str, int] | None = None
    ends: list[Note | None] = [None, None]
    for one, other in zip(first, second, strict=False):
        if "events" not in one or "events" not in other:
            continue
        if line is None:
            line = moving_line(*([Event(*event) for event in note["events"]] for note in (one, other)))
        if one["call"] == moved.call:
            ends = [one, other]
    return {"file": "", "line": 0, "source": "", **_place(line), **_values(*ends)}


def _place(line: tuple[str, int] | None) -> dict[str, Any]:
    if line is None:
        return {}
    file, number = line
    return {
        "file": source_name(file),
        "line": number,
        "source": linecache.getline(file, number).strip()[:_SOURCE_SHOWN],
    }


def _values(one: Note | None, other: Note | None) -> dict[str, Any]:
    if one is None or other is None:
        return {}
    found: dict[str, Any] = {}
    for mine, others in zip_longest(one["given"], other["given"]):
        if mine != others:
            found |= {"one": mine, "other": others}
            break
    keys = {**one["state"], **other["state"]}
    changed = [key for key in keys if one["state"].get(key) != other["state"].get(key)]
    return found | ({"key": changed[0], "keys": len(changed)} if changed else {})
