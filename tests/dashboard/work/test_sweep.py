"""What the sweeper frees, removes, wakes and puts aside; and that it leaves alone what lives."""

import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard import jobs, store
from dashboard.models import Job, Status, Upload, Work
from dashboard.uploads.sweep import GRACE_S
from dashboard.work import ending, leftovers
from dashboard.work import owner as lease_owner
from dashboard.work.claim import claim
from dashboard.work.sweep import MAX_ATTEMPTS, drop_work_of_nothing, forget_ended_work, free_dead_leases
from tests.dashboard.work.conftest import write_bundle

pytestmark = pytest.mark.usefixtures("sqlite")


@pytest.fixture
def job(owner: User, tmp_path: Path) -> Job:
    return jobs.create_job_from_file(owner, write_bundle(tmp_path / "bundle"), "a bundle")


@pytest.fixture
def work(job: Job) -> Work:
    return Work.objects.get(target=job.id)


def test_a_live_holder_keeps_its_lease(work: Work) -> None:
    held = claim(work.id)
    free_dead_leases()
    assert held is not None and held.rows().exists()


def test_an_expired_lease_is_queued_again(job: Job, work: Work) -> None:
    claim(work.id, "somebody elsewhere")
    Work.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    free_dead_leases()
    work.refresh_from_db()
    job.refresh_from_db()
    assert (work.state, work.attempt, work.lease_owner) == (Work.State.QUEUED, 1, "")
    assert job.status == Status.QUEUED


def test_the_lease_of_a_dead_process_is_freed_long_before_it_expires(work: Work) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    machine = lease_owner.this_process().rsplit("/", 2)[0]
    identity = f"{machine}/{process.pid}/{lease_owner._start_of(process.pid)}"
    claim(work.id, identity)
    free_dead_leases()
    work.refresh_from_db()
    assert work.state == Work.State.RUNNING
    process.kill()
    process.communicate()
    free_dead_leases()
    work.refresh_from_db()
    assert work.state == Work.State.QUEUED and work.lease_until is None


def test_what_ends_every_process_that_takes_it_is_put_aside(job: Job, work: Work) -> None:
    for _ in range(MAX_ATTEMPTS):
        assert claim(work.id, "one that dies") is not None
        Work.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        free_dead_leases()
    work.refresh_from_db()
    job.refresh_from_db()
    assert (work.state, job.status) == (Work.State.FAILED, Status.FAILED)
    assert str(MAX_ATTEMPTS) in job.message


def test_a_job_that_kills_its_driver_twice_fails_and_can_be_tried_again(owner: User, job: Job, work: Work) -> None:
    held = claim(work.id)
    assert held is not None
    ending.died(held, "The driver died.")
    job.refresh_from_db()
    assert job.status == Status.QUEUED
    held = claim(work.id)
    assert held is not None
    ending.died(held, "The driver died.")
    job.refresh_from_db()
    assert job.status == Status.FAILED and "2 times" in job.message
    assert jobs.retry(job, owner).status == Status.QUEUED


def test_leftovers_go_and_what_a_row_speaks_for_stays(job: Job, work: Work) -> None:
    held = claim(work.id)
    assert held is not None
    alive = store.staging_path(work.id, held.attempt)
    dead = [
        store.staging_path(work.id, held.attempt + 1),
        store.staging_path(work.id + 1, 1),
        store.lake_path(".versions") / f"{job.id}.{work.id}-0",
        store.replays() / ".versions" / "r_000000000000.9-1",
    ]
    for folder in (alive, *dead):
        folder.mkdir(parents=True)
    orphan = store.pack_path("j_000000000000")
    orphan.write_bytes(b"x")
    leftovers.remove()
    assert alive.is_dir() and store.pack_path(job.id).exists()
    assert not any(path.exists() for path in (*dead, orphan))


def test_a_bundle_that_is_just_arriving_is_left_alone_until_its_process_dies() -> None:
    job_id = "j_000000000001"
    with store.entering(job_id) as fresh:
        part = fresh.with_name(f".{fresh.name}.abc.part")
        part.write_bytes(b"half")
        store.pack_path(job_id).write_bytes(b"whole, but its row is not committed")
        leftovers.remove()
        assert part.exists() and store.pack_path(job_id).exists()
    leftovers.remove()
    assert not part.exists() and not store.pack_path(job_id).exists()


def test_an_upload_stays_while_it_is_young_or_resumable(owner: User) -> None:
    upload = Upload.objects.create(owner=owner, name="big", size=10)
    store.uploads().mkdir(parents=True)
    resumable, unknown, abandoned = (store.uploads() / name for name in (upload.id, "u_1", "u_2"))
    for path in (resumable, unknown, abandoned):
        path.write_bytes(b"x")
    a_while_ago = time.time() - 3 * GRACE_S
    os.utime(abandoned, (a_while_ago, a_while_ago))
    os.utime(resumable, (a_while_ago, a_while_ago))
    leftovers.remove()
    assert resumable.exists() and unknown.exists() and not abandoned.exists()


def test_only_the_link_of_a_half_made_switch_goes(job: Job, work: Work) -> None:
    version = store.lake_path(".versions") / f"{job.id}.{work.id}-1"
    version.mkdir(parents=True)
    store.lake_path(job.id).symlink_to(version)
    half = store.lake_path(f".{job.id}.1.ab.link")
    half.symlink_to(version)
    leftovers.remove()
    assert half.is_symlink()
    long_ago = time.time() - 2 * leftovers.SWITCH_GRACE_S
    os.utime(half, (long_ago, long_ago), follow_symlinks=False)
    leftovers.remove()
    assert not half.is_symlink() and version.is_dir() and store.lake_path(job.id).is_symlink()


def test_the_work_of_a_deleted_person_is_dropped_and_their_files_go(owner: User, job: Job, work: Work) -> None:
    owner.delete()
    drop_work_of_nothing()
    leftovers.remove()
    work.refresh_from_db()
    assert work.state == Work.State.CANCELLED
    assert not store.pack_path(job.id).exists()


def test_work_that_ended_long_ago_is_forgotten_but_for_what_pages_tell_of(job: Job, work: Work) -> None:
    def ended(target: str, *, days: int) -> int:
        made = Work.objects.create(kind=Work.Kind.REPLAY, target=target, state=Work.State.DONE)
        Work.objects.filter(id=made.id).update(updated_at=timezone.now() - timedelta(days=days))
        return made.id

    old_of_nothing, new_of_nothing = ended("r_000000000000", days=31), ended("r_000000000001", days=29)
    first, second = ended(job.id, days=40), ended(job.id, days=35)
    forget_ended_work()
    left = set(Work.objects.values_list("id", flat=True))
    assert left == {work.id, new_of_nothing, second} and not left & {old_of_nothing, first}


def test_logs_of_jobs_that_are_gone_are_removed_and_others_stay(job: Job) -> None:
    gone = store.log_path("j_000000000000")
    gone.write_text("Killed between the row and its files.")
    assert leftovers.remove() == [gone]
    assert store.log_path(job.id).exists() and not gone.exists()
