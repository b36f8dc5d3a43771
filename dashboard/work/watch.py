"""Watching work to its end from a command; where nobody serves the data folder, doing it here."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist

from dashboard import folder, progress
from dashboard.jobs import Refused
from dashboard.models import Work
from dashboard.models.status import ENDED
from dashboard.models.targets import Target
from dashboard.work.service import service
from dashboard.work.sweep import free_leases_of_the_folder

LOOK_S = 0.2


def until_ended(row: Target, *, command: str, say: Callable[[str], object]) -> None:
    """Returns when the job, replay or audit has ended, whoever did it; `row` is then as in the database."""
    told = ""
    while True:
        try:
            row.refresh_from_db()
        except ObjectDoesNotExist:
            raise Refused(f"{row.id} was deleted meanwhile.") from None
        if row.status in ENDED:
            return
        if settings.WORKER_IN_PROCESS and folder.holder() is None:
            _do_it_here(row.id, command)
            continue
        told = _tell(row.id, told, say)
        time.sleep(LOOK_S)


def _do_it_here(target: str, command: str) -> None:
    try:
        with folder.held(command=command):
            free_leases_of_the_folder()
            work = Work.objects.filter(target=target, state=Work.State.QUEUED).first()
            if work is not None:
                service().run_only(work.id)
            else:
                # Another process holds its lease: it may still be alive, and the lease will end if it is not.
                time.sleep(LOOK_S)
    except folder.FolderInUse:
        return
    finally:
        service().driver.stop()


def _tell(target: str, told: str, say: Callable[[str], object]) -> str:
    state = progress.state_of(target) or {}
    words = " ".join(filter(None, (str(state.get("phase", "")), str(state.get("message", "")))))
    if words and words != told:
        say(words)
    return words
