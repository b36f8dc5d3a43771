"""A page that asks: what if these tasks, or hosts, had failed at that moment?"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.failing import failing_in
from dashboard.queries.graph import job_graph
from dashboard.views.access import visible_job
from dashboard.views.parameters import one_of
from dashboard.views.telling import tells_problems
from replay.errors import WrongSetting
from replay.guarantees.recoverability.failing import failing_of

CLAIMS_SHOWN = 200
MOST_NAMES = 10_000


@login_required
@require_safe
@tells_problems
def failing_page(request: HttpRequest, job_id: str) -> HttpResponse:
    job = visible_job(request, job_id)
    by = one_of(request, "by", ["task", "host"], default="task")
    failed, at_ms = request.GET.get("failed", "")[:MOST_NAMES].strip(), request.GET.get("at_ms", "").strip()
    outside = not failed or "outside" in request.GET
    context = {"job": job, "by": by, "failed": failed, "at_ms": at_ms, "outside": outside}
    found = job_graph(job.id)
    tasks = [str(task.id) for task in found.manifest.tasks] if found else []
    context["tasks"] = tasks
    if failed:
        context |= _answer(job, f"{'host:' if by == 'host' else ''}{failed}@{at_ms}", outside=outside)
    return render(request, "dashboard/failing.html", context)


def _answer(job: Job, text: str, *, outside: bool) -> dict[str, Any]:
    """What was asked wrongly is said beside the form, which keeps it."""
    try:
        told = failing_in(job, failing_of(text, world=outside)).to_json()
    except WrongSetting as wrong:
        return {"problem": str(wrong)}
    except Problem as problem:
        if problem.status != 422:
            raise
        return {"problem": problem.message}
    claims = told["claims"][:CLAIMS_SHOWN]
    return {"told": told, "claims": claims, "more": len(told["claims"]) - len(claims) + told["claims_left_out"]}
