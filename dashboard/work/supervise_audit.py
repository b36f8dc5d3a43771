"""One audit: a child process asks the recording and writes the report; this thread passes on how far it is."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from dashboard import audits, bundles, joblog, store
from dashboard.models import Job, Status, Work
from dashboard.models.audits import job_of_audit
from dashboard.progress import Reporter
from dashboard.work import ending
from dashboard.work.claim import Claim, fenced, finish, set_status
from dashboard.work.lease import Lease
from dashboard.work.supervise_replay import replay_limits
from ingest.launch import Progress, not_written, run_audit

log = logging.getLogger("clonoscope.work")

# What of an audit's outcome becomes a column.
PUBLISHED = ("verdict", "processing", "delivery", "good", "version")


def supervise(held: Claim, lease: Lease) -> None:
    joblog.write(job_of_audit(held.target), f"{held.said}, started.")
    # The file of this attempt alone, which nothing shows before the row names it.
    report = store.audits() / f"{held.target}.{held.work_id}-{held.attempt}.json"
    try:
        with ending.of_a_child(held, lease):
            report.parent.mkdir(parents=True, exist_ok=True)
            audited = Job.objects.get(id=job_of_audit(held.target))
            _publish(held, report, audited, _audit(held, lease, report))
    except OSError as fault:
        log.exception("%s could not be begun", held)
        ending.failed(held, not_written(fault, store.audits()))


def _audit(held: Claim, lease: Lease, report: Path) -> dict[str, Any]:
    from ingest.lake.schema import SCHEMA_VERSION

    reporter = Reporter(held)

    def tell(told: Progress) -> None:
        reporter.report(told.phase, told.done, told.total, told.unit, told.message)

    job = job_of_audit(held.target)
    # Tables of an older version may lack what would speak against it.
    current = Job.objects.filter(id=job, schema_version=SCHEMA_VERSION).exists()
    lake = (str(settings.LAKE_ROOT), job) if current else None
    log_path = settings.DATA / "logs" / "replays.log"
    with bundles.bundle(job, lease.interrupted) as pack:
        return run_audit(pack, report, replay_limits(), log_path, tell, lease.interrupted, lake=lake)


def _publish(held: Claim, report: Path, audited: Job, outcome: dict[str, Any]) -> None:
    """The row names the new report and no longer the one before, which the next sweep removes. What was complete only
    after it was read is audited again, where that is done unasked."""
    of_job = {"content_id": audited.content_id, "epochs": audited.facts.get("epochs")}
    with fenced(held) as work:
        finish(work, Work.State.DONE)
        made = of_job | {name: outcome[name] for name in PUBLISHED if outcome.get(name) is not None}
        set_status(held.target, Status.READY, "", report=report.name, made_at=timezone.now(), **made)
        job = Job.objects.select_related("owner").get(id=audited.id)
        if job.readable and not job.following and job.content_id != audited.content_id:
            audits.start_unasked(job)
    joblog.write(job_of_audit(held.target), f"Audit ended, {outcome['verdict']}.")
