"""How many pieces of work run at once in a process, which comes next, and what happens to them when it ends."""

import threading
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection

from dashboard import joblog, jobs
from dashboard.models import Job, Replay, Status, Work
from dashboard.work.claim import claim
from dashboard.work.queue import enqueue
from dashboard.work.service import BROKEN, WorkService
from dashboard.work.sweep import free_leases_of_the_folder
from dashboard.work.turn import next_of
from ingest.launch import DriverDied, IngestCancelled, IngestFailed, IngestRequest, IngestResult
from tests.dashboard.work.conftest import write_bundle
from tests.dashboard.work.world import FolderDriver


class ScriptedDriver(FolderDriver):
    """Does what it is told for a job: dies, fails, breaks or waits; all others it ingests."""

    def __init__(self) -> None:
        self.script: dict[str, Exception] = {}
        self.order: list[str] = []
        self.waiting = threading.Event()
        self.wait_for: set[str] = set()

    def ingest(self, request: IngestRequest, tell, cancelled) -> IngestResult:
        self.order.append(request.job)
        if request.job in self.wait_for:
            self.waiting.set()
            while not cancelled():
                threading.Event().wait(0.02)
            raise IngestCancelled("cancelled")
        if request.job in self.script:
            raise self.script[request.job]
        return super().ingest(request, tell, cancelled)

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def service() -> WorkService:
    made = WorkService()
    made.driver = ScriptedDriver()  # type: ignore[assignment]
    return made


@pytest.fixture
def queued(sqlite: str, owner: User, tmp_path: Path) -> list[Job]:
    names = ("one", "two", "three")
    return [jobs.create_job_from_file(owner, write_bundle(tmp_path / "b" / name, name), name) for name in names]


def run_in_thread(service: WorkService, job: Job) -> threading.Thread:
    work_id = Work.objects.get(target=job.id).id

    def run() -> None:
        try:
            service.run(work_id)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def statuses(queued: list[Job]) -> list[str]:
    return [Job.objects.get(id=job.id).status for job in queued]


def test_one_message_is_enough_for_all_that_is_queued(service: WorkService, queued: list[Job]) -> None:
    service.run(Work.objects.get(target=queued[1].id).id)
    assert statuses(queued) == [Status.READY] * 3
    assert service.driver.order == [job.id for job in queued]


def test_users_take_turns_and_who_asked_for_little_does_not_wait_for_who_asked_for_much(
    service: WorkService, queued: list[Job], tmp_path: Path
) -> None:
    """Whichever message wakes the worker."""
    other = User.objects.create_user("other")
    theirs = [jobs.create_job_from_file(other, write_bundle(tmp_path / name, name), name) for name in ("four", "five")]
    service.run(Work.objects.get(target=queued[2].id).id)
    assert service.driver.order == [job.id for job in (queued[0], theirs[0], queued[1], theirs[1], queued[2])]
    assert statuses([*queued, *theirs]) == [Status.READY] * 5


def test_who_has_not_had_a_turn_for_longest_comes_first_whatever_the_kind(database: str, owner: User) -> None:
    """Replays and audits count for themselves: many ingests of one user take no turn of their replays."""
    other = User.objects.create_user("other")
    job = Job.objects.create(owner=owner, name="one", content_id="one", status=Status.READY)
    begun = enqueue(Work.Kind.INGEST, job.id)
    replays = [Replay.objects.create(job=job, owner=who, task="map.0", attempt=0) for who in (owner, owner, other)]
    works = [enqueue(Work.Kind.REPLAY, replay.id) for replay in replays]
    assert claim(begun.id) is not None
    order = []
    while (number := next_of(Work.Kind.REPLAY)) is not None:
        order.append(number)
        assert claim(number) is not None
    assert order == [works[0].id, works[2].id, works[1].id]
    assert next_of(Work.Kind.INGEST) is None


def test_a_job_that_kills_the_driver_keeps_nobody_waiting(service: WorkService, queued: list[Job]) -> None:
    poison, *others = queued
    service.driver.script[poison.id] = DriverDied("The driver died.")
    service.run(Work.objects.get(target=poison.id).id)
    assert statuses(queued) == [Status.FAILED, Status.READY, Status.READY]
    assert service.driver.order == [poison.id, others[0].id, others[1].id, poison.id]
    assert "2 times" in Job.objects.get(id=poison.id).message


@pytest.mark.parametrize(
    ("fault", "words"),
    [(IngestFailed("The epoch 3 of task a is missing."), "epoch 3"), (ZeroDivisionError("programmer's"), BROKEN)],
    ids=["operating", "broken"],
)
def test_what_fails_says_why_on_the_row_and_in_its_log(
    service: WorkService, queued: list[Job], fault: Exception, words: str
) -> None:
    service.driver.script[queued[0].id] = fault
    service.run(Work.objects.get(target=queued[0].id).id)
    assert statuses(queued) == [Status.FAILED, Status.READY, Status.READY]
    assert words in Job.objects.get(id=queued[0].id).message
    assert words in joblog.read(queued[0].id)


def test_while_an_ingest_runs_another_waits_in_its_row(service: WorkService, queued: list[Job]) -> None:
    service.driver.wait_for.add(queued[0].id)
    thread = run_in_thread(service, queued[0])
    assert service.driver.waiting.wait(10)
    service.run(Work.objects.get(target=queued[1].id).id)
    assert statuses(queued) == [Status.RUNNING, Status.QUEUED, Status.QUEUED]
    jobs.cancel(Job.objects.get(id=queued[0].id), queued[0].owner)
    thread.join(10)
    assert not thread.is_alive()
    assert statuses(queued) == [Status.CANCELLED, Status.READY, Status.READY]


def test_a_process_that_ends_gives_its_work_back(service: WorkService, queued: list[Job]) -> None:
    service.driver.wait_for.add(queued[0].id)
    thread = run_in_thread(service, queued[0])
    assert service.driver.waiting.wait(10)
    service.stop()
    thread.join(10)
    assert not thread.is_alive() and service.driver.stopped
    assert statuses(queued) == [Status.QUEUED] * 3
    work = Work.objects.get(target=queued[0].id)
    assert (work.state, work.deaths, work.lease_owner) == (Work.State.QUEUED, 0, "")
    service.run(work.id)
    assert service.driver.order == [queued[0].id], "a stopped service took up work"


def test_who_takes_the_folder_frees_every_lease_in_it(queued: list[Job]) -> None:
    """Its last holder may have been in a container of the same host name, of which nothing can be seen."""
    work = Work.objects.get(target=queued[0].id)
    assert claim(work.id, "vm/boot/another-namespace/1/1") is not None
    free_leases_of_the_folder()
    work.refresh_from_db()
    assert work.state == Work.State.QUEUED
