"""What can be done with a replay from its page: cancel, retry, delete, take the smallest bundle that still diverges."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard import jobs
from dashboard.excerpts import excerpt
from dashboard.views.access import own_replay, person, visible_replay
from dashboard.views.telling import tells_problems


@login_required
@require_POST
def cancel(request: HttpRequest, replay_id: str) -> HttpResponse:
    try:
        jobs.cancel_replay(own_replay(request, replay_id), person(request))
    except jobs.Refused as refused:
        messages.error(request, str(refused), extra_tags="bad")
    return redirect("replay", replay_id=replay_id)


@login_required
@require_POST
def retry(request: HttpRequest, replay_id: str) -> HttpResponse:
    try:
        jobs.retry_replay(own_replay(request, replay_id), person(request))
    except jobs.Refused as refused:
        messages.error(request, str(refused), extra_tags="bad")
    return redirect("replay", replay_id=replay_id)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, replay_id: str) -> HttpResponse:
    replay = own_replay(request, replay_id)
    if request.method == "POST":
        job_id = replay.job_id
        try:
            jobs.delete_replay(replay, person(request))
        except jobs.OnHold as held:
            messages.error(request, str(held), extra_tags="bad")
            return redirect("replay", replay_id=replay_id)
        messages.success(request, "The replay has been deleted. The recording is untouched; it can be replayed again.")
        return redirect("job", job_id=job_id)
    context = {
        "what": f"Delete this replay of {replay.task or replay.job.name}?",
        "consequence": "Its steps go, and links to them no longer open. The recording stays.",
        "job": replay.job,
        "back": f"/replays/{replay.id}/",
    }
    return render(request, "dashboard/confirm.html", context)


@login_required
@require_safe
@tells_problems
def give_excerpt(request: HttpRequest, replay_id: str) -> HttpResponse:
    return excerpt(visible_replay(request, replay_id))
