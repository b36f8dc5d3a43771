"""What can be done with a job from its pages: cancel, retry, delete, start a replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard import following, joblog, jobs
from dashboard.models import Job
from dashboard.own_code import runs_elsewhere
from dashboard.people import holds
from dashboard.queries.failures import job_failures
from dashboard.queries.graph import app_of, job_graph
from dashboard.queries.imported import imported
from dashboard.queries.lake import lake
from dashboard.sealing import shown_log, shown_replays
from dashboard.views.access import own_job, owns, person, visible_job
from dashboard.views.paging import page_behind
from dashboard.views.parameters import whole, whole_of
from dashboard.views.telling import tells_problems
from replay.debugger.diverging.findings import OnDivergence
from replay.debugger.executing.following import UNTIL

LAST_ATTEMPT = 2**31 - 1
REPLAYS_SHOWN = 50


@login_required
@require_POST
def cancel(request: HttpRequest, job_id: str) -> HttpResponse:
    return _do(request, own_job(request, job_id), lambda job: jobs.cancel(job, person(request)))


@login_required
@require_POST
def retry(request: HttpRequest, job_id: str) -> HttpResponse:
    return _do(request, own_job(request, job_id), lambda job: jobs.retry(job, person(request)))


@login_required
@require_POST
def follow(request: HttpRequest, job_id: str) -> HttpResponse:
    """The switch of a job whose folder is still recorded into."""
    on = request.POST.get("follow") == "1"
    return _do(request, own_job(request, job_id), lambda job: following.switch(job, on, person(request)))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, job_id: str) -> HttpResponse:
    job = own_job(request, job_id)
    hold = holds.of(job)
    if request.method == "POST":
        try:
            jobs.delete_job(job, person(request))
        except jobs.OnHold as held:
            messages.error(request, str(held), extra_tags="bad")
            return redirect("job-sharing", job_id=job.id)
        messages.success(request, f"“{job.name}” has been deleted, with its replays.")
        return redirect("jobs")
    context = {
        "what": f"Delete “{job.name}”?",
        "consequence": "Its bundle, its tables and its replays go. Where links point, who sees it today finds what it "
        "was called, and that you deleted it.",
        "kept": str(jobs.OnHold(hold)) if hold else "",
        "job": job,
        "back": f"/jobs/{job.id}/",
    }
    return render(request, "dashboard/confirm.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@tells_problems
def replays(request: HttpRequest, job_id: str) -> HttpResponse:
    """All replays of a job; posting starts one."""
    job = visible_job(request, job_id)
    if request.method == "POST":
        return _start(request, job)
    found = job_graph(job.id)
    before = request.GET.get("before", "")
    shown, following = page_behind(job.replays.select_related("owner"), before, REPLAYS_SHOWN)
    context = {
        "job": job,
        "own": owns(request, job),
        "replays": shown_replays(shown),
        "total": job.replays.count(),
        "following": following,
        "earlier": before,
        "failures": job_failures(lake(), job=job.id) if job.readable else [],
        "task_ids": [task.id for task in found.manifest.tasks] if found else [],
        "runs_elsewhere": found is not None and runs_elsewhere(found.manifest),
        "imported": imported(job.id),
        "app": app_of(found, request.GET.get("task", "")),
        "chosen": {"task": request.GET.get("task", ""), "attempt": whole(request, "attempt", 0)},
    }
    return render(request, "dashboard/replays.html", context)


@login_required
@require_safe
@tells_problems
def log(request: HttpRequest, job_id: str) -> HttpResponse:
    """The job's log as plain text, for reading along and for sending to somebody."""
    job = visible_job(request, job_id)
    return HttpResponse(
        shown_log(job.id, joblog.read(job.id, last_bytes=4 << 20)), content_type="text/plain; charset=utf-8"
    )


def _start(request: HttpRequest, job: Job) -> HttpResponse:
    """`what` is `failure:<n>:<task>` or `attempt`, with task and attempt beside it."""
    kind, _, rest = request.POST.get("what", "").partition(":")
    number, _, task = rest.partition(":")
    on_divergence: OnDivergence = "go-on" if request.POST.get("on_divergence") == "go-on" else "stop"
    how: dict[str, Any] = {"on_divergence": on_divergence, "hunt": request.POST.get("hunt") == "1"}
    if kind == "failure":
        how["until"] = request.POST.get("until", "snapshot")
    if request.POST.get("together") == "1":
        task = ""
    try:
        if how.get("until", "snapshot") not in UNTIL:
            raise jobs.Refused(f"A replay follows a recovery until one of these: {', '.join(UNTIL)}.")
        if kind == "failure":
            replay = jobs.start_replay(person(request), job, task, failure=whole_of(number), **how)
        else:
            replay = jobs.start_replay(
                person(request), job, request.POST.get("task", ""), attempt=_attempt(request), **how
            )
    except jobs.Refused as refused:
        messages.error(request, str(refused), extra_tags="bad")
        return redirect("job", job_id=job.id)
    return redirect("replay", replay_id=replay.id)


def _attempt(request: HttpRequest) -> int:
    attempt = whole_of(request.POST.get("attempt", ""))
    if attempt is None or attempt > LAST_ATTEMPT:
        raise jobs.Refused("An attempt is a number: 0 is the first, and each recovery begins another.")
    return attempt


def _do(request: HttpRequest, job: Job, act: Callable[[Job], object]) -> HttpResponse:
    try:
        act(job)
    except jobs.Refused as refused:
        messages.error(request, str(refused), extra_tags="bad")
    return redirect("job", job_id=job.id)
