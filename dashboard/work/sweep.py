"""Taking up what was queued or half done: at start and every few seconds, whatever was killed and with any broker."""

from __future__ import annotations

import logging
import threading
import time
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from dashboard import joblog, retention
from dashboard.models import Job, JobAudit, Replay, Status, Work
from dashboard.models.targets import job_behind
from dashboard.work import leftovers, owner
from dashboard.work.claim import said, set_status
from dashboard.work.queue import send

log = logging.getLogger("clonoscope.work")

# A piece of work that so many processes died over is put aside, lest it end every process that takes it.
MAX_ATTEMPTS = 10
KEPT = timedelta(days=30)
LOOK_S = 1.0
INTERRUPTED = "Its server or worker ended; the work was taken up again."


def sweep() -> list[int]:
    """Frees what dead holders held, removes leftovers, and wakes workers for all that is queued; their ids."""
    free_dead_leases()
    drop_work_of_nothing()
    forget_ended_work()
    retention.retire()
    leftovers.remove()
    resend_after = timedelta(seconds=settings.SWEEP_S)
    return _send(Q(sent_at=None) | Q(sent_at__lt=Now() - resend_after))


def send_unsent() -> list[int]:
    """What another process has queued, which a broker in memory could not tell us."""
    return _send(Q(sent_at=None))


def _send(which: Q) -> list[int]:
    queued = list(Work.objects.filter(which, state=Work.State.QUEUED).values_list("id", flat=True))
    send(queued)
    return queued


def free_dead_leases() -> None:
    """A lease ends when its time is over, or as soon as its holder is known to be dead."""
    running = Work.objects.filter(state=Work.State.RUNNING)
    expired = set(running.filter(lease_until__lt=Now()).values_list("id", flat=True))
    for work in running:
        if work.id in expired or owner.is_dead(work.lease_owner):
            _free(work)


def free_leases_of_the_folder() -> None:
    """For who has just taken the data folder's lock: without a broker only its holder works on the folder's database,
    so every lease in it is of somebody dead, even if it was in a container that we cannot see into."""
    if settings.WORKER_IN_PROCESS and connection.vendor == "sqlite":
        for work in Work.objects.filter(state=Work.State.RUNNING):
            _free(work)


def drop_work_of_nothing() -> None:
    """Deleting a person deletes their jobs and replays without asking what is being done for them."""
    open_work = Work.objects.filter(state__in=[Work.State.QUEUED, Work.State.RUNNING])
    of_nothing = open_work.filter(kind=Work.Kind.INGEST).exclude(target__in=Job.objects.values("id"))
    of_nothing |= open_work.filter(kind=Work.Kind.REPLAY).exclude(target__in=Replay.objects.values("id"))
    of_nothing |= open_work.filter(kind=Work.Kind.AUDIT).exclude(target__in=JobAudit.objects.values("id"))
    of_nothing.update(state=Work.State.CANCELLED, lease_owner="", lease_until=None, updated_at=Now())


def forget_ended_work() -> None:
    """Rows that ended long ago: those of jobs and replays that are gone, and all but the newest of the others, which
    pages tell of."""
    ended = Work.objects.exclude(state__in=[Work.State.QUEUED, Work.State.RUNNING]).filter(updated_at__lt=Now() - KEPT)
    newer = Work.objects.filter(kind=OuterRef("kind"), target=OuterRef("target"), id__gt=OuterRef("id"))
    there = [Exists(model.objects.filter(id=OuterRef("target"))) for model in (Job, Replay, JobAudit)]
    ended.filter(Exists(newer) | ~(there[0] | there[1] | there[2])).delete()


def _free(work: Work) -> None:
    still = Work.objects.filter(
        id=work.id, state=Work.State.RUNNING, attempt=work.attempt, lease_until=work.lease_until
    )
    given_up = work.attempt >= MAX_ATTEMPTS
    state = Work.State.FAILED if given_up else Work.State.QUEUED
    message = f"Given up: {work.attempt} attempts ended with the process that made them." if given_up else INTERRUPTED
    with transaction.atomic():
        freed = still.update(
            state=state, lease_owner="", lease_until=None, sent_at=None, message=message, updated_at=Now()
        )
        if freed:
            set_status(work.target, Status.FAILED if given_up else Status.QUEUED, message)
    if freed:
        log.info("work %s (%s %s): %s", work.id, work.kind, work.target, message)
        write_log(work.target, f"{said(work.kind, work.target, work.attempt)}: {message}")


def write_log(target: str, sentence: str) -> None:
    """Into the log of the job, or of the job that a replay or an audit belongs to."""
    job = job_behind(target)
    if job and job.startswith("j_"):
        joblog.write(job, sentence)


class Sweeper:
    """Sweeps in a thread until it is stopped, and looks for newly queued work more often."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        next_sweep = time.monotonic()
        while True:
            try:
                if time.monotonic() >= next_sweep:
                    next_sweep = time.monotonic() + settings.SWEEP_S
                    sweep()
                else:
                    send_unsent()
            except (DatabaseError, OSError):
                log.exception("a sweep failed; the next one tries again")
                connection.close()
            if self._stop.wait(LOOK_S):
                connection.close()
                return
