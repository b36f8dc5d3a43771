"""Replays that were made elsewhere: their steps are uploaded, held against every rule, and kept whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from dashboard import joblog, store
from dashboard.jobs import Refused
from dashboard.models import Job, Replay, Status
from dashboard.models.replays import new_replay_id
from dashboard.models.status import READABLE
from dashboard.people import quotas
from dashboard.problems import Problem, as_sentence
from dashboard.queries.graph import job_graph
from dashboard.queries.lake import lake
from dashboard.queries.unverifiable import unverifiable
from dashboard.turns import Turns
from ingest.lake.publish import VERSIONS, switch
from ingest.launch import ReplayChildDied, ReplayFailed, ReplayLimits, run_steps

MOST_BYTES = 256 << 20
MOST_UNPACKED_BYTES = 1 << 30
SECONDS = 120
MOST_OF_A_JOB = 1_000
_turns = Turns("Other steps are being taken; try again in a moment.", wait_s=20.0)


def check(job: Job, size: int | None) -> None:
    """Before the first byte of it is read."""
    if job.status not in READABLE:
        raise Refused(f"The job is {job.status}; steps are looked at beside its tables.")
    if size is None:
        raise Problem(411, "Say with Content-Length how much comes.")
    if size > MOST_BYTES:
        why = f"A file of steps may have {MOST_BYTES} bytes; this one has {size}. Stop the replay earlier, with --at."
        raise Problem(413, why, detail={"max_bytes": MOST_BYTES, "bytes": size})
    if job.replays.filter(elsewhere=True).count() >= MOST_OF_A_JOB:
        raise Refused(f"The job has {MOST_OF_A_JOB:,} such replays; delete one that is no longer needed.")


def take(user: User, job: Job, path: Path, name: str) -> Replay:
    """The replay that a file tells of. Raises `Problem`, having left nothing behind, where it must be refused."""
    replay_id = new_replay_id()
    folder = store.replays() / VERSIONS / f"{replay_id}.elsewhere"
    # While it is entering, no sweeper takes what is written for a leftover.
    with _turns.taken(), store.entering(replay_id):
        try:
            folder.mkdir(parents=True)
            told = _read(path, folder, name)
            replay = _publish(user, job, replay_id, folder, told)
        except BaseException:
            store.replay_path(replay_id).unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            raise
    joblog.write(job.id, f"{user} uploaded replay {replay.id} of {replay.task}, made elsewhere: {replay.verdict}.")
    return replay


def _read(path: Path, folder: Path, name: str) -> dict[str, Any]:
    limits = ReplayLimits(
        memory_bytes=settings.REPLAY_MEMORY_BYTES,
        file_bytes=min(MOST_UNPACKED_BYTES, settings.REPLAY_FILE_BYTES),
        open_files=settings.REPLAY_OPEN_FILES,
        cpu_s=SECONDS,
        wall_s=SECONDS,
    )
    try:
        return run_steps(path, folder, MOST_UNPACKED_BYTES, limits, settings.DATA / "logs" / "replays.log")
    except (ReplayFailed, ReplayChildDied) as failure:
        said = str(failure).replace(path.name, name)
        raise Problem(422, as_sentence(said), code="bad-steps") from None


def _publish(user: User, job: Job, replay_id: str, folder: Path, told: dict[str, Any]) -> Replay:
    if told["recording"] != job.content_id:
        raise Problem(
            422, "These steps are of another recording: its content is not that of this job.", code="bad-steps"
        )
    graph = job_graph(job.id)
    if graph is None or graph.manifest.task(told["task"]) is None:
        raise Problem(422, "These steps are of a task that this recording does not have.", code="bad-steps")
    _check_verdict(job, told)
    size = sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())
    with transaction.atomic():
        # Two at once must not both take the room that is enough for one.
        owner = User.objects.select_for_update().get(pk=user.pk)
        row = Job.objects.select_for_update().get(id=job.id)
        quota, stored = quotas.quota_bytes(owner), quotas.stored_bytes(owner)
        if stored + size > quota:
            why = f"These steps take {size} bytes and would pass your quota: {stored} of {quota} bytes are stored."
            raise Problem(
                413, why, code="over-quota", detail={"quota_bytes": quota, "used_bytes": stored, "bytes": size}
            )
        replay = Replay.objects.create(
            id=replay_id,
            job=row,
            owner=user,
            elsewhere=True,
            bytes=size,
            status=Status.READY,
            detail={**told["detail"], "task": told["task"], "attempt": told["attempt"]},
            **{name: told[name] for name in ("task", "attempt", "verdict", "sentence", "steps")},
        )
        switch(store.replay_path(replay_id), Path(VERSIONS) / folder.name)
    return replay


def _check_verdict(job: Job, told: dict[str, Any]) -> None:
    """Its maker's word is taken, but for one that nobody can give."""
    if told["verdict"] != "identical":
        return
    why = unverifiable(lake(), job=job.id, task=told["task"], attempt=told["attempt"])
    if why:
        raise Problem(
            422,
            f"These steps say identical, and of attempt {told['attempt']} nobody can say so: {why}.",
            code="bad-steps",
        )
