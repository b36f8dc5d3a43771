"""A job's recoveries taken apart, and what they would take if something were otherwise."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, P, QueryEx, Router, Schema

from dashboard.api.auth import caller
from dashboard.api.presenting import visible_job
from dashboard.api.schemas import Error
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.anatomy import MOST, Otherwise, anatomy, otherwise

router = Router(tags=["recoveries"])


class WhatIf(Schema):
    missing: list[str] = Field(description="what neither recording nor question tells, without which there is no model")
    parameters: dict[str, Any] | None = Field(description="times in microseconds, bytes, shares")
    recorded: dict[str, Any] | None = Field(description="what the recording's own numbers come to")
    asked: dict[str, Any] | None = Field(description="the same with what is asked for")
    target: dict[str, Any] | None = Field(description="the checkpoint interval that the target asks for")


@router.get("/jobs/{job_id}/recovery", response={200: dict[str, Any], 404: Error, 409: Error, 422: Error, 503: Error})
def read_recoveries(request: HttpRequest, job_id: str) -> Any:
    """Groups of recoveries that overlap in time: lanes with their parts, and the critical path of each group."""
    return anatomy(_read(request, job_id))


@router.get("/jobs/{job_id}/recovery/what-if", response={200: WhatIf, 404: Error, 409: Error, 422: Error, 503: Error})
def ask_what_if(
    request: HttpRequest,
    job_id: str,
    interval_ms: QueryEx[float | None, P(gt=0, le=MOST["interval_ms"])] = None,
    load: QueryEx[float | None, P(ge=0, le=MOST["load"])] = None,
    rtt_us: QueryEx[float | None, P(ge=0, le=MOST["rtt_us"])] = None,
    state_bytes: QueryEx[float | None, P(ge=0, le=MOST["state_bytes"])] = None,
    standby: bool | None = None,
    target_ms: QueryEx[float | None, P(gt=0, le=MOST["target_ms"])] = None,
) -> dict[str, Any]:
    """Equations 3.1 and 3.2 with other settings; what is not given stays as the recording tells it."""
    asked = Otherwise(interval_ms, load, rtt_us, state_bytes, standby, target_ms)
    return otherwise(anatomy(_read(request, job_id)), asked)


def _read(request: HttpRequest, job_id: str) -> Job:
    job = visible_job(caller(request), job_id)
    if not job.readable:
        raise Problem(409, f"The job is {job.status}; it cannot be read yet.", code="not-ready")
    return job
