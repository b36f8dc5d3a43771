"""A replay for whose steps no folder can be made: its row says where and why, and the next one works."""

import threading
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dashboard import jobs, store
from dashboard.models import Job, Replay, Status, Work
from dashboard.work import supervise_replay
from dashboard.work.service import WorkService
from tests.dashboard.work.conftest import write_bundle
from tests.dashboard.work.world import FolderDriver, write_steps


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> WorkService:
    monkeypatch.setattr(supervise_replay, "run_replay", write_steps)
    made = WorkService()
    made.driver = FolderDriver()  # type: ignore[assignment]
    return made


@pytest.fixture
def job(sqlite: str, owner: User, tmp_path: Path, service: WorkService) -> Job:
    made = jobs.create_job_from_file(owner, write_bundle(tmp_path / "bundle"), "tiny")
    run(service, made.id)
    return Job.objects.get(id=made.id)


def run(service: WorkService, target: str) -> None:
    service.run(Work.objects.get(target=target, state=Work.State.QUEUED).id)


def test_a_file_in_place_of_the_folder_is_told_and_the_next_try_works(service: WorkService, job: Job) -> None:
    folder = store.replays()
    if folder.is_dir():
        folder.rmdir()
    folder.write_text("in the way")
    replay = jobs.start_replay(job.owner, job, failure=0)
    run(service, replay.id)
    replay.refresh_from_db()
    assert replay.status == Status.FAILED
    assert replay.message.startswith(str(folder)), replay.message
    assert "See that the server can read and write there, then replay again." in replay.message
    folder.unlink()
    jobs.retry_replay(replay, job.owner)
    run(service, replay.id)
    assert Replay.objects.get(id=replay.id).status == Status.READY


class NoPlace(supervise_replay.SpareReplay):
    """Of a machine on which another process can't be started."""

    def prepare(self) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")


def test_a_spare_that_cannot_be_started_takes_nothing_from_the_replay(service: WorkService, job: Job) -> None:
    service.spare = NoPlace(supervise_replay.log_path())
    service._later = threading.Timer(0, lambda: None)
    replay = jobs.start_replay(job.owner, job, failure=0)
    run(service, replay.id)
    assert Replay.objects.get(id=replay.id).status == Status.READY
