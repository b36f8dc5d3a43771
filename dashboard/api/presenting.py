"""Rows of the database as the API shows them."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from dashboard import audits, payloads, tagging
from dashboard.models import Job, Replay, Upload
from dashboard.people.tombstones import gone_or_nothing
from dashboard.problems import Problem
from dashboard.progress import state_of
from dashboard.sealing import sealed_delivery, shown_job, shown_replay


def visible_job(user: User, job_id: str) -> Job:
    job = Job.objects.visible_to(user).select_related("owner").filter(id=job_id).first()
    if job is None:
        raise gone_or_nothing(user, job_id)
    payloads.admit(user, [job])
    return job


def visible_replay(user: User, replay_id: str) -> Replay:
    replays: QuerySet[Replay] = Replay.objects.visible_to(user).select_related("owner", "job")
    replay = replays.filter(id=replay_id).first()
    if replay is None:
        raise gone_or_nothing(user, replay_id)
    payloads.admit(user, [replay.job])
    return replay


def own_replay(user: User, replay_id: str, may: str = "do this") -> Replay:
    """`may`: what nobody else may."""
    replay = visible_replay(user, replay_id)
    if not replay.may_be_changed_by(user):
        raise Problem(403, f"Only who started a replay, or the owner of its job, may {may}.")
    return replay


def own_audit(user: User, job: Job) -> None:
    """Raises Problem 403 for who did not ask for it, unless the job is theirs."""
    audit = audits.of(job)
    if user.pk not in (job.owner_id, audit.asked_by_id if audit else None):
        raise Problem(403, "Only who asked for an audit, or the owner of its job, may do this.")


def job_out(job: Job, user: User) -> dict[str, Any]:
    """As the caller may see it, who was admitted to its payloads before, or was not."""
    job = shown_job(job)
    return {
        "id": job.id,
        "name": job.name,
        "owner": job.owner.username,
        "mine": job.owner_id == user.pk,
        "payloads": not job.hidden,
        "status": job.status,
        "message": job.message,
        "bytes": job.bytes,
        "container": job.container,
        "content_id": job.content_id,
        "rejects": job.rejects,
        "schema_version": job.schema_version,
        "facts": {name: fact for name, fact in job.facts.items() if name != "delivery"},
        "following": job.following,
        "tags": tagging.of(job),
        "created_at": job.created_at,
        "updated_at": job.updated_at,
        "url": f"/jobs/{job.id}/",
        "repeated": bool(getattr(job, "repeated", False)),
    }


def job_detail(job: Job, user: User) -> dict[str, Any]:
    told = job.facts.get("delivery")
    if told is not None and not payloads.opened(job.id):
        told = sealed_delivery(told)
    return {**job_out(job, user), "delivery": told, "progress": payloads.shown_state(job.id, state_of(job.id))}


def replay_out(replay: Replay) -> dict[str, Any]:
    replay = shown_replay(replay)
    return {
        "id": replay.id,
        "job": replay.job_id,
        "owner": replay.owner.username,
        "task": replay.task,
        "failure": replay.failure,
        "attempt": replay.attempt,
        "until": replay.until,
        "on_divergence": replay.on_divergence,
        "hunt": replay.hunt,
        "parent": replay.parent_id,
        "fork_step": replay.fork_step,
        "change": replay.change,
        "before": replay.before,
        "elsewhere": replay.elsewhere,
        "status": replay.status,
        "message": replay.message,
        "verdict": replay.verdict,
        "sentence": replay.sentence,
        "detail": replay.detail,
        "steps": replay.steps,
        "created_at": replay.created_at,
        "updated_at": replay.updated_at,
        "url": f"/replays/{replay.id}/",
    }


def replay_detail(replay: Replay) -> dict[str, Any]:
    return {**replay_out(replay), "progress": payloads.shown_state(replay.job_id, state_of(replay.id))}


def upload_out(upload: Upload) -> dict[str, Any]:
    return {
        "id": upload.id,
        "name": upload.name,
        "size": upload.size,
        "offset": upload.offset,
        "url": f"/api/v1/uploads/{upload.id}",
    }
