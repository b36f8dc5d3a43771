"""What a person may see and do on a page: the same rule as everywhere, 404 for what is not theirs."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from dashboard.models import Job, Replay


def person(request: HttpRequest) -> User:
    """The signed-in user; views are behind login_required."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def visible_job(request: HttpRequest, job_id: str) -> Job:
    return get_object_or_404(Job.objects.visible_to(request.user).select_related("owner"), id=job_id)


def own_job(request: HttpRequest, job_id: str) -> Job:
    job = visible_job(request, job_id)
    if not owns(request, job):
        raise PermissionDenied("Only the owner of a job may do this.")
    return job


def visible_replay(request: HttpRequest, replay_id: str) -> Replay:
    replays = Replay.objects.visible_to(request.user).select_related("owner", "job", "job__owner")
    return get_object_or_404(replays, id=replay_id)


def own_replay(request: HttpRequest, replay_id: str) -> Replay:
    replay = visible_replay(request, replay_id)
    if not owns(request, replay):
        raise PermissionDenied("Only who started a replay, or the owner of its job, may do this.")
    return replay


def owns(request: HttpRequest, row: Job | Replay) -> bool:
    user = person(request)
    return row.may_be_changed_by(user) if isinstance(row, Replay) else row.owner_id == user.pk
