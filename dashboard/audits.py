"""What can be done with a job's audit: ask for it, cancel it, read it; for pages, API and commands alike."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.db import transaction

from dashboard import bundles, joblog, payloads, store
from dashboard.jobs import Refused
from dashboard.models import Job, JobAudit, Status, Work
from dashboard.models.audits import audit_id
from dashboard.models.status import READABLE
from dashboard.problems import Problem
from dashboard.progress import push_state
from dashboard.sealing import sealed_report
from dashboard.work.queue import drop, enqueue
from replay.guarantees.audit import VERSION


def of(job: Job) -> JobAudit | None:
    """None where nobody has asked for one."""
    return JobAudit.objects.filter(job_id=job.id).first()


def start(user: Any, job: Job) -> JobAudit:
    """Asks for one, or for another; the report of the last one stays until there is a new one."""
    stored = bundles.is_stored(job.id)
    with transaction.atomic():
        row = Job.objects.select_for_update().get(id=job.id)
        if row.status not in READABLE:
            raise Refused(f"The job is {row.status}; an audit needs a recording that was read.")
        if not stored:
            raise Refused("The job's bundle is no longer in the store; upload it again to have it audited.")
        audit = _queue(row, user)
    joblog.write(job.id, f"{user} asked for an audit.")
    return audit


def start_unasked(job: Job) -> None:
    """Of small jobs the page says at once what they guarantee; call it in the transaction that makes them ready."""
    known = of(job)
    told = known is not None and (known.pending or (known.version == VERSION and not known.behind))
    if job.bytes <= settings.AUDIT_UNASKED_BYTES and not told:
        _queue(job, job.owner)


def _queue(job: Job, user: Any) -> JobAudit:
    audit, _ = JobAudit.objects.select_for_update().get_or_create(
        job=job, defaults={"id": audit_id(job.id), "status": Status.CANCELLED}
    )
    if audit.pending:
        raise Refused(f"The audit is {audit.status} already.")
    audit.status, audit.message, audit.asked_by = Status.QUEUED, "", user
    audit.save()
    enqueue(Work.Kind.AUDIT, audit.id)
    transaction.on_commit(lambda: push_state(audit.id))
    return audit


def cancel(job: Job, user: Any) -> JobAudit:
    with transaction.atomic():
        audit = JobAudit.objects.select_for_update().filter(job_id=job.id).first()
        if audit is None or not audit.pending:
            raise Refused("No audit is queued or running; there is nothing to cancel.")
        audit.status, audit.message = Status.CANCELLED, "Cancelled."
        audit.save(update_fields=["status", "message", "updated_at"])
        drop(audit.id)
        transaction.on_commit(lambda: push_state(audit.id))
    joblog.write(job.id, f"{user} cancelled the audit.")
    return audit


def whole_report(audit: JobAudit | None) -> dict[str, Any] | None:
    """All that the last audit found; None where none came to its end, or its file is gone."""
    if audit is None or not audit.report:
        return None
    try:
        told: dict[str, Any] = json.loads((store.audits() / audit.report).read_bytes())
    except FileNotFoundError:
        return None
    return told


def shown_report(audit: JobAudit | None) -> dict[str, Any] | None:
    """As this request may show it; where it shows what the recording says, that is a look at it."""
    told = whole_report(audit)
    if told is None or audit is None or payloads.opened(audit.job_id):
        return told
    return sealed_report(told)


def require_report(job: Job) -> dict[str, Any]:
    """The same, or Problem 404."""
    told = shown_report(of(job))
    if told is None:
        raise no_audit(job)
    return told


def is_outdated(audit: JobAudit) -> bool:
    """Whether this version would ask more than the last report was asked, or might decide otherwise."""
    return bool(audit.report) and audit.version != VERSION


def no_audit(job: Job) -> Problem:
    return Problem(404, f"The job {job.id} has not been audited yet; ask for it first.", code="no-audit")
