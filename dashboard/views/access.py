"""What a person may see and do on a page: the same rule as everywhere, 404 for what is not theirs."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest

from dashboard import payloads
from dashboard.models import Job, Replay
from dashboard.people.tombstones import gone_or_nothing
from dashboard.sealing import shown_job, shown_replay


def person(request: HttpRequest) -> User:
    """The signed-in user; views are behind login_required."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def visible_job(request: HttpRequest, job_id: str) -> Job:
    """As this person may see it. What was deleted and theirs to see says so, by 410."""
    job = Job.objects.visible_to(request.user).select_related("owner").filter(id=job_id).first()
    if job is None:
        raise _gone(request, job_id)
    payloads.admit(request.user, [job])
    return shown_job(job)


def _gone(request: HttpRequest, target: str) -> Exception:
    problem = gone_or_nothing(person(request), target)
    return Http404() if problem.status == 404 else problem


def own_job(request: HttpRequest, job_id: str) -> Job:
    job = visible_job(request, job_id)
    if not owns(request, job):
        raise PermissionDenied("Only the owner of a job may do this.")
    return job


def visible_replay(request: HttpRequest, replay_id: str) -> Replay:
    replays = Replay.objects.visible_to(request.user).select_related("owner", "job", "job__owner")
    replay = replays.filter(id=replay_id).first()
    if replay is None:
        raise _gone(request, replay_id)
    payloads.admit(request.user, [replay.job])
    return shown_replay(replay)


def own_replay(request: HttpRequest, replay_id: str) -> Replay:
    replay = visible_replay(request, replay_id)
    if not owns(request, replay):
        raise PermissionDenied("Only who started a replay, or the owner of its job, may do this.")
    return replay


def owns(request: HttpRequest, row: Job | Replay) -> bool:
    user = person(request)
    return row.may_be_changed_by(user) if isinstance(row, Replay) else row.owner_id == user.pk
