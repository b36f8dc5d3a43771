"""In which order a list shows jobs: by one of its columns, up or down."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import BigIntegerField, Expression, F, QuerySet, Value
from django.db.models.expressions import Combinable
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, Lower
from django.http import HttpRequest

from dashboard.models import Job
from dashboard.views.parameters import one_of


def _fact(name: str) -> Expression:
    """A job that is not read yet has none: it comes where the smallest come."""
    return Coalesce(Cast(KeyTextTransform(name, "facts"), BigIntegerField()), Value(-1))


COLUMNS: dict[str, Combinable] = {
    "name": Lower("name"),
    "tasks": _fact("tasks"),
    "epochs": _fact("epochs"),
    "determinants": _fact("determinants"),
    "length": _fact("duration_us"),
    "bundle": F("bytes"),
    "added": F("created_at"),
}
NEWEST_FIRST = "-added"


@dataclass(frozen=True, slots=True)
class JobOrder:
    """A column, with a minus before it where the largest come first."""

    sort: str

    @classmethod
    def of(cls, request: HttpRequest) -> JobOrder:
        return cls(one_of(request, "sort", [f"{sign}{name}" for name in COLUMNS for sign in ("", "-")], NEWEST_FIRST))

    def __bool__(self) -> bool:
        return self.sort != NEWEST_FIRST

    @property
    def column(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def falling(self) -> bool:
        return self.sort.startswith("-")

    def applied(self, jobs: QuerySet[Job]) -> QuerySet[Job]:
        """With what they are ordered by as `place`."""
        return jobs.annotate(place=COLUMNS[self.column])

    def turned_to(self, column: str) -> str:
        """What a click on a column's head asks for: names from the first, numbers from the largest, and the other way
        round the second time."""
        first = column if column == "name" else f"-{column}"
        other = f"-{column}" if column == "name" else column
        return other if self.sort == first else first

    def said_of(self, column: str) -> str:
        """For aria-sort."""
        return "none" if column != self.column else "descending" if self.falling else "ascending"
