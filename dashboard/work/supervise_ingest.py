"""One ingest: the warm Spark driver does it, this thread passes on what it tells and publishes what it made."""

from __future__ import annotations

import errno

from django.conf import settings

from dashboard import audits, joblog, store
from dashboard.models import Job, Replay, Status, Work
from dashboard.progress import Reporter
from dashboard.work import ending
from dashboard.work.claim import Claim, fenced, finish, set_status
from dashboard.work.driver import WarmDriver
from dashboard.work.lease import Lease
from dashboard.work.queue import enqueue
from ingest.launch import IngestRequest, IngestResult, Progress

DISK_FULL = "The disk is full: the tables could not be published. Free some space, then try again."


def supervise(held: Claim, lease: Lease, driver: WarmDriver) -> None:
    from ingest.lake.publish import discard

    staging = store.staging_of(held.target, held.work_id, held.attempt)
    joblog.write(held.target, f"Ingest, attempt {held.attempt}, started.")
    try:
        with ending.of_a_child(held, lease):
            _publish(held, _ingest(held, lease, driver))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        ending.failed(held, DISK_FULL)
    finally:
        discard(settings.LAKE_ROOT, staging, held.target)


def _ingest(held: Claim, lease: Lease, driver: WarmDriver) -> IngestResult:
    reporter = Reporter(held)

    def tell(told: Progress) -> None:
        reporter.report(told.phase, told.done, told.total, told.unit, told.message)

    request = IngestRequest(
        job=held.target,
        pack=store.pack_path(held.target),
        staging=str(store.staging_of(held.target, held.work_id, held.attempt)),
        work=str(held.work_id),
        attempt=held.attempt,
    )
    return driver.get().ingest(request, tell, lease.interrupted)


def _publish(held: Claim, result: IngestResult) -> None:
    """The switch of the link and the change of the rows are one transaction, so a zombie can do neither."""
    from ingest.lake.publish import publish
    from ingest.lake.schema import SCHEMA_VERSION

    status = Status(result.status)
    partial = _unread(result.rejects) if result.rejects else ""
    with fenced(held) as work:
        staging = store.staging_of(held.target, held.work_id, held.attempt)
        publish(settings.LAKE_ROOT, staging, held.target, str(held.work_id), held.attempt)
        finish(work, Work.State.DONE)
        made = {"facts": result.facts, "rejects": result.rejects, "schema_version": SCHEMA_VERSION}
        set_status(held.target, status, partial, **made)
        _replay_if_asked(held.target)
        audits.start_unasked(Job.objects.select_related("owner").get(id=held.target))
    joblog.write(held.target, f"Ingest, attempt {held.attempt}, published: {status}. {partial}")


def _unread(rejects: int) -> str:
    if rejects == 1:
        return "1 part could not be read; the job page says which."
    return f"{rejects:,} parts could not be read; the job page lists them."


def _replay_if_asked(job_id: str) -> None:
    job = Job.objects.get(id=job_id)
    failures = job.facts.get("failures", [])
    if not (job.replay_when_ready and failures):
        return
    job.replay_when_ready = False
    job.save(update_fields=["replay_when_ready"])
    first = failures[0]
    replay = Replay.objects.create(job=job, owner=job.owner, failure=first["failure"], task=first["task"])
    enqueue(Work.Kind.REPLAY, replay.id)
