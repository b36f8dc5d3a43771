"""Putting work into its row, and waking a worker once the row is committed."""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from dashboard.models import Work
from dashboard.work import interrupt

log = logging.getLogger("clonoscope.work")

# A message nobody took in this time is worthless: the sweeper has sent another.
MESSAGE_LIFE_S = 60
_worker_here = False


def worker_is_here(here: bool) -> None:
    """A broker in memory reaches the worker of this process only; without one here, the server's sweeper sends."""
    global _worker_here
    _worker_here = here


def enqueue(kind: str, target: str) -> Work:
    """Call inside the transaction that changes the target's status."""
    work = Work.objects.create(kind=kind, target=target)
    transaction.on_commit(lambda: send([work.id]))
    return work


def drop(target: str) -> None:
    """Whoever holds it can no longer publish from this moment; its child is ended as soon as it notices."""
    open_work = Work.objects.filter(target=target, state__in=[Work.State.QUEUED, Work.State.RUNNING])
    ids = list(open_work.values_list("id", flat=True))
    open_work.update(
        state=Work.State.CANCELLED, cancel_requested=True, lease_owner="", lease_until=None, updated_at=Now()
    )
    transaction.on_commit(lambda: interrupt.ask(ids))


def send(work_ids: list[int]) -> None:
    """Wakes a worker for each; a broker that is away only delays, for the sweeper sends again."""
    if not (settings.REDIS_URL or _worker_here):
        return
    from dashboard.tasks import do_work

    for work_id in work_ids:
        try:
            do_work.apply_async((work_id,), expires=MESSAGE_LIFE_S, retry=False)
        except do_work.OperationalError as error:
            log.warning("work %s stays queued until the broker answers: %s", work_id, error)
            return
        Work.objects.filter(id=work_id).update(sent_at=Now())
