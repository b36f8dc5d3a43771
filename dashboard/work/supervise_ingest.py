"""One ingest: the warm Spark driver does it, this thread passes on what it tells and publishes what it made."""

from __future__ import annotations

import errno
from pathlib import Path

from django.conf import settings
from django.db import transaction

from dashboard import audits, bundles, joblog, store
from dashboard.models import Job, Replay, Status, Work
from dashboard.models.status import READABLE
from dashboard.progress import Reporter, tell_news
from dashboard.work import ending, grown
from dashboard.work.claim import Claim, fenced, finish, set_status
from dashboard.work.driver import WarmDriver
from dashboard.work.lease import Lease
from dashboard.work.queue import enqueue
from ingest.lake.places import Place
from ingest.launch import IngestRequest, IngestResult, Progress

STILL_RECORDED = "It is not complete: what is there as a whole was read."
DISK_FULL = "The disk is full: the tables could not be published. Free some space, then try again."


def supervise(held: Claim, lease: Lease, driver: WarmDriver) -> None:
    from ingest.lake.publish import discard

    version = store.staging_of(held.target, held.work_id, held.attempt)
    made_here = grown.is_made_here(Job.objects.filter(id=held.target).first())
    staging = store.staging_path(held.work_id, held.attempt) if made_here else version
    if not Job.objects.filter(id=held.target, following=True, status__in=READABLE).exists():
        joblog.write(held.target, f"Ingest, attempt {held.attempt}, started.")
    try:
        with ending.of_a_child(held, lease):
            result = _ingest(held, lease, driver, staging)
            if made_here:
                grown.send(held.target, Path(str(staging)), version)
            _publish(held, result)
            if made_here:
                grown.keep(held.target, Path(str(staging)), version)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        ending.failed(held, DISK_FULL)
    finally:
        for place in {staging, version}:
            discard(settings.LAKE_ROOT, place, held.target)


def _ingest(held: Claim, lease: Lease, driver: WarmDriver, staging: Place) -> IngestResult:
    reporter = Reporter(held)
    job = Job.objects.get(id=held.target)

    def tell(told: Progress) -> None:
        reporter.report(told.phase, told.done, told.total, told.unit, told.message)

    request = IngestRequest(
        job=held.target,
        pack=str(bundles.address(held.target)),
        staging=str(staging),
        work=str(held.work_id),
        attempt=held.attempt,
        growing=bool(job.followed) and isinstance(staging, Path),
        before=_before(job),
    )
    return driver.get().ingest(request, tell, lease.interrupted)


def _before(job: Job) -> Path | None:
    """Of a job that is followed, the version that the next one shares with what it can."""
    from ingest.lake.errors import NotPublished
    from ingest.lake.publish import published_folder

    if not job.followed:
        return None
    if grown.is_made_here(job):
        return grown.before(job.id)
    try:
        before = published_folder(settings.LAKE_ROOT, job.id)
    except NotPublished:
        return None
    return before if isinstance(before, Path) else None


def _publish(held: Claim, result: IngestResult) -> None:
    """The switch of the link and the change of the rows are one transaction, so a zombie can do neither."""
    from ingest.lake.publish import publish
    from ingest.lake.schema import SCHEMA_VERSION

    status = Status(result.status)
    partial = _unread(result.rejects) if result.rejects else ""
    job = Job.objects.get(id=held.target)
    if job.followed and bundles.grows(job.id):
        status, partial = Status.READY_PARTIAL, f"{STILL_RECORDED} {partial}".strip()
    with fenced(held) as work:
        staging = store.staging_of(held.target, held.work_id, held.attempt)
        publish(settings.LAKE_ROOT, staging, held.target, str(held.work_id), held.attempt)
        finish(work, Work.State.DONE)
        made = {"facts": result.facts, "rejects": result.rejects, "schema_version": SCHEMA_VERSION}
        set_status(held.target, status, partial, **made)
        if job.followed:
            transaction.on_commit(lambda: tell_news(held.target, "version"))
        _replay_if_asked(held.target)
        if not job.following:
            audits.start_unasked(Job.objects.select_related("owner").get(id=held.target))
    if not (job.following and job.readable):  # of a hundred versions one line is enough
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
