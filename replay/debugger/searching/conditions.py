"""Conditions on steps: the one form that the language and the JSON are read into, and that queries are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from replay.debugger.searching.fields import Field
from replay.errors import ReplayError

Value = int | float | str
How = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "starts with"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A field compared with one value. A step that lacks the field does not meet it."""

    field: Field
    how: How
    value: Value


@dataclass(frozen=True, slots=True)
class OneOf:
    """A field has one of these values."""

    field: Field
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """The step lacks the field."""

    field: Field


@dataclass(frozen=True, slots=True)
class All:
    """Every part; of no parts, every step."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Every step that does not meet the part."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Enters:
    """A step at which a task comes into a state, each time."""

    state: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The step changes a key of operator state, and one such change meets the condition on key, before and after."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Differs:
    """The step rebuilds a buffer whose bytes are not those of the first execution."""


@dataclass(frozen=True, slots=True)
class OpenOrder:
    """The recording does not say that the step came after another one that stands before it."""


@dataclass(frozen=True, slots=True)
class Related:
    """What meets `one` and has (`negated`: has not) another step of `other` before or after it.

    `scopes`: what the two must have in common; `within`: how many steps lie between them at most.
    """

    one: Condition
    other: Condition
    before: bool
    negated: bool = False
    scopes: tuple[str, ...] = ()
    within: int | None = None


Condition = Comparison | OneOf | Missing | All | AnyOf | Not | Enters | Changes | Differs | OpenOrder | Related


@dataclass(frozen=True, slots=True)
class Hits:
    """Which of the hits count, numbered from 1 in the order of steps: from one on, every so many, up to one."""

    first: int = 1
    every: int = 1
    last: int | None = None

    def counts(self, number: int) -> bool:
        """Whether the hit of this number does."""
        late = self.last is not None and number > self.last
        return number >= self.first and not late and (number - self.first) % self.every == 0


ALL_HITS = Hits()


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for, and which of the hits count."""

    condition: Condition
    hits: Hits = ALL_HITS


class WrongSearch(ReplayError):
    """A search that cannot be read; `column` is where, from 1, and None in JSON."""

    def __init__(self, why: str, *, column: int | None = None, remedy: str | None = None):
        super().__init__(why, remedy=remedy)
        self.column = column

    @property
    def place(self) -> str:
        """The column, as a sentence begins with it."""
        return "" if self.column is None else f"column {self.column}"


def asks_for_values(search: Search) -> bool:
    """Whether it compares anything with what a recording says, and not only with where and how much."""
    return any(
        one.field.table == "changes" or one.field.name in ("value", "text")
        for one in walked(search.condition)
        if isinstance(one, Comparison | OneOf | Missing)
    )


def walked(condition: Condition) -> tuple[Condition, ...]:
    """The condition and all that it is made of."""
    match condition:
        case All(parts) | AnyOf(parts):
            below = [one for part in parts for one in walked(part)]
        case Not(part) | Changes(part):
            below = [*walked(part)]
        case Related(one, other):
            below = [*walked(one), *walked(other)]
        case _:
            below = []
    return condition, *below
