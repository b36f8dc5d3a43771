"""Whom a set of tasks or hosts of a job would have orphaned, had it failed at a moment: worked out from its tables."""

from __future__ import annotations

from typing import cast

from dashboard import jobs
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.graph import job_graph
from dashboard.queries.lake import lake
from ingest.lake.recoverability.of_lake import LakeCausality
from replay.debugger.ports import RecordingSource
from replay.errors import WrongSetting
from replay.guarantees.claims import Section
from replay.guarantees.recoverability.failing import Failing, failing_section


def failing_in(job: Job, failing: Failing) -> Section:
    """Problem 422 where there is no such task or host, 409 where its tables are not there."""
    found = job_graph(job.id)
    if jobs.reingest_if_older(job) or not job.readable or found is None:
        raise Problem(409, f"The job is {job.status}; this asks its tables.", code="not-ready")
    # Of the recording nothing but its shape is asked: all else stands in tables.
    causality = LakeCausality(cast(RecordingSource, found), lake().job(job.id))
    try:
        return failing_section(causality, failing)
    except WrongSetting as wrong:
        raise Problem(422, str(wrong), code="bad-failures") from None
