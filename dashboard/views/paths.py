"""The causal path of a chosen task: how far its log travelled, who held how much of it until it ended, at what cost."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard import jobs
from dashboard.describing import outside
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.causal_paths import causal_path, sharing
from dashboard.queries.failures import job_failures
from dashboard.queries.graph import JobGraph, job_graph
from dashboard.queries.lake import lake
from dashboard.queries.task import task_attempts
from dashboard.views.access import visible_job
from dashboard.views.parameters import not_there, one_of, whole
from dashboard.views.telling import tells_problems
from dashboard.worked_out import AT_ONCE_BYTES


@login_required
@require_safe
@tells_problems
def paths_page(request: HttpRequest, job_id: str) -> HttpResponse:
    job = visible_job(request, job_id)
    found = job_graph(job.id)
    if jobs.reingest_if_older(job) or not job.readable or found is None:
        return redirect("job", job_id=job.id)
    context = _context(request, job, found)
    part, waits = request.GET.get("part"), "wait" in request.GET
    if part == "sharing" or (waits and found.manifest.protocol.logs):
        context |= _sharing_context(job, context["task"], context["attempt"])
    if part == "sharing":
        return render(request, "dashboard/partials/sharing.html", context)
    if part == "path" or waits or job.bytes <= AT_ONCE_BYTES:
        context |= _path_context(request, job, context["task"], context["attempt"])
    else:
        context["later"] = True
    return render(request, "dashboard/partials/path.html" if part == "path" else "dashboard/paths.html", context)


def _context(request: HttpRequest, job: Job, found: JobGraph) -> dict[str, Any]:
    failures = job_failures(lake(), job=job.id)
    ids = [str(task.id) for task in found.manifest.tasks]
    task = one_of(request, "task", ids, default=failures[0].task if failures else next(iter(ids), ""))
    attempts = task_attempts(lake(), job=job.id, task=task, failures=failures)
    numbers = [one.attempt for one in attempts]
    asked = whole(request, "attempt")
    return {
        "job": job,
        "graph": found.for_script({task}),
        "manifest": found.manifest,
        "task_ids": ids,
        "suspected": {one.attempt for one in failures if one.task == task and one.suspected},
        "outside": outside(found.manifest.protocol),
        "task": task,
        "attempts": attempts,
        "attempt": asked
        if asked in numbers
        else _worth_seeing(numbers, [f.attempt for f in failures if f.task == task]),
        "address": request.GET.urlencode(),
        "not_there": not_there(request, task=ids, attempt=numbers),
    }


def _worth_seeing(numbers: list[int], failed: list[int | None]) -> int:
    """The attempt that failed first: what it had logged is what recovery lived on."""
    return next((n for n in numbers if n in failed), numbers[0] if numbers else 0)


def _path_context(request: HttpRequest, job: Job, task: str, attempt: int) -> dict[str, Any]:
    try:
        path = causal_path(job, task, attempt)
    except Problem as problem:
        return {"problem": problem.message}
    keys = [_key(holder) for holder in path["holders"]]
    chosen = one_of(request, "holder", keys, default=_fullest(path["holders"]))
    return {
        "path": path,
        "holders": [{**holder, "key": _key(holder), "last": holder["growth"][-1]} for holder in path["holders"]],
        "holder": next((one for one in path["holders"] if _key(one) == chosen), None),
        "holder_key": chosen,
        # With the path and not above it: where the path comes later, so do they who held it.
        "no_such_holder": not_there(request, holder=keys) if keys else [],
    }


def _sharing_context(job: Job, task: str, attempt: int) -> dict[str, Any]:
    try:
        return shown_sharing(sharing(job, task, attempt))
    except Problem as problem:
        return {"sharing_problem": problem.message}


def shown_sharing(shared: dict[str, Any]) -> dict[str, Any]:
    """What the partial needs beside the answer."""
    hops, depths = shared["hops"], shared["depths"]
    return {
        "sharing": shared,
        "widest_hop": max((one["bytes"] for one in hops), default=0),
        "widest_depth": max((one["bytes"] for one in depths), default=0),
        "sent_bytes": sum(one["bytes"] for one in hops),
        "again_bytes": sum(one["again"] for one in hops),
        "unarrived_bytes": sum(one["unarrived"] for one in hops),
        "given_up": sum(not one["followed"] for one in depths),
        "enough": next((one["depth"] for one in depths if one["found"]), None),
        "data": f"paths/{quote(shared['task'], safe='')}/sharing?attempt={shared['attempt']}&format=csv&rows=",
        "lacking": next((one for one in reversed(depths) if one["lacking"]), None),
    }


def _key(holder: dict[str, Any]) -> str:
    return f"{holder['holder']}/{holder['attempt']}"


def _fullest(holders: list[dict[str, Any]]) -> str:
    return _key(max(holders, key=lambda holder: holder["bytes"])) if holders else ""
