"""The ways between the pages of a recording: on each of them the same, in the same order."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse

from dashboard.models import Job

register = template.Library()
PAGES = (
    ("job", "Overview"),
    ("logs", "Logs"),
    ("paths", "Causal paths"),
    ("job-recovery", "Recovery"),
    ("spacetime", "Space-time"),
    ("job-audit", "Audit"),
    ("job-replays", "Replays"),
    ("sql", "SQL"),
)
OF_A_TASK = ("job", "logs", "paths")
OF_AN_ATTEMPT = ("logs", "paths")


@register.inclusion_tag("dashboard/partials/job_ways.html")
def job_ways(job: Job, here: str = "", task: str = "", attempt: int | None = None) -> dict[str, Any]:
    """`here` is the name of the page's address; the task and attempt that it shows are shown where one goes, too."""
    if not job.readable:
        return {"ways": []}
    return {"ways": [(_address(name, job, task, attempt), words, name == here) for name, words in PAGES]}


def _address(name: str, job: Job, task: str, attempt: int | None) -> str:
    query: dict[str, Any] = {"task": task} if task and name in OF_A_TASK else {}
    if query and attempt is not None and name in OF_AN_ATTEMPT:
        query["attempt"] = attempt
    return reverse(name, args=[job.id]) + (f"?{urlencode(query)}" if query else "")
