"""Jobs whose tables are in a bucket: taken in, swept, looked at and deleted as those in a folder are."""

import os
from itertools import count
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from bench.without_spark import ingest_here
from dashboard import doctor, jobs, store
from dashboard.models import Job, Status, Work
from dashboard.queries.lake import lake
from dashboard.stored import damages
from dashboard.work import leftovers
from dashboard.work.claim import claim
from ingest.lake import places
from ingest.lake.places import InBucket, names_in, place_of, put
from ingest.lake.publish import publish, published_folder, version_folder
from tests.ingest.made import random_recording
from tests.services.processes import free_port
from tests.services.s3 import BUCKET

pytestmark = pytest.mark.usefixtures("sqlite")
_numbers = count()


@pytest.fixture
def root(data: Path, settings, bucket: None) -> InBucket:
    settings.LAKE_ROOT = place_of(f"s3://{BUCKET}/dashboard/{next(_numbers)}")
    return settings.LAKE_ROOT


@pytest.fixture
def job(owner: User, root: InBucket, tmp_path: Path) -> Job:
    random_recording(3).pack(tmp_path / "made")
    return jobs.create_job_from_file(owner, tmp_path / "made" / "made.tar", "made")


def taken_in(job: Job, root: InBucket) -> Work:
    work = Work.objects.get(target=job.id)
    held = claim(work.id)
    assert held is not None
    staging = store.staging_of(job.id, work.id, held.attempt)
    ingest_here(job.id, store.pack_path(job.id), staging)
    publish(root, staging, job.id, str(work.id), held.attempt)
    Work.objects.update(state=Work.State.DONE)
    Job.objects.update(status=Status.READY)
    return work


def test_what_a_row_or_a_running_attempt_speaks_for_stays_and_all_else_goes(job: Job, root: InBucket, tmp_path: Path):
    taken_in(job, root)
    kept = [store.kept_paths() / name for name in (published_folder(root, job.id).name, "j_000000000000.9-1")]
    for folder in kept:
        folder.mkdir(parents=True)
    random_recording(4).pack(tmp_path / "other")
    other = jobs.create_job_from_file(job.owner, tmp_path / "other" / "made.tar", "other")
    held = claim(Work.objects.get(target=other.id).id)
    running = version_folder(root, other.id, str(held.work_id), held.attempt)
    dead = version_folder(root, job.id, "99", 1)
    for version in (running, dead):
        put(version / "counts" / "part-00000.parquet", b"x")
    put(root / "lake" / "j_000000000000", b".versions/j_000000000000.1-1")

    leftovers.remove()

    versions = root / "lake" / ".versions"
    assert names_in(versions) == sorted([published_folder(root, job.id).name, running.name])
    assert "j_000000000000" not in names_in(root / "lake")
    assert [folder.exists() for folder in kept] == [True, False]
    assert lake().job(job.id).facts["tasks"]


def test_a_bucket_that_does_not_answer_is_swept_another_time(job: Job, root: InBucket, monkeypatch):
    taken_in(job, root)
    put(version_folder(root, job.id, "99", 1) / "x", b"x")
    versions = root / "lake" / ".versions"
    with monkeypatch.context() as away:
        away.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
        away.setattr(places, "bucket_files", places.bucket_files.__wrapped__)
        assert leftovers.remove() == []
    assert len(names_in(versions)) == 2
    leftovers.remove()
    assert names_in(versions) == [published_folder(root, job.id).name]


def test_the_doctor_finds_tables_that_are_missing_or_cut(job: Job, root: InBucket):
    taken_in(job, root)
    assert list(damages(checksums=False, mend=True)) == []
    folder = published_folder(root, job.id)
    cut = folder / "determinants" / names_in(folder / "determinants")[0]
    put(cut, cut.read_bytes()[:-1])
    assert "missing or cut short" in str(next(damages(checksums=False, mend=False)))
    assert "queued to be ingested again" in str(next(damages(checksums=False, mend=True)))


def test_the_doctor_tries_a_bucket_and_leaves_nothing_there(root: InBucket):
    found = {one.name: one for one in doctor.findings()}
    assert found["lake"].good and found["lake"].detail == str(root)
    assert names_in(root) == []


def test_tables_of_a_deleted_job_are_gone(job: Job, root: InBucket):
    taken_in(job, root)
    jobs.delete_job(Job.objects.get(id=job.id), job.owner)
    assert names_in(root / "lake") == [".versions"] and names_in(root / "lake" / ".versions") == []
    assert os.listdir(store.bundles()) == []
