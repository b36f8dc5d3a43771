"""Who sees a job and its payloads, who looked at them, and legal hold."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Field, P, QueryEx, Router, Schema, Status

from dashboard.api.auth import caller
from dashboard.api.presenting import visible_job
from dashboard.api.schemas import Error
from dashboard.cursors import from_cursor, to_cursor
from dashboard.models import Job, JobShare, LegalHold, PayloadLook
from dashboard.people import holds, sharing
from dashboard.problems import Problem, not_found

router = Router(tags=["access"])


class ShareIn(Schema):
    payloads: bool = Field(
        False, description="Whether they see what the recording says, and not only that it is there."
    )


class ShareOut(Schema):
    user: str
    payloads: bool
    granted_by: str | None
    at: datetime


class ShareList(Schema):
    shares: list[ShareOut]


class LookOut(Schema):
    at: datetime
    who: str
    what: str = Field(description="The address, without searches; of one person and thing once in five minutes.")


class LookPage(Schema):
    looks: list[LookOut]
    cursor: str | None = Field(description="Pass it on to get the next page; null on the last.")


class HoldIn(Schema):
    reason: str = Field(min_length=1, max_length=holds.MOST_REASON)


class HoldOut(Schema):
    who: str
    at: datetime
    reason: str


@router.get("/jobs/{job_id}/shares", response={200: ShareList, 404: Error, 410: Error})
def list_shares(request: HttpRequest, job_id: str) -> dict[str, Any]:
    """With whom a job is shared, and who of them sees its payloads."""
    job = visible_job(caller(request), job_id)
    return {"shares": [_share_out(one) for one in sharing.of(job)]}


@router.put("/jobs/{job_id}/shares/{username}", response={200: ShareOut, 403: Error, 404: Error, 422: Error})
def put_share(request: HttpRequest, job_id: str, username: str, asked: ShareIn) -> dict[str, Any]:
    """Shares a job with somebody, or changes whether they see its payloads. Only its owner may."""
    user = caller(request)
    job = _own(user, job_id)
    try:
        return _share_out(sharing.share(job, by=user, username=username, payloads=asked.payloads))
    except sharing.SharingError as error:
        raise Problem(422, str(error)) from None


@router.delete("/jobs/{job_id}/shares/{username}", response={204: None, 403: Error, 404: Error})
def delete_share(request: HttpRequest, job_id: str, username: str) -> Status[None]:
    """Takes it back. The owner may of anybody, everybody of themselves."""
    user = caller(request)
    job = visible_job(user, job_id) if username == user.get_username() else _own(user, job_id)
    found = JobShare.objects.filter(job=job, user__username=username).first()
    if found is None:
        raise not_found()
    sharing.unshare(job, by=user, user_id=found.user_id)
    return Status(204, None)


@router.get("/jobs/{job_id}/looks", response={200: LookPage, 403: Error, 404: Error, 422: Error})
def list_looks(
    request: HttpRequest, job_id: str, cursor: str = "", limit: QueryEx[int, P(ge=1, le=1000)] = 200
) -> dict[str, Any]:
    """Who looked at a job's payloads, newest first. For its owner and staff."""
    job = _kept(caller(request), job_id)
    rows = PayloadLook.objects.filter(job_id=job.id).order_by("-id")
    if cursor:
        (before,) = from_cursor(cursor, (int,))
        rows = rows.filter(id__lt=before)
    page = list(rows[: limit + 1])
    following = to_cursor([page[limit - 1].pk]) if len(page) > limit else None
    return {"looks": [{"at": one.at, "who": one.who, "what": one.what} for one in page[:limit]], "cursor": following}


@router.get("/jobs/{job_id}/hold", response={200: HoldOut, 404: Error})
def get_hold(request: HttpRequest, job_id: str) -> dict[str, Any]:
    """The legal hold on a job; 404 with the code `no-hold` where none stands."""
    found = holds.of(_seen_or_staff(caller(request), job_id))
    if found is None:
        raise Problem(404, "The job is not on hold.", code="no-hold")
    return _hold_out(found)


@router.put("/jobs/{job_id}/hold", response={200: HoldOut, 403: Error, 404: Error, 409: Error, 422: Error})
def put_hold(request: HttpRequest, job_id: str, asked: HoldIn) -> dict[str, Any]:
    """Puts a job on hold: it can't be deleted or retired. Its owner may, and staff."""
    user = caller(request)
    return _hold_out(holds.put(_seen_or_staff(user, job_id), by=user, reason=asked.reason))


@router.delete("/jobs/{job_id}/hold", response={204: None, 403: Error, 404: Error, 409: Error})
def lift_hold(request: HttpRequest, job_id: str) -> Status[None]:
    """Lifts the hold. Who set it may, and staff."""
    user = caller(request)
    holds.lift(_seen_or_staff(user, job_id), by=user)
    return Status(204, None)


def _share_out(one: JobShare) -> dict[str, Any]:
    granted_by = one.granted_by.get_username() if one.granted_by else None
    return {"user": one.user.get_username(), "payloads": one.payloads, "granted_by": granted_by, "at": one.at}


def _hold_out(one: LegalHold) -> dict[str, Any]:
    return {"who": one.who, "at": one.at, "reason": one.reason}


def _own(user: User, job_id: str) -> Job:
    job = visible_job(user, job_id)
    if job.owner_id != user.pk:
        raise Problem(403, "Only the owner of a job decides who sees it.")
    return job


def _seen_or_staff(user: User, job_id: str) -> Job:
    """Staff hold jobs of anybody; that it is there is all they learn of it."""
    staffs = Job.objects.filter(id=job_id).first() if user.is_staff else None
    return staffs or visible_job(user, job_id)


def _kept(user: User, job_id: str) -> Job:
    job = _seen_or_staff(user, job_id)
    if not user.is_staff and job.owner_id != user.pk:
        raise Problem(403, "Only the owner of a job, and staff, see who looked at its payloads.")
    return job
