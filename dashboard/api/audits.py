"""Audits of jobs: ask for one, look, cancel, take the report as a document."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Field, P, QueryEx, Router, Schema, Status

from dashboard import audits, payloads
from dashboard.api.auth import caller
from dashboard.api.presenting import own_audit, visible_job
from dashboard.api.schemas import Error, Progress
from dashboard.documents import document_response
from dashboard.models import Job, JobAudit
from dashboard.progress import state_of
from dashboard.queries.failing import failing_in
from replay.guarantees.recoverability.failing import Failing

router = Router(tags=["audits"])
Form = Literal["html", "markdown", "junit", "json"]


class Claim(Schema):
    about: str = Field(description="job, task:<id>, channel:<id>, sink:<vertex>, failure:<n>, …")
    verdict: str
    sentence: str
    evidence: list[str] = Field(description="event:<n>, det:…, buffer:…; see docs/guarantees.md")


class Lack(Schema):
    about: str
    sentence: str
    wants: str = Field(description="the part that would decide it")


class LackOf(Lack):
    section: str


class Section(Schema):
    name: str
    title: str
    verdict: str
    sentence: str
    good: bool | None = Field(description="null where it can't be said, or nothing is good or bad about it")
    claims: list[Claim]
    lacks: list[Lack]
    numbers: dict[str, Any]
    claims_left_out: int
    lacks_left_out: int


class Report(Schema):
    verdict: str = Field(description="of processing and delivery together")
    sentence: str
    processing: str | None
    delivery: str | None
    good: bool
    expected: str | None
    unmet: list[str]
    version: int
    recording: dict[str, Any]
    sections: list[Section]
    undecided: list[LackOf]
    left_out: list[str]


class AuditOut(Schema):
    job: str
    status: str
    message: str
    asked_by: str | None
    made_at: datetime | None
    outdated: bool = Field(description="Whether a newer version would ask more, or decide otherwise: ask again.")
    behind: bool = Field(description="Whether the recording has grown since the report was made: ask again.")
    newer_epochs: int = Field(description="that the report knows nothing of")
    report: Report | None = Field(description="of the last audit that came to its end")
    progress: Progress
    url: str


@router.post("/jobs/{job_id}/audit", response={202: AuditOut, 404: Error, 409: Error})
def start_audit(request: HttpRequest, job_id: str) -> Status[dict[str, Any]]:
    """Asks for an audit, or for another one; whoever sees the job may."""
    user = caller(request)
    job = visible_job(user, job_id)
    return Status(202, audit_out(job, audits.start(user, job)))


@router.get("/jobs/{job_id}/audit", response={200: AuditOut, 404: Error})
def get_audit(request: HttpRequest, job_id: str) -> dict[str, Any]:
    """How far it is, and the report of the last one; 404 with the code `no-audit` where nobody has asked for one."""
    job = visible_job(caller(request), job_id)
    audit = audits.of(job)
    if audit is None:
        raise audits.no_audit(job)
    return audit_out(job, audit)


@router.post("/jobs/{job_id}/audit/cancel", response={200: AuditOut, 403: Error, 404: Error, 409: Error})
def cancel_audit(request: HttpRequest, job_id: str) -> dict[str, Any]:
    """Ends an audit that is queued or running. Who asked for it may, and the job's owner."""
    user = caller(request)
    job = visible_job(user, job_id)
    own_audit(user, job)
    return audit_out(job, audits.cancel(job, user))


@router.get("/jobs/{job_id}/audit/document", response={404: Error, 422: Error})
def get_document(request: HttpRequest, job_id: str, format: Form = "html") -> HttpResponse:  # noqa: A002 - its name
    """The report as a document: a page that stands alone, Markdown for a post-mortem, JUnit for build servers, JSON."""
    job = visible_job(caller(request), job_id)
    return document_response(request, job, audits.require_report(job), format)


@router.get("/jobs/{job_id}/audit/failing", response={200: Section, 404: Error, 409: Error, 422: Error})
def ask_failing(
    request: HttpRequest,
    job_id: str,
    failed: QueryEx[str, P(max_length=10_000, description="names, with commas")],
    at_ms: QueryEx[int, P(ge=0, le=1 << 50)],
    by: Literal["task", "host"] = "task",
    outside: bool = True,
) -> dict[str, Any]:
    """Whom these tasks or hosts would have orphaned, had they failed at once at that moment; `outside`: whether the
    world outside counts among those who may follow from what is lost."""
    job = visible_job(caller(request), job_id)
    names = frozenset(one.strip() for one in failed.split(",") if one.strip())
    return failing_in(job, Failing(at_ms * 1_000, names, by, outside)).to_json()


def audit_out(job: Job, audit: JobAudit) -> dict[str, Any]:
    return {
        "job": job.id,
        "status": audit.status,
        "message": payloads.shown_text(job.id, audit.message),
        "asked_by": audit.asked_by.get_username() if audit.asked_by else None,
        "made_at": audit.made_at,
        "outdated": audits.is_outdated(audit),
        "behind": audit.behind,
        "newer_epochs": audit.newer_epochs,
        "report": audits.shown_report(audit),
        "progress": payloads.shown_state(job.id, state_of(audit.id)),
        "url": f"/jobs/{job.id}/audit/",
    }
