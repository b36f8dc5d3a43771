"""What is left of deleted jobs and replays where links point: what they were called, when and by whom they went."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User

from dashboard.models import Job, JobShare, Replay, Tombstone
from dashboard.problems import Problem, not_found

CODE = "deleted"


def bury(job: Job, replays: Iterable[Replay], by: str) -> None:
    """For all who may see the job now. A job that is deleted takes its replays along."""
    viewers = {job.owner_id, *JobShare.objects.filter(job=job).values_list("user_id", flat=True)}
    _set(job.id, "job", job.name, by, viewers)
    for replay in replays:
        bury_replay(replay, by, viewers)


def bury_replay(replay: Replay, by: str, viewers: set[int] | None = None) -> None:
    if viewers is None:
        shared = JobShare.objects.filter(job_id=replay.job_id).values_list("user_id", flat=True)
        viewers = {replay.job.owner_id, *shared}
    of = f"replay of {replay.named}" if replay.named else "replay"
    _set(replay.id, "replay", of, by, viewers)


def gone_or_nothing(user: User, target: str) -> Problem:
    """410 with what is left for who could see it; 404 for everybody else, as for what never was."""
    found = Tombstone.objects.visible_to(user).filter(target=target).first() if target.isprintable() else None
    if found is None:
        return not_found()
    detail = {
        "kind": found.kind,
        "name": found.name,
        "deleted_at": found.deleted_at.isoformat(),
        "deleted_by": found.deleted_by,
    }
    return Problem(410, f"{found.sentence} Nothing of its content is left.", code=CODE, detail=detail)


def _set(target: str, kind: str, name: str, by: str, viewers: Iterable[Any]) -> None:
    made, _ = Tombstone.objects.update_or_create(
        target=target, defaults={"kind": kind, "name": name[:300], "deleted_by": by[:200]}
    )
    made.viewers.set(viewers)
