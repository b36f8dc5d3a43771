"""Keeping a lease while the work goes on, and noticing at once that it was lost, cancelled or is to be given back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DatabaseError, connection

from dashboard.work import interrupt
from dashboard.work.claim import Claim, renew

log = logging.getLogger("clonoscope.work")

LOOK_S = 0.5


class Lease:
    """Says to the supervising thread whether to go on."""

    def __init__(self, held: Claim, stopping: threading.Event) -> None:
        self.held = held
        self.stopping = stopping
        self.lost = interrupt.listen(held.work_id)

    def interrupted(self) -> bool:
        """The claim is lost or the work cancelled, or this process is to end: the child must go."""
        return self.lost.is_set() or self.stopping.is_set()


@contextmanager
def kept(held: Claim, stopping: threading.Event) -> Iterator[Lease]:
    """Renews the lease in a thread of its own: the supervisor may be busy with its child for longer than a lease."""
    lease, done = Lease(held, stopping), threading.Event()
    keeper = threading.Thread(target=_keep, args=(lease, done), name=f"lease-{held.work_id}", daemon=True)
    keeper.start()
    try:
        yield lease
    finally:
        done.set()
        keeper.join()
        interrupt.forget(held.work_id)


def _keep(lease: Lease, done: threading.Event) -> None:
    renewed_at = time.monotonic()
    try:
        while not done.wait(LOOK_S):
            try:
                if time.monotonic() - renewed_at > settings.LEASE_S / 4:
                    holds, renewed_at = renew(lease.held), time.monotonic()
                else:
                    holds = lease.held.rows().exists()
            except DatabaseError as error:
                # The fence decides in the end; until the lease has run out, the database may come back.
                log.warning("the lease of %s could not be looked at: %s", lease.held, error)
                connection.close()
                continue
            if not holds:
                lease.lost.set()
                return
    finally:
        connection.close()
