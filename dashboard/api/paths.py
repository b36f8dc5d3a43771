"""The causal path of a task's attempt: how far its log travelled, when, on which buffers, who held it, at what cost."""

from __future__ import annotations

import csv
import io
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import P, QueryEx, Router

from dashboard.api.auth import caller
from dashboard.api.presenting import visible_job
from dashboard.api.schemas import Error
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.causal_paths import causal_path, sharing
from dashboard.queries.graph import job_graph
from replay.errors import printable

router = Router(tags=["paths"])


@router.get("/jobs/{job_id}/paths/{task}", response={200: dict[str, Any], 404: Error, 409: Error, 422: Error})
def read_causal_path(request: HttpRequest, job_id: str, task: str, attempt: QueryEx[int, P(ge=0, lt=2**31)] = 0) -> Any:
    """Per log its bytes when the attempt ended; per holder how much it held, from when on, and how that came."""
    return causal_path(_job_with(request, job_id, task), task, attempt)


@router.get("/jobs/{job_id}/paths/{task}/sharing", response={200: dict[str, Any], 404: Error, 409: Error, 422: Error})
def read_sharing(
    request: HttpRequest,
    job_id: str,
    task: str,
    attempt: QueryEx[int, P(ge=0, lt=2**31)] = 0,
    format: Literal["json", "csv"] = "json",  # noqa: A002 - its name
    rows: Literal["hops", "channels", "depths"] = "hops",
) -> Any:
    """Bytes of its log by hop and channel, with how many were sent twice; per sharing depth what would have been. As
    CSV one of these three: `rows`."""
    told = sharing(_job_with(request, job_id, task), task, attempt)
    return told if format == "json" else _as_csv(told[rows])


def _as_csv(rows: list[dict[str, Any]]) -> HttpResponse:
    """What holds lists is left out."""
    names = [name for name, value in rows[0].items() if not isinstance(value, list | dict)] if rows else []
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerows([names, *([row[name] for name in names] for row in rows)])
    return HttpResponse(written.getvalue(), content_type="text/csv; charset=utf-8")


def _job_with(request: HttpRequest, job_id: str, task: str) -> Job:
    job = visible_job(caller(request), job_id)
    if not job.readable:
        raise Problem(409, f"The job is {job.status}; it cannot be read yet.", code="not-ready")
    found = job_graph(job.id)
    if found is not None and found.manifest.task(task) is None:
        raise Problem(404, f"The recording has no task {printable(task)}. Its tasks are those of job.json.")
    return job
