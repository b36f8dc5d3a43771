"""Which jobs a list shows: by words in their names, ids and owners' names, and by what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from dashboard.models import Job
from dashboard.models.status import PENDING, Status
from dashboard.views.parameters import one_of

MOST_LETTERS = 200
KINDS: dict[str, tuple[str, Q]] = {
    "pending": ("being taken in", Q(status__in=PENDING)),
    "faulty": ("failed, or read in part", Q(status__in=(Status.FAILED, Status.CANCELLED, Status.READY_PARTIAL))),
    "failures": ("with failures of tasks", Q(facts__failures__0__isnull=False)),
    "wrong": (
        "not exactly once",
        Q(audit__good=False) & ~Q(audit__verdict="undecided") | Q(facts__delivery__verdict="at least once"),
    ),
    "shared": ("of others", Q()),
}


@dataclass(frozen=True, slots=True)
class JobFilter:
    """`words` must all be found; `kind` is one of `KINDS`, or empty."""

    words: str
    kind: str

    @classmethod
    def of(cls, request: HttpRequest) -> JobFilter:
        words = " ".join(request.GET.get("q", "")[:MOST_LETTERS].replace("\0", "").split())
        return cls(words, one_of(request, "show", list(KINDS)))

    def __bool__(self) -> bool:
        return bool(self.words or self.kind)

    @property
    def address(self) -> str:
        """For links that keep it; empty where there is none."""
        given = {name: value for name, value in (("q", self.words), ("show", self.kind)) if value}
        return urlencode(given)

    def applied(self, jobs: QuerySet[Job], owner: int) -> QuerySet[Job]:
        for word in self.words.split():
            jobs = jobs.filter(Q(name__icontains=word) | Q(id__startswith=word) | Q(owner__username__icontains=word))
        if self.kind == "shared":
            return jobs.exclude(owner_id=owner)
        return jobs.filter(KINDS[self.kind][1]) if self.kind else jobs
