"""The one Celery task. It carries the id of a work row and nothing else."""

from __future__ import annotations

from dashboard.celery import app


@app.task(name="clonoscope.work", ignore_result=True)
def do_work(work_id: int) -> None:
    from dashboard.work.service import service

    service().run(work_id)
