"""One replay: a child process drives the recovery manager and writes steps; this thread passes on how far it is."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from django.conf import settings

from dashboard import bundles, joblog, store
from dashboard.models import Replay, Status, Work
from dashboard.progress import Reporter
from dashboard.work import ending
from dashboard.work.claim import Claim, fenced, finish, set_status
from dashboard.work.lease import Lease
from ingest.lake.publish import VERSIONS, switch
from ingest.launch import (
    Progress,
    ReplayLimits,
    ReplayRequest,
    SpareReplay,
    not_written,
    run_replay,
)

log = logging.getLogger("clonoscope.work")

# What of a replay's outcome becomes a column.
PUBLISHED = ("verdict", "sentence", "detail", "steps", "task")


def new_spare() -> SpareReplay:
    return SpareReplay(log_path())


def log_path() -> Path:
    return settings.DATA / "logs" / "replays.log"


def supervise(held: Claim, lease: Lease, spare: SpareReplay | None = None) -> None:
    replay = Replay.objects.get(id=held.target)
    joblog.write(replay.job_id, f"{held.said}, started.")
    try:
        with ending.of_a_child(held, lease):
            _publish(held, replay, _replay(held, lease, replay, spare))
    except OSError as fault:
        log.exception("%s could not be begun", held)
        ending.failed(held, not_written(fault, store.replays()))


def _replay(held: Claim, lease: Lease, replay: Replay, spare: SpareReplay | None) -> dict[str, Any]:
    reporter = Reporter(held)

    def tell(told: Progress) -> None:
        reporter.report(told.phase, told.done, told.total, told.unit, told.message)

    try:
        with bundles.bundle(replay.job_id, lease.interrupted) as pack:
            return run_replay(request_of(replay, pack, _begin(held)), log_path(), tell, lease.interrupted, spare=spare)
    finally:
        if spare is not None:
            _prepare(spare)


def _prepare(spare: SpareReplay) -> None:
    """What the replay came to stands, also where the machine has no place for another child."""
    try:
        spare.prepare()
    except OSError:
        log.exception("no child could be started ahead of the next replay")


def request_of(replay: Replay, pack: Path, folder: Path) -> ReplayRequest:
    """What its child is asked to do."""
    return ReplayRequest(
        pack=pack,
        folder=folder,
        task=replay.task or None,
        failure=replay.failure,
        attempt=replay.attempt,
        until=replay.until,
        on_divergence=replay.on_divergence,
        hunt=replay.hunt,
        fork_step=replay.done_at,
        change=replay.change,
        before=replay.before,
        diverged_at=replay.diverged_at,
        limits=replay_limits(),
    )


def replay_limits() -> ReplayLimits:
    """As the server's owner chose them."""
    return ReplayLimits(
        memory_bytes=settings.REPLAY_MEMORY_BYTES,
        file_bytes=settings.REPLAY_FILE_BYTES,
        open_files=settings.REPLAY_OPEN_FILES,
        cpu_s=settings.REPLAY_CPU_S,
        wall_s=settings.REPLAY_WALL_S,
    )


def _begin(held: Claim) -> Path:
    """The folder of this attempt alone, shown as the replay's from now on: no older attempt writes into it."""
    version = store.replays() / VERSIONS / f"{held.target}.{held.work_id}-{held.attempt}"
    version.parent.mkdir(parents=True, exist_ok=True)
    with fenced(held):
        version.mkdir()
        switch(store.replay_path(held.target), Path(VERSIONS) / version.name)
    return version


def _publish(held: Claim, replay: Replay, outcome: dict[str, Any]) -> None:
    """The steps lie there already, readable since they were written; what is published is that they are all."""
    with fenced(held) as work:
        finish(work, Work.State.DONE)
        made = {name: outcome[name] for name in PUBLISHED if outcome.get(name) is not None}
        if "tasks" in made.get("detail", {}):
            made.pop("task", None)  # of all of them: it is asked for so once more when it is tried again
        # The row's own attempt says what was asked for; this one, what was executed.
        made["detail"] = {**made.get("detail", {}), "attempt": outcome.get("attempt")}
        set_status(held.target, Status.READY, "", **made)
    joblog.write(replay.job_id, f"Replay {replay.id} ended, {outcome['verdict']}: {outcome.get('sentence', '')}")
