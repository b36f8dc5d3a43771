"""`/compare/`: two attempts side by side, of one job or of two. What is chosen stands in the address."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.comparing import Chosen, compare
from dashboard.models import Job, Replay
from dashboard.models.status import READABLE
from dashboard.problems import Problem
from dashboard.queries.graph import job_graph
from dashboard.queries.side_by_side import side_by_side
from dashboard.views.access import person
from dashboard.views.parameters import whole
from dashboard.views.telling import tells_problems

MOST_JOBS = 200
SIDES = ("first", "second")


@login_required
@require_safe
@tells_problems
def compare_page(request: HttpRequest) -> HttpResponse:
    """Without a choice the form alone; with one, the report under it."""
    user = person(request)
    jobs = list(Job.objects.visible_to(user).filter(status__in=READABLE).order_by("-created_at")[:MOST_JOBS])
    first = _chosen(request, "", jobs, default_attempt=0)
    same = request.GET.get("other_job", first.job) == first.job
    second = _chosen(request, "other_", jobs, default_attempt=1 if same else 0, like=first)
    context: dict[str, Any] = {
        "jobs": jobs,
        "sides": [("", "First", first), ("other_", "Second", second)],
        # Back to where one came from.
        "of_jobs": [job for job in jobs if "job" in request.GET and job.id == first.job == second.job],
        "first": first,
        "second": second,
        "task_ids": _tasks(user, first.job) | _tasks(user, second.job),
        "asked": bool(first.task and "job" in request.GET),
    }
    if "job" in request.GET:
        context["beside"] = _beside([next((job for job in jobs if job.id == one.job), None) for one in (first, second)])
    if context["asked"]:
        try:
            context["report"] = compare(user, first, second)
            context["rows"] = _rows(context["report"], [_replay_of(user, one) for one in (first, second)])
        except Problem as problem:
            if problem.status in (404, 500):
                raise
            context["refused"] = problem.message
    return render(request, "dashboard/compare.html", context)


def _beside(chosen: list[Job | None]) -> dict[str, Any] | None:
    """Of two jobs; of one there is nothing to hold against another."""
    first, second = chosen
    return None if first is None or second is None or first.id == second.id else side_by_side(first, second)


def _rows(report: dict[str, Any], replays: list[Replay | None]) -> list[tuple[dict[str, Any], list[Any]]]:
    """Each difference with its two sides; with each the replay that has its step, and what is not as in the other."""
    return [
        (
            one,
            [
                (one[which], _with(replay, one[which]), _parts(one, which))
                for which, replay in zip(SIDES, replays, strict=True)
            ],
        )
        for one in report["differences"]
    ]


def _parts(difference: dict[str, Any], which: str) -> list[tuple[str, str]]:
    return [(part["at"], part[which]) for part in difference.get("parts", ())]


def _with(replay: Replay | None, side: dict[str, Any] | None) -> Replay | None:
    return replay if replay and side and side["step"] < replay.steps else None


def _replay_of(user: Any, chosen: Chosen) -> Replay | None:
    """Of the attempt from its own log: its steps have the numbers that the comparison names."""
    own = {"job": chosen.job, "task": chosen.task, "attempt": chosen.attempt, "failure": None, "change__isnull": True}
    return Replay.objects.visible_to(user).filter(**own, status__in=READABLE).defer("detail").first()


def _chosen(
    request: HttpRequest, prefix: str, jobs: list[Job], *, default_attempt: int, like: Chosen | None = None
) -> Chosen:
    job = request.GET.get(f"{prefix}job", "") or (like.job if like else jobs[0].id if jobs else "")
    task = request.GET.get(f"{prefix}task", "") or (like.task if like else "")
    attempt = whole(request, f"{prefix}attempt", default_attempt) or 0
    return Chosen(job[:32], task[:200], min(attempt, (1 << 31) - 1))


def _tasks(user: Any, job_id: str) -> dict[str, None]:
    """For the lists of both fields."""
    if not job_id.isprintable() or not Job.objects.visible_to(user).filter(id=job_id).exists():
        return {}
    found = job_graph(job_id)
    return dict.fromkeys(task.id for task in found.manifest.tasks) if found else {}
