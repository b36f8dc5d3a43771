"""What can be asked of a step: each field's name, the table and column it stands in, and what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Holds = Literal["number", "text", "json"]
Units = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A column of `steps`, `taken` or `state_changes`. `units`: what a number may be followed by, and its factor."""

    name: str
    table: Literal["steps", "taken", "changes"]
    column: str
    holds: Holds
    meaning: str
    units: Units = ()
    needs_unit: bool = False
    path: tuple[str, ...] = ()
    """Of a value that is JSON: the way to a member of it, by names, and by places in lists."""


TIME_UNITS = (("us", 1), ("µs", 1), ("ms", 1_000), ("s", 1_000_000), ("min", 60_000_000))
SIZE_UNITS = (("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30))


def _step(
    name: str, holds: Holds, meaning: str, column: str = "", units: Units = (), *, needs_unit: bool = False
) -> Field:
    return Field(name, "steps", column or name, holds, meaning, units, needs_unit)


STEP_FIELDS = (
    _step("step", "number", "its number, from 0"),
    _step("task", "text", "the task, as `join.2`"),
    _step("thread", "text", "`main`, `out-<k>` or `coordinator`", "actor"),
    _step("kind", "text", "the kind of step, as `take-buffer`"),
    _step("state", "text", "the state of the recovery manager, as `Replaying`"),
    _step("epoch", "number", "the epoch"),
    _step("record", "number", "the record count within the epoch", "record_count"),
    _step("time", "number", "since the job's start, with its unit: `5.2 s`", "t_us", units=TIME_UNITS, needs_unit=True),
    _step("log", "text", "the log that it reads or appends to"),
    _step("offset", "number", "in that log", "log_offset"),
    _step("channel", "text", 'the channel, as `"persons.0>join.3"`'),
    _step("buffer", "number", "the buffer's number on its channel"),
    _step("bytes", "number", "the size, also as `32 KiB`", units=SIZE_UNITS),
    _step("text", "text", "its sentence"),
)
TAKEN_FIELDS = (
    Field("determinant", "taken", "determinant", "text", "the kind of the determinant that it takes, as `timestamp`"),
    Field("value", "taken", "value", "number", "what that says: channel, time, random number, checkpoint or size"),
    Field("name", "taken", "name", "text", "which timer or call"),
)
CHANGE_FIELDS = (
    Field("key", "changes", "key", "text", "the key of operator state that changed"),
    Field("before", "changes", "before", "json", "its value before, as JSON; missing where it was absent"),
    Field("after", "changes", "after", "json", "its value after, as JSON; missing where it was removed"),
)
# The columns' own names are understood too, as they stand in the table.
FIELDS = {one.name: one for one in (*STEP_FIELDS, *TAKEN_FIELDS)}
ALIASES = {
    "actor": FIELDS["thread"],
    "record_count": FIELDS["record"],
    "t_us": _step("t_us", "number", "the same in microseconds"),
    "log_offset": FIELDS["offset"],
}
IN_CHANGE = {one.name: one for one in CHANGE_FIELDS}
MOST_PATH = 8


def member_of_change(text: str) -> Field | None:
    """`after.price` or `before.bids.0.price`: a member of a value; None where it is none."""
    name, *path = text.split(".")
    field = IN_CHANGE.get(name)
    if field is None or field.holds != "json" or not 0 < len(path) <= MOST_PATH or not all(path):
        return None
    return replace(field, name=text, path=tuple(path))


SCOPES: dict[str, tuple[str, ...]] = {
    "task": ("task",),
    "thread": ("task", "actor"),
    "state": ("task", "state"),
    "epoch": ("task", "epoch"),
    "record": ("task", "epoch", "record_count"),
    "channel": ("channel",),
    "buffer": ("channel", "buffer"),
}
"""What two steps can have in common, and the columns that say it."""
