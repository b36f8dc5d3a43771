"""Creating, cancelling, retrying and deleting: rows, work and files always tell the same story."""

import zipfile
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dashboard import joblog, jobs, store
from dashboard.models import AuditEntry, Job, JobShare, Quota, Replay, Status, Work
from replay.errors import BundleError
from tests.dashboard.work.conftest import write_bundle
from tests.dashboard.work.world import World, entries

pytestmark = pytest.mark.usefixtures("sqlite")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "bundle")


@pytest.fixture
def job(owner: User, bundle: Path) -> Job:
    return jobs.create_job_from_file(owner, bundle, "a bundle")


@pytest.fixture
def ready(owner: User, bundle: Path, job: Job) -> Job:
    World(0, [bundle], owner).settle()
    job.refresh_from_db()
    assert job.status == Status.READY
    return job


def open_work(target: str) -> list[str]:
    return list(Work.objects.filter(target=target).order_by("id").values_list("state", flat=True))


def test_a_new_job_is_queued_with_its_work_and_its_bundle(job: Job) -> None:
    assert job.status == Status.QUEUED
    assert open_work(job.id) == [Work.State.QUEUED]
    assert store.pack_path(job.id).stat().st_size > 0
    assert not entries(store.incoming())
    assert "Queued for ingest" in joblog.read(job.id)


def test_the_same_content_is_recognised_in_another_container(owner: User, bundle: Path, job: Job, tmp_path: Path):
    archive = tmp_path / "same.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(bundle / "job.json", "job.json")
    again = jobs.create_job_from_file(owner, archive, "same")
    assert (again.id, again.repeated) == (job.id, True)
    assert Job.objects.count() == 1 and len(entries(store.bundles())) == 1


def test_what_one_may_not_see_is_not_recognised(bundle: Path, job: Job) -> None:
    stranger = User.objects.create_user("bob")
    other = jobs.create_job_from_file(stranger, bundle, "mine")
    assert other.id != job.id and not other.repeated
    JobShare.objects.create(job=job, user=stranger)
    assert set(Job.objects.visible_to(stranger)) == {job, other}


def test_a_job_is_recognised_only_by_who_sees_what_it_says(bundle: Path, job: Job) -> None:
    reader = User.objects.create_user("eve")
    share = JobShare.objects.create(job=job, user=reader)
    assert jobs.create_job_from_file(reader, bundle, "mine").id != job.id
    Job.objects.filter(owner=reader).delete()
    share.payloads = True
    share.save()
    assert jobs.create_job_from_file(reader, bundle, "mine").id == job.id


def test_uploading_again_what_failed_tries_it_again(owner: User, bundle: Path, job: Job) -> None:
    jobs.cancel(job, owner)
    again = jobs.create_job_from_file(owner, bundle, "again")
    assert (again.id, again.status) == (job.id, Status.QUEUED)
    assert open_work(job.id) == [Work.State.CANCELLED, Work.State.QUEUED]


@pytest.mark.parametrize("content", [b"", b"no bundle at all", b"PK\x03\x04 cut short"])
def test_what_is_refused_leaves_nothing_behind(owner: User, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.zip"
    path.write_bytes(content)
    with pytest.raises(BundleError):
        jobs.create_job_from_file(owner, path, path.name)
    assert not Job.objects.exists() and not Work.objects.exists()
    assert not entries(store.bundles()) and not entries(store.incoming())


def test_a_full_disk_is_said_in_words_and_leaves_nothing(owner: User, bundle: Path, monkeypatch) -> None:
    import errno

    def no_room(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", no_room)
    with pytest.raises(jobs.StoreFull, match="disk is full"):
        jobs.create_job_from_file(owner, bundle, "too much")
    assert not Job.objects.exists() and not entries(store.bundles()) and not entries(store.incoming())


def test_a_bundle_that_unpacks_past_the_quota_is_refused_and_leaves_nothing(owner: User, tmp_path: Path) -> None:
    """The upload itself fits: what counts is what would be kept."""
    Quota.objects.create(user=owner, max_bytes=1 << 20)
    path = tmp_path / "small.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(write_bundle(tmp_path / "bundle").rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(tmp_path / "bundle"))
        archive.writestr("notes", bytes(2 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(jobs.OverQuota, match="would pass your quota: 0 of 1048576 bytes are stored"):
        jobs.create_job_from_file(owner, path, path.name)
    assert not Job.objects.exists() and not entries(store.bundles()) and not entries(store.incoming())


def test_a_failure_of_no_task_cannot_be_replayed_and_says_so(owner: User, ready: Job) -> None:
    ready.facts = {"failures": [{"failure": 0, "task": None}]}
    ready.save()
    with pytest.raises(jobs.Refused, match="does not say which task failed in failure 0"):
        jobs.start_replay(owner, ready, task="", failure=0)


def test_cancelling_closes_the_work_at_once(owner: User, job: Job) -> None:
    assert jobs.cancel(job, owner).status == Status.CANCELLED
    assert open_work(job.id) == [Work.State.CANCELLED]
    with pytest.raises(jobs.Refused, match="nothing to cancel"):
        jobs.cancel(job, owner)


def test_a_cancelled_job_can_be_tried_again_and_a_ready_one_cannot(owner: User, ready: Job) -> None:
    with pytest.raises(jobs.Refused, match="ready"):
        jobs.retry(ready, owner)
    Job.objects.filter(id=ready.id).update(status=Status.FAILED)
    assert jobs.retry(ready, owner).status == Status.QUEUED


def test_without_its_bundle_a_job_cannot_be_tried_again(owner: User, job: Job) -> None:
    jobs.cancel(job, owner)
    store.pack_path(job.id).unlink()
    with pytest.raises(jobs.Refused, match="no longer in the store"):
        jobs.retry(job, owner)
    job.refresh_from_db()
    assert job.status == Status.CANCELLED


def test_deleting_leaves_only_the_audit_entry(owner: User, ready: Job) -> None:
    jobs.start_replay(owner, ready, failure=0)
    World(0, [], owner).settle()
    assert entries(store.replays() / ".versions")
    jobs.delete_job(ready, owner)
    assert not Job.objects.exists() and not Replay.objects.exists()
    assert not Work.objects.filter(state__in=["queued", "running"]).exists()
    for folder in (store.bundles(), store.lake_path(".versions"), store.replays() / ".versions"):
        assert not entries(folder), folder
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.actor) == ("job.delete", ready.id, owner)


def test_a_replay_needs_a_failure_or_an_attempt_that_there_is(owner: User, ready: Job) -> None:
    for wrong in ({}, {"failure": 0, "attempt": 1}, {"failure": 7}, {"attempt": 1}, {"failure": 0, "task": "sink.9"}):
        with pytest.raises(jobs.Refused):
            jobs.start_replay(owner, ready, **wrong)
    assert not Replay.objects.exists()
    assert jobs.start_replay(owner, ready, failure=0).task == "", "of all that is recovered from together"
    assert jobs.start_replay(owner, ready, "source.0", failure=0).task == "source.0"


def test_a_replay_can_be_cancelled_tried_again_and_deleted(owner: User, ready: Job) -> None:
    replay = jobs.start_replay(owner, ready, failure=0)
    assert jobs.cancel_replay(replay, owner).status == Status.CANCELLED
    assert jobs.retry_replay(replay, owner).status == Status.QUEUED
    World(0, [], owner).settle()
    replay.refresh_from_db()
    assert (replay.status, replay.verdict) == (Status.READY, "identical")
    jobs.delete_replay(replay, owner)
    assert not entries(store.replays() / ".versions")


def test_an_older_schema_is_ingested_again_on_demand_and_only_then(owner: User, ready: Job) -> None:
    assert not jobs.reingest_if_older(ready)
    Job.objects.filter(id=ready.id).update(schema_version=0)
    ready.refresh_from_db()
    assert jobs.reingest_if_older(ready) and ready.status == Status.QUEUED
    assert not jobs.reingest_if_older(ready)
    World(0, [], owner).settle()
    ready.refresh_from_db()
    assert ready.status == Status.READY and not jobs.reingest_if_older(ready)


def test_a_job_marked_so_gets_its_first_replay_by_itself(owner: User, bundle: Path) -> None:
    job = jobs.create_job_from_file(owner, bundle, "demo", replay_when_ready=True)
    World(0, [], owner).settle()
    replay = Replay.objects.get(job=job)
    assert (replay.failure, replay.task, replay.status) == (0, "source.0", Status.READY)


def test_a_hunt_goes_on_past_divergences(owner: User, ready: Job) -> None:
    ready.facts = {"failures": [{"failure": 0, "task": "map-1.0"}]}
    ready.save()
    hunt = jobs.start_replay(owner, ready, failure=0, hunt=True)
    plain = jobs.start_replay(owner, ready, failure=0)
    assert [(one.hunt, one.on_divergence) for one in (hunt, plain)] == [(True, "go-on"), (False, "stop")]
