"""Claims, leases and the fence, with real threads on real databases."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from dashboard.models import Job, Status, Work
from dashboard.work import lease
from dashboard.work import owner as lease_owner
from dashboard.work.claim import LeaseLost, claim, fenced, finish, give_back, renew, set_status
from dashboard.work.queue import enqueue

CLAIMANTS = 8


def queued_job(user: User, name: str = "one") -> tuple[Job, Work]:
    with transaction.atomic():
        job = Job.objects.create(owner=user, name=name, content_id=name)
        return job, enqueue(Work.Kind.INGEST, job.id)


def expire(work: Work) -> None:
    Work.objects.filter(id=work.id).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_of_many_claimants_exactly_one_gets_the_work(database: str, owner: User) -> None:
    _, work = queued_job(owner)
    together = threading.Barrier(CLAIMANTS)

    def try_it(number: int) -> bool:
        together.wait()
        try:
            return claim(work.id, f"claimant {number}") is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(CLAIMANTS) as pool:
        got = list(pool.map(try_it, range(CLAIMANTS)))
    assert got.count(True) == 1
    work.refresh_from_db()
    assert (work.state, work.attempt) == (Work.State.RUNNING, 1)


def test_every_piece_of_work_is_claimed_once_whoever_comes(database: str, owner: User) -> None:
    works = [queued_job(owner, f"job {number}")[1] for number in range(12)]
    together = threading.Barrier(4)

    def take_all(number: int) -> list[int]:
        together.wait()
        try:
            return [work.id for work in works if claim(work.id, f"claimant {number}")]
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        taken = [work_id for ids in pool.map(take_all, range(4)) for work_id in ids]
    assert sorted(taken) == [work.id for work in works]


def test_claiming_moves_the_job_in_the_same_transaction(database: str, owner: User) -> None:
    job, work = queued_job(owner)
    claim(work.id, "one")
    job.refresh_from_db()
    assert job.status == Status.RUNNING


def test_a_zombie_can_neither_renew_nor_publish(database: str, owner: User) -> None:
    job, work = queued_job(owner)
    zombie = claim(work.id, "zombie")
    assert zombie is not None
    expire(work)
    heir = claim(work.id, "heir")
    assert heir is not None and heir.attempt == zombie.attempt + 1
    assert not renew(zombie)
    assert not give_back(zombie, "too late")
    with pytest.raises(LeaseLost), fenced(zombie):
        pytest.fail("the zombie got through the fence")
    with fenced(heir) as row:
        finish(row, Work.State.DONE)
        set_status(job.id, Status.READY, "")
    job.refresh_from_db()
    assert job.status == Status.READY


def test_the_fence_holds_until_its_transaction_ends(database: str, owner: User) -> None:
    """Whoever would take the work away meanwhile waits, and then finds it done."""
    _, work = queued_job(owner)
    held = claim(work.id, "one")
    assert held is not None
    inside, taken = threading.Event(), []

    def take_it_away() -> None:
        inside.wait()
        try:
            expired = Work.objects.filter(id=work.id, state=Work.State.RUNNING, attempt=held.attempt)
            taken.append(expired.update(state=Work.State.QUEUED))
        finally:
            connection.close()

    thief = threading.Thread(target=take_it_away)
    thief.start()
    with fenced(held) as row:
        inside.set()
        thief.join(0.3)
        assert thief.is_alive(), "the thief did not wait"
        finish(row, Work.State.DONE)
    thief.join()
    assert taken == [0]


def test_a_second_open_work_for_one_target_is_refused(database: str, owner: User) -> None:
    job, _ = queued_job(owner)
    with pytest.raises(Exception, match=r"(?i)unique"), transaction.atomic():
        enqueue(Work.Kind.INGEST, job.id)


def test_a_kept_lease_outlives_its_first_term(settings, database: str, owner: User) -> None:
    settings.LEASE_S = 2
    _, work = queued_job(owner)
    held = claim(work.id, "one")
    assert held is not None
    work.refresh_from_db()
    first = work.lease_until
    renewed = threading.Event()

    with lease.kept(held, threading.Event()) as kept:
        deadline = timezone.now() + timedelta(seconds=10)
        while not renewed.is_set() and timezone.now() < deadline:
            work.refresh_from_db()
            if work.lease_until != first:
                renewed.set()
            kept.lost.wait(0.05)
        assert renewed.is_set() and not kept.interrupted()


def test_who_keeps_a_lease_notices_that_it_was_taken_over(database: str, owner: User) -> None:
    _, work = queued_job(owner)
    held = claim(work.id, "one")
    assert held is not None
    with lease.kept(held, threading.Event()) as kept:
        expire(work)
        assert claim(work.id, "two") is not None
        assert kept.lost.wait(10)


def test_this_process_is_alive_and_its_predecessor_of_the_same_number_is_not() -> None:
    me = lease_owner.this_process()
    assert not lease_owner.is_dead(me)
    assert lease_owner.is_dead(me.rpartition("/")[0] + "/1")
    host, boot, namespace, pid, start = me.split("/")
    assert lease_owner.is_dead(f"{host}/another-boot/{namespace}/{pid}/{start}")
    assert not lease_owner.is_dead(f"{host}-else/{boot}/{namespace}/{pid}/{start}")
    assert not lease_owner.is_dead(f"{host}/{boot}/another-namespace/{pid}/1")
