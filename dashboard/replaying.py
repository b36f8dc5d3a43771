"""Replaying from the command line: of a bundle's path in this process, of a stored job as ordinary work."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dashboard import forks, jobs, store
from dashboard.looking import Look, looked, of_bundle
from dashboard.models import Job, Replay
from dashboard.models.status import PENDING
from dashboard.work.supervise_replay import replay_limits
from dashboard.work.watch import until_ended
from ingest.lake.step_reader import StepReader
from ingest.lake.steps import ParquetStepSink
from ingest.launch import ReplayRequest, run_replay
from replay.debugger.diverging.findings import OnDivergence
from replay.debugger.executing.following import Until
from replay.debugger.forks.changes import At, change_to_json
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import ReplayError, printable

JOB_ID = re.compile(r"j_[0-9a-z]{12}")
# Worst first: what several replays come to together.
WORST_FIRST = ("diverged", "unknown", "forked", "free", "identical")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which replays of a recording; where nothing is named, one of every failure."""

    task: str | None = None
    failure: int | None = None
    attempt: int | None = None
    until: Until = "snapshot"
    on_divergence: OnDivergence = "stop"
    hunt: bool = False
    forks: tuple[At, ...] = ()

    def targets(self, failures: Sequence[tuple[int, str]]) -> list[Wanted]:
        if self.attempt is not None or self.failure is not None:
            return [self]
        found = [replace(self, failure=number) for number, task in failures if self.task in (None, task)]
        if not found:
            of = f" of {self.task}" if self.task else ""
            raise ReplayError(f"the recording has no failure{of}", remedy="Name an attempt with --task and --attempt")
        return found


def failures_in(source: RecordingSource, task: str | None) -> list[tuple[int, str]]:
    """(number, task) of each, up to where the events can be read: what is wrong there is a replay's verdict."""
    if task is not None and task not in source.graph:
        raise ReplayError(
            f"the recording has no task {printable(task)}", remedy="Its tasks are those that job.json lists"
        )
    story = Story.read(source.events())
    if story.unreadable is not None and not story.failures:
        raise ReplayError(f"before the events can't be read, nothing fails: {story.unreadable.removesuffix('.')}")
    return [(number, str(event.get("task"))) for number, event in sorted(story.failures.items())]


def is_job_id(target: str) -> bool:
    return JOB_ID.fullmatch(target) is not None


def worst(outcomes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return min(outcomes, key=lambda outcome: WORST_FIRST.index(outcome["verdict"]))


def replay_path(path: Path, wanted: Wanted) -> list[dict[str, Any]]:
    """Reads nothing but the bundle and writes nothing that stays."""
    from replay.bundle.reader import open_bundle
    from replay.debugger.replay import replay

    with open_bundle(path) as bundle:
        if wanted.forks:
            return [_forked(bundle, wanted)]
        failures = failures_in(bundle, wanted.task)
        if wanted.hunt:
            of_task = dict(failures)  # a hunt is of one task
            alone = [replace(one, task=one.task or of_task.get(one.failure or 0)) for one in wanted.targets(failures)]
            return [_hunted(path, one) for one in alone]
        return _each(
            wanted.targets(failures),
            lambda one: replay(
                bundle,
                task=one.task,
                failure=one.failure,
                attempt=one.attempt,
                until=one.until,
                on_divergence=one.on_divergence,
            ).to_json(),
        )


def look_into_path(path: Path, wanted: Wanted, look: Look) -> list[dict[str, Any]]:
    """One replay with its steps, which are kept as long as they are looked at."""
    from replay.bundle.reader import open_bundle
    from replay.debugger.replay import replay

    with open_bundle(path) as bundle, tempfile.TemporaryDirectory(prefix="clonoscope-look-") as folder:
        failures = failures_in(bundle, wanted.task)
        one, sink = wanted.targets(failures)[0], ParquetStepSink(Path(folder) / "steps")
        outcome = replay(
            bundle,
            task=one.task,
            failure=one.failure,
            attempt=one.attempt,
            until=one.until,
            on_divergence=one.on_divergence,
            sink=sink,
        ).to_json()
        sink.finish()
        return [outcome | looked(StepReader(sink.folder), "", look, of_bundle(bundle))]


def look_into_job(job: Job, wanted: Wanted, look: Look, say: Callable[[str], object]) -> list[dict[str, Any]]:
    """The first replay of a stored job that is wanted, and what is to see of its steps."""
    failures = [(one["failure"], str(one["task"])) for one in job.facts.get("failures", [])]
    outcome = replay_job(job, wanted.targets(failures)[0] if job.readable else wanted, say)[0]
    with StepReader(store.replay_path(outcome["replay"])) as written:
        return [outcome | looked(written, job.id, look)]


def _each(targets: Sequence[Wanted], replayed: Callable[[Wanted], dict[str, Any]]) -> list[dict[str, Any]]:
    """One replay a failure, but for those that were replayed together with an earlier one."""
    outcomes: list[dict[str, Any]] = []
    done: set[int] = set()
    for one in targets:
        if one.failure is None or one.failure not in done:
            outcomes.append(replayed(one))
            done |= set(outcomes[-1]["detail"].get("failures", ()))
    return outcomes


def _hunted(path: Path, wanted: Wanted) -> dict[str, Any]:
    """In a child of its own: what listens to an operator, or moves what is around it, comes near no other code."""
    with tempfile.TemporaryDirectory(prefix="clonoscope-replay-") as folder:
        log_path = Path(folder) / "replay.log"
        request = ReplayRequest(
            path,
            Path(folder) / "steps",
            wanted.task,
            wanted.failure,
            wanted.attempt,
            wanted.on_divergence,
            hunt=True,
            limits=replay_limits(),
        )
        return run_replay(request, log_path)


def _forked(bundle: RecordingSource, wanted: Wanted) -> dict[str, Any]:
    from replay.debugger.forks import fork

    *before, last = wanted.forks
    return fork(
        bundle,
        step=last.step,
        change=last.change,
        before=before,
        task=wanted.task,
        failure=wanted.failure,
        attempt=wanted.attempt,
        until=wanted.until,
    ).to_json()


def shrink_path(path: Path, wanted: Wanted, out: Path) -> dict[str, Any]:
    """Writes the smallest excerpt of a bundle that diverges as the wanted replay does; says what came of it."""
    from replay.bundle.reader import open_bundle
    from replay.bundle.writer import BundleWriter
    from replay.debugger.shrinking.shrink import shrink

    with BundleWriter(out) as writer, open_bundle(path) as bundle:
        return shrink(bundle, task=wanted.task, failure=wanted.failure, attempt=wanted.attempt).write(writer)


def replay_job(job: Job, wanted: Wanted, say: Callable[[str], object]) -> list[dict[str, Any]]:
    """As work, so that its steps can be looked at afterwards."""
    jobs.reingest_if_older(job)
    if job.status in PENDING:
        until_ended(job, command=f"replay {job.id}", say=say)
    failures = [(one["failure"], str(one["task"])) for one in job.facts.get("failures", [])]
    if wanted.forks:
        return [_forks_as_work(job, wanted, failures, say)]
    return _each(wanted.targets(failures) if job.readable else [wanted], lambda one: _as_work(job, one, say))


def _as_work(job: Job, wanted: Wanted, say: Callable[[str], object]) -> dict[str, Any]:
    return _ended(job, _started(job, wanted), say)


def _started(job: Job, wanted: Wanted) -> Replay:
    how = wanted.on_divergence, wanted.hunt, wanted.until
    return jobs.start_replay(job.owner, job, wanted.task or "", wanted.failure, wanted.attempt, *how)


def _forks_as_work(
    job: Job, wanted: Wanted, failures: Sequence[tuple[int, str]], say: Callable[[str], object]
) -> dict[str, Any]:
    """Of the last replay of this that goes as far and can be forked there; where there is none, of one made now."""
    one = wanted.targets(failures)[0]
    made = job.replays.filter(failure=one.failure, attempt=one.attempt, until=one.until, change=None, hunt=False)
    # Without a task it may be a replay of several recoveries together, whose steps have numbers of their own.
    known = made.filter(task=one.task) if one.task else made.filter(task="") if len(failures) > 1 else made
    parent = known.filter(verdict__in=forks.FORKABLE).first()
    if parent is None:
        parent = _started(job, replace(one, on_divergence="stop", hunt=False))
        _ended(job, parent, say)
    told: dict[str, Any] = {}
    for step, change in wanted.forks:
        parent = forks.start(job.owner, parent, step, change_to_json(change))
        told = _ended(job, parent, say)
    return told


def whose(replay: Replay) -> str:
    """Of recoveries that were replayed together, the task of the failure that was named."""
    return replay.task or next(
        (str(one.get("task")) for one in replay.tasks if one.get("failure") == replay.failure), ""
    )


def _ended(job: Job, replay: Replay, say: Callable[[str], object]) -> dict[str, Any]:
    until_ended(replay, command=f"replay {job.id}", say=say)
    if not replay.readable:
        raise jobs.Refused(f"Replay {replay.id} is {replay.status}. {replay.message}")
    return {
        "verdict": replay.verdict,
        "sentence": replay.sentence,
        "task": whose(replay),
        "attempt": replay.detail.get("attempt", replay.attempt),
        "failure": replay.failure,
        "steps": replay.steps,
        "detail": replay.detail,
        "replay": replay.id,
    }
