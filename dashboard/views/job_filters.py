"""Which jobs a list shows: by words in their names, ids, tags and owners' names, by a tag, by what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from dashboard.models import Job, JobTag
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
    """`words` must all be found; `kind` is one of `KINDS`, or empty; so is `tag`, which is a whole one."""

    words: str
    kind: str
    tag: str = ""

    @classmethod
    def of(cls, request: HttpRequest) -> JobFilter:
        return cls(_text(request, "q"), one_of(request, "show", list(KINDS)), _text(request, "tag"))

    def __bool__(self) -> bool:
        return bool(self.words or self.kind or self.tag)

    @property
    def address(self) -> str:
        """For links that keep it; empty where there is none."""
        given = (("q", self.words), ("show", self.kind), ("tag", self.tag))
        return urlencode({name: value for name, value in given if value})

    def applied(self, jobs: QuerySet[Job], owner: int) -> QuerySet[Job]:
        for word in self.words.split():
            tagged = JobTag.objects.filter(name__icontains=word).values("job")
            named = Q(name__icontains=word) | Q(id__startswith=word) | Q(owner__username__icontains=word)
            jobs = jobs.filter(named | Q(id__in=tagged))
        if self.tag:
            jobs = jobs.filter(tags__name=self.tag)
        if self.kind == "shared":
            return jobs.exclude(owner_id=owner)
        return jobs.filter(KINDS[self.kind][1]) if self.kind else jobs


def _text(request: HttpRequest, name: str) -> str:
    return " ".join(request.GET.get(name, "")[:MOST_LETTERS].replace("\0", "").split())
