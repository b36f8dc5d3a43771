"""Two attempts side by side, for pages and the API: in a child process, of jobs that both may be seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.cache import cache

from dashboard import bundles, payloads
from dashboard.models import Job
from dashboard.models.status import READABLE
from dashboard.people.tombstones import gone_or_nothing
from dashboard.problems import Problem, as_sentence, not_found
from dashboard.turns import Turns
from dashboard.work.supervise_replay import replay_limits
from ingest.launch import ReplayChildDied, ReplayFailed, run_comparison

SECONDS = 30
KEPT_S = 3600
_turns = Turns("Another comparison is being made; try again in a moment.")


@dataclass(frozen=True, slots=True)
class Chosen:
    """One side: an attempt of a task of a job."""

    job: str
    task: str
    attempt: int

    def name(self, job: Job, other: Job) -> str:
        of = f"attempt {self.attempt} of {self.task}"
        return of if job.id == other.id else f"{of} in {job.name} ({job.id})"


def compare(user: Any, first: Chosen, second: Chosen) -> dict[str, Any]:
    """The report. What is not visible to the user does not exist."""
    if first == second:
        raise Problem(422, "Choose two attempts: these are one and the same.")
    jobs = [_visible(user, one) for one in (first, second)]
    payloads.admit(user, jobs)
    for job in jobs:
        payloads.require(job.id)
    key = _key(first, second, *jobs)
    known: dict[str, Any] | None = cache.get(key)
    if known is None:
        with bundles.bundle(jobs[0].id) as one, bundles.bundle(jobs[1].id) as other:
            known = _run([_side(one, first, *jobs), _side(other, second, *reversed(jobs))])
        cache.set(key, known, KEPT_S)
    return known


def _side(pack: Path, chosen: Chosen, job: Job, other: Job) -> dict[str, Any]:
    return {"pack": str(pack), "task": chosen.task, "attempt": chosen.attempt, "name": chosen.name(job, other)}


def _key(first: Chosen, second: Chosen, *jobs: Job) -> str:
    """A digest: names of tasks may hold what no cache takes as a key."""
    whole = f"{first}:{second}:{':'.join(str(job.content_id) for job in jobs)}"
    return f"compare-{sha256(whole.encode()).hexdigest()}"


def _visible(user: Any, chosen: Chosen) -> Job:
    known = chosen.job.isprintable() and chosen.task.isprintable()
    job = Job.objects.visible_to(user).filter(id=chosen.job).first() if known else None
    if job is None:
        raise gone_or_nothing(user, chosen.job) if known else not_found()
    if job.status not in READABLE or not bundles.is_stored(job.id):
        raise Problem(409, f"The job {job.id} is {job.status}; a comparison needs its bundle and its tables.")
    return job


def _run(sides: list[dict[str, Any]]) -> dict[str, Any]:
    limits = replace(replay_limits(), cpu_s=SECONDS, wall_s=SECONDS)
    try:
        with _turns.taken():
            return run_comparison(sides, limits, settings.DATA / "logs" / "replays.log")
    except (ReplayFailed, ReplayChildDied) as failure:
        raise Problem(422, as_sentence(str(failure))) from None
