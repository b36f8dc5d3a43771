"""`ingest --follow`: looks at a folder in the foreground until Ctrl-C; who serves the data folder makes the versions,
and where nobody does, this process holds it and makes them itself.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User

from dashboard import folder, following
from dashboard.following import Following
from dashboard.models import Job
from dashboard.work.follow import COMPLETE, DELETED, SeeTo, follow, is_open
from dashboard.work.service import service
from dashboard.work.sweep import free_leases_of_the_folder

LOOK_S = 0.2
STOPPED = "Stopped following; the same command goes on."
SWITCHED_OFF = "Following was switched off; the same command, or the switch on the job's page, goes on."


def followed(user: User, path: Path, *, command: str, say: Callable[[str], object]) -> tuple[Job | None, str]:
    """The job as it is in the end, and why that was the end."""
    with _stop_at_a_signal() as stop, _hands(command, stop) as see_to:
        job = following.followed_before(user, path)
        if job is None:
            with following.beginning(user, path, stop) as begun:
                if begun is None:
                    return None, "Stopped before there was a manifest; nothing was stored."
                job, one = begun
                why = _follow(job, one, stop, see_to, say)
        else:
            if following.grows(job):
                following.switch(job, True, user)
            why = _go_on(job, stop, see_to, say)
    found = Job.objects.filter(id=job.id).first()
    return found, why


def _go_on(job: Job, stop: threading.Event, see_to: SeeTo, say: Callable[[str], object]) -> str:
    """A server may have begun to follow it; then this only looks on."""
    while not stop.is_set():
        with following.following(job) as one:
            if one is not None:
                return _follow(job, one, stop, see_to, say)
        found = Job.objects.filter(id=job.id).first()
        if found is None:
            return DELETED
        if not found.following:
            return SWITCHED_OFF if following.grows(found) else _completed(found, see_to)
        stop.wait(LOOK_S)
    following.end(job.id, "")
    return STOPPED


def _completed(job: Job, see_to: SeeTo) -> str:
    last = following.last_version(job)
    if last is not None:
        see_to(last.id)
    return COMPLETE


def _follow(job: Job, one: Following, stop: threading.Event, see_to: SeeTo, say: Callable[[str], object]) -> str:
    say(f"{job.id} follows {job.followed}; Ctrl-C stops it.")
    why = follow(one, stop, see_to)
    if stop.is_set():
        following.end(job.id, "")
    return why or (STOPPED if stop.is_set() else SWITCHED_OFF)


@contextmanager
def _stop_at_a_signal() -> Iterator[threading.Event]:
    """The first one lets what is being made come to its end."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {one: signal.signal(one, lambda *_: stop.set()) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextmanager
def _hands(command: str, stop: threading.Event) -> Iterator[SeeTo]:
    """Who does the work: whoever serves the folder, or this process, which then keeps its driver warm."""
    held_here = False
    with ExitStack() as held:

        def take_over() -> bool:
            """Also where a server was there and is gone: nobody else would take up what it had begun."""
            nonlocal held_here
            if settings.WORKER_IN_PROCESS and folder.holder() is None:
                try:
                    held.enter_context(folder.held(command=command))
                except folder.FolderInUse:
                    return False
                held.callback(service().driver.stop)
                free_leases_of_the_folder()
                held_here = True
            return held_here

        def see_to(work_id: int) -> None:
            while is_open(work_id):
                if held_here or take_over():
                    service().run_only(work_id)
                # Its driver may have died, and then it is to be done once more; or somebody else does it.
                if is_open(work_id) and stop.wait(LOOK_S):
                    return

        yield see_to
