"""What tasks did, as numbers to compare them by, and over time."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Router

from dashboard.api.auth import caller
from dashboard.api.presenting import visible_job
from dashboard.api.schemas import CurvesOut, Error, MeasuresOut
from dashboard.api.tables import readable
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.curves import curves_of, tasks_of
from dashboard.queries.graph import JobGraph, job_graph
from dashboard.queries.lake import lake
from dashboard.queries.task_measures import MEASURES, By, task_measures

router = Router(tags=["measures"])
_RESPONSES = {404: Error, 409: Error, 422: Error}


@router.get("/jobs/{job_id}/measures", response={200: MeasuresOut, **_RESPONSES})
def read_measures(request: HttpRequest, job_id: str, by: By, task: str = "") -> dict[str, Any]:
    """A number for each task: what it logged, took and waited for. Tasks of which the recording tells nothing are not
    there. By `held`: how many bytes of the log of `task` each of the others ever got."""
    job, found = _job_with_graph(request, job_id)
    if by == "held" and task not in found.graph:
        raise Problem(422, f"task: the job has no task {task!r}. Name the one whose log is meant.")
    values = task_measures(lake(), job=job.id, graph=found.graph, by=by, task=task)
    return {"by": by, "says": MEASURES[by].says, "unit": MEASURES[by].unit, "values": values}


@router.get("/jobs/{job_id}/curves", response={200: CurvesOut, **_RESPONSES})
def read_curves(request: HttpRequest, job_id: str, of: str = "") -> dict[str, Any]:
    """Throughput and latency of a vertex or a task over time, at no more than 240 moments; without `of` those at the
    sinks. Those of which fewer than two moments are told are not there."""
    job, found = _job_with_graph(request, job_id)
    if of and not tasks_of(found.manifest, of):
        raise Problem(422, f"of: the job has neither a vertex nor a task {of!r}.")
    duration_us = job.facts.get("duration_us") or 0
    return {"of": of, "curves": curves_of(lake(), job=job.id, manifest=found.manifest, of=of, duration_us=duration_us)}


def _job_with_graph(request: HttpRequest, job_id: str) -> tuple[Job, JobGraph]:
    job = visible_job(caller(request), job_id)
    readable(job)
    found = job_graph(job.id)
    if found is None:
        raise Problem(409, "The job's bundle is gone from the store.", code="not-ready")
    return job, found
