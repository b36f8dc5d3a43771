"""The one Celery task. It carries the id of a work row and nothing else."""

from __future__ import annotations

from celery import signals

from dashboard.celery import app


@app.task(name="clonoscope.work", ignore_result=True)
def do_work(work_id: int) -> None:
    from dashboard.work.service import service

    service().run(work_id)


@signals.worker_ready.connect
def _begin(**_: object) -> None:
    """In a worker process of its own, which is where these signals come; the embedded worker is begun by the server."""
    from dashboard.work.service import service

    service().start()


@signals.worker_shutting_down.connect
def _interrupt(**_: object) -> None:
    """At once, or the worker would wait for its children to finish."""
    from dashboard.work.service import service

    service().stopping.set()


@signals.worker_shutdown.connect
def _end(**_: object) -> None:
    from dashboard.work.service import service

    service().stop()
