"""Looking at the folders of jobs that are still recorded, and having their versions made, until they end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from django.db import DatabaseError, connection

from dashboard import following
from dashboard.following import LOOK_S, Following
from dashboard.jobs import OverQuota
from dashboard.models import Job, Work
from ingest.lake.errors import OutOfReach
from replay.bundle.pack import PackSummary
from replay.errors import ReplayError

log = logging.getLogger("clonoscope.work")

WAIT_S = 0.2
RESTING_SHARE = 0.25
MOST_WAIT_S = 3.0
COMPLETE = "The recording is complete."
DELETED = "The job was deleted."
SeeTo = Callable[[int], None]
"""Returns when that work has ended, or when it is to be waited for no longer."""


def follow(one: Following, stop: threading.Event, see_to: SeeTo) -> str:
    """Until the recording ends, somebody switches it off, or `stop`; why it ended, or nothing.

    While versions take seconds, others have the machine for a quarter as long in between.
    """
    behind = True
    while not stop.is_set():
        job = Job.objects.filter(id=one.job_id).first()
        if job is None or not job.following:
            return "" if job else DELETED
        began = time.monotonic()
        try:
            behind |= one.look()
            if one.ended:
                return _ended(one, job, stop, see_to)
            if behind and one.begun:
                behind = not _made(job, one.store(), see_to)
        except (ReplayError, OverQuota, OSError) as fault:
            following.end(one.job_id, str(fault))
            raise
        stop.wait(min(max(LOOK_S, RESTING_SHARE * (time.monotonic() - began)), MOST_WAIT_S))
    return ""


def _made(job: Job, stored: PackSummary, see_to: SeeTo) -> bool:
    before = following.version_under_way(job)
    if before is not None:
        see_to(before.id)
    work = following.next_version(job, stored)
    if work is not None:
        see_to(work.id)
    return work is not None


def _ended(one: Following, job: Job, stop: threading.Event, see_to: SeeTo) -> str:
    before = following.version_under_way(job)
    if before is not None:
        see_to(before.id)
    work = following.complete(job, one.settle())
    if work is not None:
        see_to(work.id)
    return COMPLETE


def wait_for(stop: threading.Event) -> SeeTo:
    """Where others do the work."""

    def see_to(work_id: int) -> None:
        while is_open(work_id) and not stop.wait(WAIT_S):
            pass

    return see_to


def is_open(work_id: int) -> bool:
    """Whether somebody does it, or is to."""
    return Work.objects.filter(id=work_id, state__in=[Work.State.QUEUED, Work.State.RUNNING]).exists()


class Followers:
    """In a server: follows what is to be followed and what nobody else follows, each in a thread of its own."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._thread: threading.Thread | None = None
        self._running: dict[str, threading.Thread] = {}

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="followers", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        for thread in [self._thread, *self._running.values()]:
            if thread is not None:
                thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_S):
            self._running = {job: thread for job, thread in self._running.items() if thread.is_alive()}
            try:
                wanted = list(Job.objects.filter(following=True).exclude(id__in=self._running))
            except DatabaseError:
                log.exception("who is to be followed could not be asked; the next look tries again")
                wanted = []
            for job in wanted:
                thread = threading.Thread(target=self._follow, args=(job,), name=f"follow-{job.id}", daemon=True)
                self._running[job.id] = thread
                thread.start()
        connection.close()

    def _follow(self, job: Job) -> None:
        try:
            with following.following(job) as one:
                if one is not None:
                    log.info("%s is followed: %s", job.id, job.followed)
                    follow(one, self._stopping, wait_for(self._stopping))
        except OutOfReach as fault:
            log.warning("%s is followed on when its bundle can be put: %s", job.id, fault)
        except (ReplayError, OverQuota, OSError, DatabaseError) as fault:
            log.warning("%s is followed no more: %s", job.id, fault)
            with suppress(DatabaseError):
                following.end(job.id, str(fault))
        finally:
            connection.close()
