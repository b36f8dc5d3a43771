"""Legal holds: a job on hold stays, whoever wants it gone. Set by its owner or staff, lifted by who set it or staff."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from dashboard.jobs import OnHold, Refused
from dashboard.models import Job, LegalHold, Replay
from dashboard.people import audit
from dashboard.problems import Problem

MOST_REASON = 500


def of(job: Job) -> LegalHold | None:
    return LegalHold.objects.filter(job_id=job.id).first()


def may_set(user: User, job: Job) -> bool:
    return user.is_staff or job.owner_id == user.pk


def may_lift(user: User, hold: LegalHold) -> bool:
    return user.is_staff or hold.set_by_id == user.pk


def put(job: Job, *, by: User, reason: str) -> LegalHold:
    """Raises `Refused` where one stands: it would hide who set that."""
    if not may_set(by, job):
        raise Problem(403, "Only the owner of a job, or staff, may put it on hold.")
    reason = " ".join(reason.split())
    if not reason or len(reason) > MOST_REASON:
        raise Problem(422, f"reason: say why, in 1 to {MOST_REASON} characters.")
    with transaction.atomic():
        row = Job.objects.select_for_update().get(id=job.id)
        standing = of(row)
        if standing is not None:
            raise Refused(f"The job is on hold already, since {standing.at:%Y-%m-%d}, by {standing.who}.")
        hold = LegalHold.objects.create(job=row, set_by=by, who=by.get_username(), reason=reason)
        audit.note(by, "job.hold", job.id, name=job.name, reason=reason)
    return hold


def lift(job: Job, *, by: User) -> None:
    with transaction.atomic():
        hold = LegalHold.objects.select_for_update().filter(job_id=job.id).first()
        if hold is None:
            raise Refused("The job is not on hold.")
        if not may_lift(by, hold):
            raise Problem(403, f"Only {hold.who}, who put it on hold, or staff may lift it.")
        hold.delete()
        audit.note(by, "job.unhold", job.id, name=job.name, set_by=hold.who)


def check_account(user: User) -> None:
    """An account takes its jobs and replays along; raises `OnHold` where one of them has to stay."""
    held = LegalHold.objects.filter(job__owner=user) | LegalHold.objects.filter(
        job__in=Replay.objects.filter(owner=user).values("job")
    )
    found = held.select_related("job").first()
    if found is not None:
        raise OnHold(found)
