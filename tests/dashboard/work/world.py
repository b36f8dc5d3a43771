"""A world for the state machine of work: processes that do one thing each and are killed at a seeded moment of it.

Every process is a real one, forked, and the kill is a real SIGKILL at the n-th function call or return: so rows, locks
and files are left exactly as a kill leaves them. Only Spark and the replay are stood in for, by functions that write
folders; bench/kills.py kills the real ones.
"""

import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections

from dashboard import audits, jobs, store
from dashboard.models import Job, JobAudit, Replay, Work
from dashboard.models.status import PENDING, READABLE
from dashboard.models.targets import Target
from dashboard.work import lease, leftovers, supervise_audit, supervise_ingest, supervise_replay
from dashboard.work.claim import claim
from dashboard.work.sweep import free_dead_leases

# Loaded before the fork: a kill in the middle of an import says nothing about work.
from ingest.lake import publish, schema
from ingest.launch import IngestRequest, IngestResult, Progress
from replay.bundle import containers, pack, reader

LOADED = (containers, pack, publish, reader, schema)
WHOLE = "whole"
PARTS = ("first", "second", WHOLE)
KILLED, DONE = "killed", "done"
SPARED = 0.4


class FolderDriver:
    """Stands in for Spark: what it makes is whole only when its last part is there."""

    def get(self) -> "FolderDriver":
        return self

    def ingest(self, request: IngestRequest, tell, cancelled) -> IngestResult:
        staging = Path(request.staging)
        staging.mkdir(parents=True)
        for number, part in enumerate(PARTS):
            (staging / part).write_text(part)
            tell(Progress("decoding", number, len(PARTS), "parts"))
        return IngestResult("ready", 0, {"failures": [{"failure": 0, "task": "source.0"}]})


def write_steps(request, log_path, tell, cancelled, spare=None) -> dict:
    for part in PARTS:
        (request.folder / part).write_text(part)
    return {"verdict": "identical", "sentence": "It is.", "steps": len(PARTS)}


def write_report(pack, out, limits, log_path, tell, cancelled, *, lake) -> dict:
    for part in PARTS:
        out.write_text(part)
        tell(Progress(part, 0, len(PARTS), "questions"))
    return {
        "verdict": "exactly once",
        "processing": "exactly once",
        "delivery": "exactly once",
        "good": True,
        "version": 1,
    }


def killed_after(events: int, action: Callable[[], object]) -> str:
    """Runs the action in a process of its own that is killed at that event; says whether it got to its end."""
    connections.close_all()
    pid = os.fork()
    if pid == 0:
        _be_killed_after(events, action)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return KILLED
    if os.WEXITSTATUS(status):
        raise AssertionError(f"the process broke with status {os.WEXITSTATUS(status)}")
    return DONE


def _be_killed_after(events: int, action: Callable[[], object]) -> None:
    left = events

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.setprofile(count)
        action()
        sys.setprofile(None)
        os._exit(0)
    except BaseException as broken:
        sys.setprofile(None)
        print(f"{type(broken).__name__}: {broken}", file=sys.stderr, flush=True)
        os._exit(1)


@dataclass
class World:
    seed: int
    bundles: list[Path]
    owner: User
    history: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    @property
    def reproduce_with(self) -> str:
        return f"seed {self.seed}:\n" + "\n".join(self.history)

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            name, action = self._any_action()
            # Some get to their end, or the world would never grow old; an action has 4,000 to 20,000 events.
            events = -1 if self.random.random() < SPARED else int(10 ** self.random.uniform(2, 4.4))
            self.history.append(f"{name}, to be killed after {events} events: {killed_after(events, action)}")
            free_dead_leases()
            self.check_while_work_is_open()

    def settle(self) -> None:
        """What the next start does: dead leases freed, leftovers removed, all queued work done."""
        free_dead_leases()
        leftovers.remove()
        while (work := Work.objects.filter(state=Work.State.QUEUED).first()) is not None:
            killed_after(-1, lambda: do_work(work.id))
        leftovers.remove()

    def _any_action(self) -> tuple[str, Callable[[], object]]:
        choices: list[tuple[str, Callable[[], object]]] = [
            (f"create from {bundle.name}", lambda bundle=bundle: self._create(bundle)) for bundle in self.bundles
        ]
        for work in Work.objects.filter(state=Work.State.QUEUED):
            choices += [(f"do {work}", lambda work=work: do_work(work.id))] * 4
        for job in Job.objects.all():
            choices += self._on_job(job)
        for replay in Replay.objects.all():
            choices.append((f"delete {replay}", lambda replay=replay: jobs.delete_replay(replay, self._user())))
        choices.append(("remove leftovers", leftovers.remove))
        return self.random.choice(choices)

    def _on_job(self, job: Job) -> list[tuple[str, Callable[[], object]]]:
        if job.status in PENDING:
            return [(f"cancel {job.id}", lambda: jobs.cancel(job, self._user()))]
        if job.status in READABLE:
            return [
                (f"replay {job.id}", lambda: jobs.start_replay(self._user(), job, failure=0)),
                (f"delete {job.id}", lambda: jobs.delete_job(job, self._user())),
                self._on_audit(job),
            ]
        return [(f"retry {job.id}", lambda: jobs.retry(job, self._user()))]

    def _on_audit(self, job: Job) -> tuple[str, Callable[[], object]]:
        audit = audits.of(job)
        if audit is not None and audit.pending:
            return f"cancel {audit}", lambda: audits.cancel(job, self._user())
        return f"audit {job.id}", lambda: audits.start(self._user(), job)

    def _create(self, bundle: Path) -> None:
        jobs.create_job_from_file(self._user(), bundle, bundle.name)

    def _user(self) -> User:
        return User.objects.get(username=self.owner.username)

    def check_while_work_is_open(self) -> None:
        for job in Job.objects.all():
            assert store.pack_path(job.id).exists(), f"{job} has no bundle; {self.reproduce_with}"
            self._check_row(job)
            if job.status in READABLE:
                assert is_whole(store.lake_path(job.id)), f"{job} is half published; {self.reproduce_with}"
        for replay in Replay.objects.all():
            self._check_row(replay)
            if replay.status in READABLE:
                assert is_whole(store.replay_path(replay.id)), f"{replay} lacks steps; {self.reproduce_with}"

        for audit in JobAudit.objects.all():
            self._check_row(audit)
            if audit.report:
                assert (store.audits() / audit.report).read_text() == WHOLE, f"{audit}; {self.reproduce_with}"

    def _check_row(self, row: Target) -> None:
        open_work = Work.objects.filter(target=row.id, state__in=[Work.State.QUEUED, Work.State.RUNNING])
        expected = 1 if row.status in PENDING else 0
        assert open_work.count() == expected, f"{row} is {row.status} with {open_work}; {self.reproduce_with}"

    def check_settled(self) -> None:
        self.check_while_work_is_open()
        assert not Job.objects.filter(status__in=PENDING).exists(), self.reproduce_with
        job_ids = set(Job.objects.values_list("id", flat=True))
        ready = set(Job.objects.filter(status__in=READABLE).values_list("id", flat=True))
        assert {path.name for path in entries(store.bundles())} == {f"{job}.pack" for job in job_ids}
        assert not entries(store.incoming()) and not entries(settings.STAGING), self.reproduce_with
        reports = set(JobAudit.objects.exclude(report="").values_list("report", flat=True))
        assert {path.name for path in entries(store.audits())} == reports, self.reproduce_with
        linked = {path.name for path in entries(settings.LAKE) if path.is_symlink() and path.name.startswith("j_")}
        assert ready <= linked <= job_ids, self.reproduce_with
        for lake in (settings.LAKE, store.replays()):
            versions = {path.resolve() for path in entries(lake / ".versions")}
            assert versions == {path.resolve() for path in entries(lake) if path.is_symlink()}, self.reproduce_with


def do_work(work_id: int) -> None:
    """To be run in a process of its own."""
    held = claim(work_id)
    if held is None:
        return
    with lease.kept(held, threading.Event()) as kept:
        if held.kind == Work.Kind.INGEST:
            supervise_ingest.supervise(held, kept, FolderDriver())  # type: ignore[arg-type]
        elif held.kind == Work.Kind.AUDIT:
            supervise_audit.run_audit = write_report
            supervise_audit.supervise(held, kept)
        else:
            # In the forked process alone, which ends after it.
            supervise_replay.run_replay = write_steps
            supervise_replay.supervise(held, kept)


def is_whole(folder: Path) -> bool:
    return all((folder / part).read_text() == part for part in PARTS if folder.is_dir()) and folder.is_dir()


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
