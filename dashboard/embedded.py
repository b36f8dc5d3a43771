"""The Celery worker as a thread of the web process: no broker to install, and an end within seconds."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from typing import Any

from celery.worker import WorkController, state

from dashboard import progress
from dashboard.celery import app
from dashboard.tasks import do_work
from dashboard.work.queue import worker_is_here
from dashboard.work.service import service

log = logging.getLogger("clonoscope.embedded")

READY_WITHIN_S = 30
NO_WORK = 0


class _Worker(WorkController):
    """Tells when it takes messages: what is sent earlier to a broker in memory would wait for the next sweep."""

    def __init__(self, **options: Any) -> None:
        self.ready = threading.Event()
        super().__init__(**options)

    def on_consumer_ready(self, consumer: object) -> None:
        self.ready.set()


class EmbeddedWorker:
    """Started when the server starts, joined when it ends."""

    def __init__(self) -> None:
        self._worker: _Worker | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._worker = _Worker(
            app=app,
            hostname="embedded",
            pool="threads",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            quiet=True,
        )
        self._thread = threading.Thread(target=self._worker.start, name="celery", daemon=True)
        self._thread.start()
        if not self._worker.ready.wait(READY_WITHIN_S):
            log.error("the worker did not become ready; work stays queued")
        worker_is_here(True)
        service().start()

    def stop(self) -> None:
        """Ends the work and with it every child, and the worker, which waits for nothing else."""
        worker_is_here(False)
        service().stopping.set()
        state.should_stop = os.EX_OK  # type: ignore[assignment]
        # The worker looks at that flag after a message or two seconds, and then waits for one more.
        for _ in range(2):
            do_work.apply_async((NO_WORK,), retry=False)
        service().stop()
        if self._thread is not None:
            self._thread.join()
        state.should_stop = None

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()


_worker = EmbeddedWorker()


def bundle_is_coming() -> None:
    """Whoever begins an upload will want it ingested: by then the driver is warm."""
    if _worker.is_running:
        service().warm()


async def start() -> None:
    await progress.use_running_loop()
    await asyncio.to_thread(_worker.start)


async def stop() -> None:
    await asyncio.to_thread(_worker.stop)
    progress.use_loop(None)
