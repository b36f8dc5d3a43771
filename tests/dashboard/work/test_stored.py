"""The doctor finds every byte of a bundle that changed and every table that is cut, and mends what can be made anew."""

import os
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from bench.without_spark import ingest_here
from dashboard import jobs, store
from dashboard.models import Job, Status, Work
from dashboard.stored import damages
from ingest.lake.publish import publish, published_folder
from tests.ingest.made import random_recording

pytestmark = pytest.mark.usefixtures("sqlite")


@pytest.fixture
def job(owner: User, data: Path, tmp_path: Path) -> Job:
    random_recording(3).pack(tmp_path / "made")
    job = jobs.create_job_from_file(owner, tmp_path / "made" / "made.tar", "made")
    ingest_here(job.id, store.pack_path(job.id), data / "staging" / "1-1")
    publish(data, data / "staging" / "1-1", job.id, "1", 1)
    Work.objects.update(state=Work.State.DONE)
    Job.objects.update(status=Status.READY)
    return job


def found(*, checksums: bool = True, mend: bool = False) -> list[str]:
    return [str(one) for one in damages(checksums=checksums, mend=mend)]


def test_what_is_whole_is_not_complained_of(job: Job) -> None:
    assert found() == found(checksums=False) == found(mend=True) == []


def test_any_byte_that_changed_is_found(job: Job) -> None:
    path = store.pack_path(job.id)
    whole = path.read_bytes()
    for at in range(8, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert len(found()) == 1 and job.id in found()[0], at
    path.unlink()
    assert "is missing" in found(checksums=False)[0]
    assert "is missing" in found(mend=True)[0] and Job.objects.get().status == Status.READY


@pytest.mark.parametrize("table", ["determinants", "counts", "log-index"])
def test_damaged_tables_are_made_anew_and_leftovers_go(job: Job, data: Path, table: str) -> None:
    folder = published_folder(data, job.id)
    cut = next((folder / table).iterdir())
    os.truncate(cut, 10)
    (left := data / "staging" / "99-1").mkdir()
    assert "missing or cut short" in found()[0] and left.exists() and Job.objects.get().status == Status.READY
    assert ["queued to be ingested again" in one or "was removed" in one for one in found(mend=True)] == [True, True]
    assert not left.exists() and Job.objects.get().status == Status.QUEUED
    assert Work.objects.filter(target=job.id, state=Work.State.QUEUED).count() == 1
