"""`jobs`: what is stored, newest first."""

from __future__ import annotations

from typing import Any

from dashboard.management.base import Command as Base
from dashboard.management.base import Outcome
from dashboard.models import Job
from dashboard.opening import open_folder


class Command(Base):
    help = "Lists the jobs of the data folder."

    def run(self, **options: Any) -> Outcome:
        open_folder()
        jobs = list(Job.objects.select_related("owner"))
        lines = [f"{job.id}  {job.status:<13}  {job.owner.username:<12}  {job.name}" for job in jobs]
        return Outcome("\n".join(lines) or "There are no jobs.", {"jobs": [_fields(job) for job in jobs]})


def _fields(job: Job) -> dict[str, Any]:
    return {
        "job": job.id,
        "name": job.name,
        "owner": job.owner.username,
        "status": job.status,
        "message": job.message,
        "rejects": job.rejects,
        "bytes": job.bytes,
        "content_id": job.content_id,
        "created_at": job.created_at.isoformat(),
    }
