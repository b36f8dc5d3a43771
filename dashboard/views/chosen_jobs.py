"""What is done with several jobs of the list at once. Where it can't be done to one of them, that is said."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from dashboard import jobs, tagging
from dashboard.models import Job
from dashboard.views.access import person
from dashboard.views.job_filters import JobFilter
from dashboard.views.job_order import JobOrder
from dashboard.views.jobs import JOBS_SHOWN, address_of

MOST_NAMED = 3
NOT_THEIRS = "only its owner may do this"
Act = Callable[[Job], object]


@login_required
@require_POST
def chosen_jobs(request: HttpRequest) -> HttpResponse:
    """`do` is `compare`, `tag`, `untag`, `retry`, `cancel` or `delete`, which asks once more."""
    asked = [job_id for job_id in request.POST.getlist("job")[:JOBS_SHOWN] if job_id.isprintable()]
    found = list(Job.objects.visible_to(request.user).filter(id__in=asked).order_by("-created_at", "id"))
    do, back = request.POST.get("do", ""), _back(request)
    if not found:
        messages.error(request, "Choose jobs first: each row has a box in front of its name.", extra_tags="bad")
        return redirect(back)
    if do == "compare":
        return _compared(request, found, back)
    if do == "delete" and "sure" not in request.POST:
        return _asked_once_more(request, found, back)
    try:
        act, done = _act(request, do)
    except jobs.Refused as refused:
        messages.error(request, str(refused), extra_tags="bad")
        return redirect(back)
    _do(request, found, act, done)
    return redirect(back)


def _act(request: HttpRequest, do: str) -> tuple[Act, str]:
    user = person(request)
    if do in ("tag", "untag"):
        names = tagging.names_in(request.POST.get("tags", ""))
        if not names:
            raise jobs.Refused("Write a tag, or several with commas between them.")
        said = ", ".join(names)
        if do == "tag":
            return lambda job: tagging.put_on(job, names), f"tagged {said}"
        return lambda job: tagging.take_off(job, names), f"no longer tagged {said}"
    acts: dict[str, tuple[Act, str]] = {
        "retry": (lambda job: jobs.retry(job, user), "queued again"),
        "cancel": (lambda job: jobs.cancel(job, user), "cancelled"),
        "delete": (lambda job: jobs.delete_job(job, user), "deleted, with their replays"),
    }
    if do not in acts:
        raise jobs.Refused("Nothing was done: say what is to be done with these jobs.")
    return acts[do]


def _do(request: HttpRequest, found: list[Job], act: Act, done: str) -> None:
    user, left = person(request), []
    for job in found:
        try:
            if job.owner_id != user.pk:
                raise jobs.Refused(NOT_THEIRS)
            act(job)
        except jobs.Refused as refused:
            left.append(f"“{job.name}”: {refused}")
    many = len(found) - len(left)
    if many:
        messages.success(request, f"{many} {'job is' if many == 1 else 'jobs are'} {done}.")
    if left:
        further = f" And {len(left) - MOST_NAMED} more." if len(left) > MOST_NAMED else ""
        messages.error(request, f"Left as it was: {'; '.join(left[:MOST_NAMED])}.{further}", extra_tags="bad")


def _compared(request: HttpRequest, found: list[Job], back: str) -> HttpResponse:
    if len(found) != 2:
        messages.error(request, f"Two jobs are compared; {len(found)} are chosen.", extra_tags="bad")
        return redirect(back)
    second, first = found
    return redirect(f"{reverse('compare')}?{urlencode({'job': first.id, 'other_job': second.id})}")


def _asked_once_more(request: HttpRequest, found: list[Job], back: str) -> HttpResponse:
    own = [job for job in found if job.owner_id == person(request).pk]
    if not own:
        messages.error(request, "None of these jobs is yours: only its owner deletes a job.", extra_tags="bad")
        return redirect(back)
    context = {
        "what": f"Delete “{own[0].name}”?" if len(own) == 1 else f"Delete {len(own)} jobs?",
        "consequence": "Their bundles, their tables and their replays go. Where links point, who sees them today finds "
        "what they were called, and that you deleted them.",
        "chosen": own,
        "back": back,
    }
    return render(request, "dashboard/confirm.html", context)


def _back(request: HttpRequest) -> str:
    """The list as it was."""
    address = address_of(JobFilter.of(request), JobOrder.of(request))
    return reverse("jobs") + (f"?{address}" if address else "")
