"""The worker's side of work in one process: how many at once, which next, and ending all of it in time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cache

from django.conf import settings
from django.db import connection

from dashboard.models import Status, Work
from dashboard.work import lease, supervise_audit, supervise_demo, supervise_ingest, supervise_replay
from dashboard.work.claim import Claim, LeaseLost, claim, fenced, finish, set_status
from dashboard.work.driver import WarmDriver
from dashboard.work.follow import Followers
from dashboard.work.sweep import Sweeper, write_log
from dashboard.work.turn import next_of
from ingest.launch import IngestError

SPARE_AFTER_S = 2.0

log = logging.getLogger("clonoscope.work")

Kind = Work.Kind
BROKEN = "Something broke on the server; its log says what. Trying again may help."


class WorkService:
    """One per process. Ingests go through the one warm driver, so one at a time; replays are children of their own."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.driver = WarmDriver()
        self.sweeper = Sweeper()
        self.followers = Followers(self.stopping)
        self.spare = supervise_replay.new_spare()
        self._later: threading.Timer | None = None
        self._slots = {
            Kind.INGEST: threading.Semaphore(1),
            Kind.DEMO: threading.Semaphore(1),
            Kind.AUDIT: threading.Semaphore(1),
            Kind.REPLAY: threading.Semaphore(settings.REPLAYS_AT_ONCE),
        }

    def start(self) -> None:
        self.sweeper.start()
        self.followers.start()
        # When the first page is there: both load libraries.
        self._later = threading.Timer(SPARE_AFTER_S, self.spare.prepare)
        self._later.daemon = True
        self._later.start()

    def stop(self) -> None:
        """Interrupts what runs here and gives it back; returns when the sweeper and the driver have ended."""
        self.stopping.set()
        if self._later is not None:
            self._later.cancel()
        self.spare.stop()
        self.sweeper.stop()
        self.followers.stop()
        self.driver.stop()

    def warm(self) -> None:
        """Starts the driver while the bundle that it will ingest is still on its way; returns at once."""
        threading.Thread(target=self._warm, name="warm-up", daemon=True).start()

    def _warm(self) -> None:
        try:
            if not self.stopping.is_set():
                self.driver.get().start()
        except IngestError as error:
            # The ingest will meet it too, and say it to whoever asked for that.
            log.info("the Spark driver could not be started ahead: %s", error)

    def run(self, work_id: int) -> None:
        """A message only wakes: whatever of its kind is queued is done in turn; nothing while all places are taken."""
        kind = Work.objects.filter(id=work_id, state=Work.State.QUEUED).values_list("kind", flat=True).first()
        if kind is None:
            return
        slot = self._slots[Kind(kind)]
        next_id = next_of(kind)
        # Looked at again after giving the place back: work queued in between found it taken.
        while next_id is not None and not self.stopping.is_set() and slot.acquire(blocking=False):
            try:
                self._run_one(next_id)
            finally:
                slot.release()
            next_id = next_of(kind)

    def run_only(self, work_id: int) -> None:
        """For a command that does its own work and leaves what else is queued to the server."""
        self._run_one(work_id)

    def _run_one(self, work_id: int) -> None:
        held = claim(work_id)
        if held is None:
            return
        log.info("%s: started", held)
        try:
            with lease.kept(held, self.stopping) as kept:
                self._supervisor(held.kind)(held, kept)
        except LeaseLost as lost:
            log.info("%s", lost)
        except Exception:
            log.exception("%s broke", held)
            _fail_broken(held)
        finally:
            connection.close()

    def _supervisor(self, kind: str) -> Callable[[Claim, lease.Lease], None]:
        if kind == Kind.INGEST:
            return lambda held, kept: supervise_ingest.supervise(held, kept, self.driver)
        if kind == Kind.REPLAY:
            spare = self.spare if self._later is not None else None  # a command that does its own work ends with it
            return lambda held, kept: supervise_replay.supervise(held, kept, spare)
        if kind == Kind.AUDIT:
            return supervise_audit.supervise
        self.warm()
        return supervise_demo.supervise


def _fail_broken(held: Claim) -> None:
    try:
        with fenced(held) as work:
            finish(work, Work.State.FAILED, BROKEN)
            set_status(held.target, Status.FAILED, BROKEN)
    except LeaseLost:
        return
    write_log(held.target, f"{held.said}, failed: {BROKEN}")


@cache
def service() -> WorkService:
    return WorkService()
