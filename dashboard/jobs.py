"""What can be done with jobs and replays; pages, API and commands all come through here.

Row and work change in one transaction. Files come before it under a guard, or go after it, so that whatever is killed
when, the sweeper finds no row for them and removes them.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dashboard import bundles, joblog, store
from dashboard.models import AuditEntry, Job, LegalHold, Replay, Status, Work, new_job_id
from dashboard.models.audits import audit_id
from dashboard.models.status import PENDING, READABLE
from dashboard.people import quotas, tombstones
from dashboard.progress import push_state
from dashboard.queries.graph import job_graph
from dashboard.removal import remove_path
from dashboard.work.queue import drop, enqueue
from replay.debugger.diverging.findings import OnDivergence
from replay.debugger.executing.following import Until
from replay.errors import ReplayError, printable

NAME_LENGTH = 200


class Refused(Exception):
    """The job or replay is not in a state for this; the sentence says why."""


class OnHold(Refused):
    """A legal hold keeps the job."""

    def __init__(self, hold: LegalHold) -> None:
        super().__init__(
            f"The job is on legal hold: {hold.who} set it on {hold.at:%Y-%m-%d at %H:%M} UTC ({hold.reason}). "
            "It can't be deleted until the hold is lifted."
        )


class StoreFull(Exception):
    """The disk under the store has no room left."""


class OverQuota(Exception):
    """What was uploaded small is large unpacked, and what is kept is the unpacked bundle."""

    def __init__(self, size: int, stored: int, quota: int) -> None:
        super().__init__(
            f"Unpacked, this bundle has at least {size} bytes and would pass your quota: {stored} of {quota} bytes "
            "are stored. Delete jobs that are no longer needed, or ask for a larger quota."
        )
        self.detail = {"quota_bytes": quota, "used_bytes": stored, "bytes": size}


def create_job_from_file(
    user: Any,
    path: Path,
    name: str,
    *,
    replay_when_ready: bool = False,
    together_with: Callable[[], None] = lambda: None,
) -> Job:
    """A queued job of the bundle at `path`, or the job that already holds the same content and this user may see.

    Raises BundleError, having left nothing behind, if the bundle must be refused whole. `together_with` runs in the
    same transaction.
    """
    job_id = new_job_id()
    with bundles.entering(job_id) as entering:
        facts = _pack(path, entering.fresh, user, _short(name))
        if not _is_known(user, facts["content_id"]):
            entering.send()
        with transaction.atomic():
            together_with()
            repeated = _same_content(user, facts["content_id"])
            if repeated is not None:
                return repeated
            # Two at once must not both take the room that is enough for one.
            User.objects.select_for_update().get(pk=user.pk)
            Room(user).check_quota(facts["bytes"])
            job = Job.objects.create(
                id=job_id, owner=user, name=_short(name), replay_when_ready=replay_when_ready, **facts
            )
            enqueue(Work.Kind.INGEST, job.id)
            entering.enter()
    joblog.write(job.id, f"Stored “{job.name}”: {job.bytes} bytes, content {job.content_id}. Queued for ingest.")
    return job


def retry(job: Job, user: Any) -> Job:
    """Ingests once more what failed or was cancelled."""
    _require_bundle(job)
    with transaction.atomic():
        row = Job.objects.select_for_update().get(id=job.id)
        if row.status in PENDING:
            raise Refused(f"The job is {row.status}; cancel it before trying again.")
        if row.status in READABLE:
            raise Refused("The job is ready; there is nothing to try again.")
        requeue(row, f"{user} asked to try again.")
    return row


def reingest_if_older(job: Job) -> bool:
    """Queues an ingest if the job's lake folder has an older schema than this version reads. True if it did."""
    from ingest.lake.schema import SCHEMA_VERSION

    if job.status not in READABLE or job.schema_version == SCHEMA_VERSION:
        return False
    _require_bundle(job)
    with transaction.atomic():
        row = Job.objects.select_for_update().get(id=job.id)
        if row.status not in READABLE or row.schema_version == SCHEMA_VERSION:
            return False
        requeue(row, f"Its tables have schema {row.schema_version}, this version reads {SCHEMA_VERSION}.")
    job.refresh_from_db()
    return True


def cancel(job: Job, user: Any) -> Job:
    """At once: the row changes now, and the child that works on it is ended."""
    with transaction.atomic():
        row = Job.objects.select_for_update().get(id=job.id)
        if row.status not in PENDING:
            raise Refused(f"The job is {row.status}; there is nothing to cancel.")
        _end(row, Status.CANCELLED, "Cancelled.")
        drop(row.id)
    joblog.write(job.id, f"{user} cancelled the job.")
    return row


def delete_job(job: Job, user: Any, *, by: str = "") -> None:
    """The job, its replays, shares, bundle, tables and log; the audit trail keeps that it was, and tombstones stand
    where links point. `by`: who, where it is nobody with an account. Raises `OnHold`."""
    with transaction.atomic():
        row = Job.objects.select_for_update().select_related("owner").filter(id=job.id).first()
        if row is None:
            return
        _check_hold(row.id)
        who, replays = by or str(user), list(Replay.objects.filter(job=row).select_related("job"))
        for target in (row.id, audit_id(row.id), *(replay.id for replay in replays)):
            drop(target)
        tombstones.bury(row, replays, who)
        Job.objects.filter(id=row.id).delete()
        detail = {"name": row.name, **({"by": by} if by else {})}
        AuditEntry.objects.create(actor=user, action="job.delete", target=row.id, detail=detail)
        ids = [replay.id for replay in replays]
        transaction.on_commit(lambda: _remove_files(row.id, ids))


def start_replay(
    user: Any,
    job: Job,
    task: str = "",
    failure: int | None = None,
    attempt: int | None = None,
    on_divergence: OnDivergence = "stop",
    hunt: bool = False,
    until: Until = "snapshot",
) -> Replay:
    """Of a failure, or of one attempt of a task; `hunt` looks for what its operator reads past its log.

    Where no task is named, those that are recovered from together with it are replayed with it; a hunt is of one task.
    """
    if hunt and until != "snapshot":
        raise Refused("A hunt follows a recovery to its next snapshot; leave out until.")
    if attempt is not None and until != "snapshot":
        raise Refused("An attempt is executed to the end of its own log; until goes with a failure.")
    if attempt is not None:
        job_graph(job.id)  # kept at hand: within the transaction a bucket would hold others up
    with transaction.atomic():
        row = Job.objects.select_for_update().get(id=job.id)
        if row.status not in READABLE:
            raise Refused(f"The job is {row.status}; a replay needs its tables.")
        failed, failure = _checked_target(row, task, failure, attempt)
        task = failed if task or hunt else ""
        replay = Replay.objects.create(
            job=row,
            owner=user,
            task=task,
            failure=failure,
            attempt=attempt,
            on_divergence="go-on" if hunt else on_divergence,
            hunt=hunt,
            until=until,
        )
        enqueue(Work.Kind.REPLAY, replay.id)
    joblog.write(job.id, f"Replay {replay.id} queued: {_named(replay)}.")
    return replay


def cancel_replay(replay: Replay, user: Any) -> Replay:
    with transaction.atomic():
        row = Replay.objects.select_for_update().get(id=replay.id)
        if row.status not in PENDING:
            raise Refused(f"The replay is {row.status}; there is nothing to cancel.")
        _end(row, Status.CANCELLED, "Cancelled.")
        drop(row.id)
    joblog.write(row.job_id, f"{user} cancelled replay {row.id}.")
    return row


def retry_replay(replay: Replay, user: Any) -> Replay:
    with transaction.atomic():
        row = Replay.objects.select_for_update().get(id=replay.id)
        if row.status not in (Status.FAILED, Status.CANCELLED):
            raise Refused(f"The replay is {row.status}; only a failed or cancelled one can be tried again.")
        row.status, row.message, row.verdict, row.sentence, row.steps = Status.QUEUED, "", "", "", 0
        row.save()
        enqueue(Work.Kind.REPLAY, row.id)
        transaction.on_commit(lambda: push_state(row.id))
    joblog.write(row.job_id, f"{user} asked to try replay {row.id} again.")
    return row


def delete_replay(replay: Replay, user: Any) -> None:
    """Raises `OnHold`: what was found out of a job that is kept is kept with it."""
    with transaction.atomic():
        Job.objects.select_for_update().get(id=replay.job_id)
        _check_hold(replay.job_id)
        drop(replay.id)
        tombstones.bury_replay(replay, str(user))
        Replay.objects.filter(id=replay.id).delete()
        detail = {"job": replay.job_id, "task": replay.task}
        AuditEntry.objects.create(actor=user, action="replay.delete", target=replay.id, detail=detail)
        transaction.on_commit(lambda: remove_path(store.replay_path(replay.id)))
    joblog.write(replay.job_id, f"{user} deleted replay {replay.id}.")


def _check_hold(job_id: str) -> None:
    """The job's row is locked by now, as it is where a hold is set."""
    hold = LegalHold.objects.filter(job_id=job_id).first()
    if hold is not None:
        raise OnHold(hold)


class Room:
    """What a bundle may unpack to. Asked before each member is written, so that a small upload fills no disk.

    `besides`: a job whose bundle it takes the place of.
    """

    def __init__(self, user: Any, besides: str = "") -> None:
        before = Job.objects.filter(id=besides).values_list("bytes", flat=True).first() or 0
        self._quota, self._stored = quotas.quota_bytes(user), quotas.stored_bytes(user) - before

    def check_quota(self, size: int) -> None:
        if self._stored + size > self._quota:
            raise OverQuota(size, self._stored, self._quota)


def _pack(path: Path, fresh: Path, user: Any, name: str) -> dict[str, Any]:
    try:
        return _packed(path, fresh, Room(user), name)
    except (ReplayError, OSError) as error:
        # The reader of bundles says it in its own words; here a full disk is the server's fault, not the bundle's.
        cause = error if isinstance(error, OSError) else error.__cause__
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise StoreFull(
                "The disk is full: the bundle could not be stored. Free some space, then try again."
            ) from error
        raise


def _packed(path: Path, fresh: Path, room: Room, name: str) -> dict[str, Any]:
    # Imported here: a page that creates no job need not load the readers of five containers.
    from dashboard.importing import packed
    from replay.bundle.limits import Limits
    from replay.bundle.reader import open_bundle

    summary, came_in = packed(path, fresh, Limits(max_bytes=settings.MAX_UNPACKED_BYTES), name, room.check_quota)
    with open_bundle(fresh) as bundle:
        bundle.check_shape()
    return {"content_id": summary.content_id, "bytes": summary.bytes, "container": came_in}


def _is_known(user: Any, content_id: str) -> bool:
    return Job.objects.payloads_visible_to(user).filter(content_id=content_id).exists()


def _same_content(user: Any, content_id: str) -> Job | None:
    # A job of which they see only that it is there would give them less than they bring.
    job = Job.objects.payloads_visible_to(user).filter(content_id=content_id).first()
    if job is None:
        return None
    if job.status in (Status.FAILED, Status.CANCELLED) and job.owner_id == user.id:
        job = retry(job, user)
    job.repeated = True
    return job


def _require_bundle(job: Job) -> None:
    """Before a transaction: a bucket may take its time."""
    if not bundles.is_stored(job.id):
        raise Refused("Its bundle is no longer in the store; delete the job and upload the bundle again.")


def requeue(row: Job, why: str) -> None:
    """Within a transaction that holds the row."""
    row.status, row.message = Status.QUEUED, ""
    row.save(update_fields=["status", "message", "updated_at"])
    enqueue(Work.Kind.INGEST, row.id)
    transaction.on_commit(lambda: push_state(row.id))
    joblog.write(row.id, f"Queued for ingest again. {why}")


def _end(row: Job | Replay, status: str, message: str) -> None:
    row.status, row.message = status, message
    row.save(update_fields=["status", "message", "updated_at"])
    transaction.on_commit(lambda: push_state(row.id))


def _checked_target(job: Job, task: str, failure: int | None, attempt: int | None) -> tuple[str, int | None]:
    """A replay that names no failure of this job would only fail later, with less to say."""
    if (failure is None) == (attempt is None):
        raise Refused("Say which failure to replay, or which attempt of a task: one of the two.")
    if attempt is not None:
        if not task:
            raise Refused("Say which task's attempt to replay.")
        graph = job_graph(job.id)
        if graph is not None and graph.manifest.task(task) is None:
            raise Refused(f"The recording has no task {printable(task)}; its tasks are those of job.json.")
        return task, None
    failures = {one["failure"]: one["task"] for one in job.facts.get("failures", [])}
    if failure not in failures:
        known = ", ".join(map(str, failures)) or "none"
        raise Refused(f"There is no failure {failure} in this job; its failures are: {known}.")
    failed = failures[failure]
    if failed is None:
        raise Refused(f"The recording does not say which task failed in failure {failure}, so it cannot be replayed.")
    if task and task != failed:
        raise Refused(f"Failure {failure} is of {failed}, not of {task}.")
    return failed, failure


def _named(replay: Replay) -> str:
    what = f"failure {replay.failure}" if replay.attempt is None else f"attempt {replay.attempt}"
    return f"{what} of {replay.task}" if replay.task else what


def _short(name: str) -> str:
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name).strip()
    return printable[:NAME_LENGTH] or f"bundle of {timezone.now():%Y-%m-%d %H:%M}"


def _remove_files(job_id: str, replays: list[str]) -> None:
    bundles.remove(job_id)
    store.log_path(job_id).unlink(missing_ok=True)
    reports = store.audits().glob(f"{audit_id(job_id)}.*")
    store.remove_tables(job_id)
    for path in (*map(store.replay_path, replays), *reports):
        remove_path(path)
