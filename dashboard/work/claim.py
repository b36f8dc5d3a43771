"""Claiming a piece of work by one conditional update, and the fence that keeps out whoever lost it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from dashboard.models import Job, Status, Work
from dashboard.models.status import READABLE
from dashboard.models.targets import model_of
from dashboard.progress import push_state
from dashboard.work import owner


class LeaseLost(Exception):
    """Somebody else holds this work now, or it was cancelled; nothing more may be published for it."""


@dataclass(frozen=True, slots=True)
class Claim:
    work_id: int
    kind: str
    target: str
    attempt: int
    owner: str

    def rows(self) -> Any:
        """The work row, if this claim still holds it."""
        return Work.objects.filter(
            id=self.work_id, attempt=self.attempt, lease_owner=self.owner, state=Work.State.RUNNING
        )

    @property
    def said(self) -> str:
        """As the job's log names it."""
        return said(self.kind, self.target, self.attempt)

    def __str__(self) -> str:
        return f"{self.kind} {self.target} (work {self.work_id}, attempt {self.attempt})"


def said(kind: str, target: str, attempt: int) -> str:
    return (
        f"Replay {target}, attempt {attempt}" if kind == Work.Kind.REPLAY else f"{kind.capitalize()}, attempt {attempt}"
    )


def claimable() -> Q:
    return Q(state=Work.State.QUEUED) | Q(state=Work.State.RUNNING, lease_until__lt=Now())


def claim(work_id: int, by: str | None = None) -> Claim | None:
    """None if it is held, done or gone. Of any number of claimants one gets it: the update is the decision."""
    by = by or owner.this_process()
    with transaction.atomic():
        taken = Work.objects.filter(claimable(), id=work_id).update(
            state=Work.State.RUNNING,
            attempt=F("attempt") + 1,
            lease_owner=by,
            lease_until=Now() + timedelta(seconds=settings.LEASE_S),
            phase="",
            done=0,
            total=0,
            unit="",
            message="",
            updated_at=Now(),
        )
        if not taken:
            return None
        work = Work.objects.get(id=work_id)
        set_status(work.target, Status.RUNNING, "")
    return Claim(work.id, work.kind, work.target, work.attempt, by)


def renew(held: Claim) -> bool:
    """False if the claim is lost."""
    return bool(held.rows().update(lease_until=Now() + timedelta(seconds=settings.LEASE_S)))


@contextmanager
def fenced(held: Claim) -> Iterator[Work]:
    """A transaction in which nobody can take this work away; raises LeaseLost if somebody already did."""
    with transaction.atomic():
        work = held.rows().select_for_update().first()
        if work is None:
            raise LeaseLost(f"{held} is held by another attempt or was cancelled.")
        yield work


def finish(work: Work, state: str, message: str = "") -> None:
    """Ends a fenced work row; call within `fenced`."""
    work.state, work.message, work.lease_owner, work.lease_until = state, message, "", None
    work.save(update_fields=["state", "message", "lease_owner", "lease_until", "deaths", "updated_at"])


def give_back(held: Claim, message: str, *, death: bool = False) -> bool:
    """To be done by another attempt: this process ends, or the child died. False if the claim was lost anyway."""
    with transaction.atomic():
        given = held.rows().update(
            state=Work.State.QUEUED,
            lease_owner="",
            lease_until=None,
            message=message,
            deaths=F("deaths") + int(death),
            updated_at=Now(),
        )
        if given:
            set_status(held.target, Status.QUEUED, message)
    return bool(given)


def _read_meanwhile(target: str) -> QuerySet[Job, str]:
    return Job.objects.filter(id=target, status__in=READABLE).exclude(followed="").values_list("id", flat=True)


def set_status(target: str, status: str, message: str, **fields: Any) -> None:
    """The status of what the work is for; within the work's own transaction."""
    model = model_of(target)
    if model is None:
        return
    if status not in READABLE and target in _read_meanwhile(target):
        # Its last version is there, and is read while the next one is made, and if that fails.
        if status != Status.FAILED:
            transaction.on_commit(lambda: push_state(target))
            return
        status, fields = Status.READY_PARTIAL, fields | {"following": False}
    model.objects.filter(id=target).update(status=status, message=message, updated_at=Now(), **fields)
    transaction.on_commit(lambda: push_state(target))
