"""Jobs: list, look, delete, cancel, retry. Uploading one is in `uploads`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest, StreamingHttpResponse
from ninja import P, QueryEx, Router, Status

from dashboard import jobs, payloads, tagging
from dashboard.api.auth import caller
from dashboard.api.presenting import job_detail, job_out, visible_job
from dashboard.api.schemas import Error, JobDetail, JobPage, TagsIn
from dashboard.api.tables import readable
from dashboard.chrome_trace import trace_response
from dashboard.cursors import from_cursor, to_cursor
from dashboard.giving_back import Container, bundle_response
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.graph import job_graph

router = Router(tags=["jobs"])


@router.get("/jobs", response={200: JobPage, 422: Error})
def list_jobs(
    request: HttpRequest, cursor: str = "", limit: QueryEx[int, P(ge=1, le=200)] = 50, tag: str = ""
) -> dict[str, Any]:
    """Your jobs and those shared with you, newest first; with `tag` those that have it."""
    user = caller(request)
    rows = Job.objects.visible_to(user).select_related("owner").prefetch_related("tags").order_by("-created_at", "id")
    if tag:
        rows = rows.filter(tags__name=tag.replace("\0", ""))
    if cursor:
        at, job_id = _position(cursor)
        rows = rows.filter(Q(created_at__lt=at) | Q(created_at=at, id__gt=job_id))
    page = list(rows[: limit + 1])
    payloads.admit(user, page)
    last = page[limit - 1] if len(page) > limit else None
    following = to_cursor([last.created_at.isoformat(), last.id]) if last else None
    return {"jobs": [job_out(job, user) for job in page[:limit]], "cursor": following}


@router.get("/jobs/{job_id}", response={200: JobDetail, 404: Error})
def get_job(request: HttpRequest, job_id: str) -> dict[str, Any]:
    """One job, with what is being done about it now."""
    user = caller(request)
    return job_detail(visible_job(user, job_id), user)


@router.delete("/jobs/{job_id}", response={204: None, 403: Error, 404: Error})
def delete_job(request: HttpRequest, job_id: str) -> Status[None]:
    """The job, its bundle, tables and replays. Only its owner may."""
    user = caller(request)
    jobs.delete_job(_own(user, job_id), user)
    return Status(204, None)


@router.post("/jobs/{job_id}/cancel", response={200: JobDetail, 403: Error, 404: Error, 409: Error})
def cancel_job(request: HttpRequest, job_id: str) -> dict[str, Any]:
    """Ends an ingest that is queued or running."""
    user = caller(request)
    return job_detail(jobs.cancel(_own(user, job_id), user), user)


@router.post("/jobs/{job_id}/retry", response={202: JobDetail, 403: Error, 404: Error, 409: Error})
def retry_job(request: HttpRequest, job_id: str) -> Status[dict[str, Any]]:
    """Ingests once more what failed or was cancelled."""
    user = caller(request)
    return Status(202, job_detail(jobs.retry(_own(user, job_id), user), user))


@router.put("/jobs/{job_id}/tags", response={200: JobDetail, 403: Error, 404: Error, 409: Error})
def put_tags(request: HttpRequest, job_id: str, asked: TagsIn) -> dict[str, Any]:
    """These tags and no others. Only its owner may."""
    user = caller(request)
    job = _own(user, job_id)
    tagging.replace(job, tagging.checked(asked.tags))
    return job_detail(job, user)


@router.get("/jobs/{job_id}/bundle", response={403: Error, 404: Error})
def get_bundle(request: HttpRequest, job_id: str, container: Container = "zip") -> StreamingHttpResponse:
    """The bundle as it came in, member by member and byte by byte, in the container that is asked for."""
    return bundle_response(visible_job(caller(request), job_id), container)


@router.get("/jobs/{job_id}/trace", response={404: Error, 409: Error})
def get_trace(request: HttpRequest, job_id: str) -> StreamingHttpResponse:
    """The recording as a Chrome trace in JSON, which Perfetto opens: what tasks were doing, their epochs, and every
    sending of a buffer as a flow. It says nothing of what records and logs hold."""
    job = visible_job(caller(request), job_id)
    readable(job)
    found = job_graph(job.id)
    if found is None:
        raise Problem(404, "The job's bundle is no longer in the store, and with it its tasks.", code="no-bundle")
    return trace_response(job, found.manifest)


def _own(user: User, job_id: str) -> Job:
    job = visible_job(user, job_id)
    if job.owner_id != user.pk:
        raise Problem(403, "Only the owner of a job may do this; it is shared with you to look at and to replay.")
    return job


def _position(cursor: str) -> tuple[datetime, str]:
    at, job_id = from_cursor(cursor, (str, str))
    try:
        return datetime.fromisoformat(at or ""), job_id or ""
    except ValueError:
        raise Problem(422, "cursor: this is no cursor of this page. Begin without one.", code="bad-cursor") from None
