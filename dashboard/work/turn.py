"""Whose turn it is: of all queued work of a kind, that of who has waited longest since something of theirs was done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db.models import QuerySet
from django.db.models.functions import Now

from dashboard.models import Job, Replay, Work

LOOKED_BACK = timedelta(days=1)
_NEVER = datetime.min.replace(tzinfo=UTC)


def next_of(kind: str) -> int | None:
    """Of one user in the order of asking, of several in turn: a thousand uploads of one don't keep another waiting."""
    queued = Work.objects.filter(kind=kind, state=Work.State.QUEUED)
    waiting = list(queued.order_by("id").values_list("id", "target", "deaths"))
    if len(waiting) < 2:
        return waiting[0][0] if waiting else None
    owners, served = dict(_owners(kind, queued)), _served(kind)

    def turn(one: tuple[int, str, int]) -> tuple[int, datetime, int]:
        number, target, deaths = one
        # What killed its child before comes last, so that it keeps nobody waiting.
        return deaths, served.get(owners.get(target), _NEVER), number

    return min(waiting, key=turn)[0]


def _served(kind: str) -> dict[int | None, datetime]:
    """When something of each user was last at work, or is."""
    begun = Work.objects.filter(kind=kind, attempt__gt=0, updated_at__gt=Now() - LOOKED_BACK)
    begun = begun.exclude(state=Work.State.QUEUED)
    owners = dict(_owners(kind, begun))
    last: dict[int | None, datetime] = {}
    for target, at in begun.order_by("updated_at").values_list("target", "updated_at"):
        last[owners.get(target)] = at
    return last


def _owners(kind: str, work: QuerySet[Work]) -> Iterator[tuple[str, int]]:
    """Who asked for a job or a replay; an audit is its job's."""
    targets = work.values("target")
    match kind:
        case Work.Kind.INGEST:
            yield from Job.objects.filter(id__in=targets).values_list("id", "owner")
        case Work.Kind.REPLAY:
            yield from Replay.objects.filter(id__in=targets).values_list("id", "owner")
        case Work.Kind.AUDIT:
            yield from Job.objects.filter(audit__id__in=targets).values_list("audit__id", "owner")
