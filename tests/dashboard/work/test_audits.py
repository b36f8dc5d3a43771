"""Audits as work: asked for by a small job's ingest, published by who holds the lease alone, gone with their job."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard import audits, jobs, store
from dashboard.jobs import Refused
from dashboard.models import Job, JobAudit, Status, Work
from dashboard.work import leftovers, supervise_audit, supervise_ingest
from dashboard.work.claim import Claim, LeaseLost, claim
from dashboard.work.lease import kept
from dashboard.work.sweep import drop_work_of_nothing, forget_ended_work, free_dead_leases
from ingest.launch import ReplayChildDied
from tests.dashboard.work.conftest import write_bundle
from tests.dashboard.work.world import FolderDriver, write_report

pytestmark = pytest.mark.usefixtures("sqlite")


@pytest.fixture
def job(owner: User, tmp_path: Path) -> Job:
    """Ingested, and its audit queued."""
    return ready(owner, tmp_path)


def ready(owner: User, folder: Path) -> Job:
    made = jobs.create_job_from_file(owner, write_bundle(folder / "bundle"), "a bundle")
    held = held_by(made.id)
    with kept(held, threading.Event()) as lease:
        supervise_ingest.supervise(held, lease, FolderDriver())  # type: ignore[arg-type]
    made.refresh_from_db()
    return made


def pending(job: Job) -> JobAudit:
    """The one that its ingest has asked for."""
    audit = audits.of(job)
    assert audit is not None and audit.pending
    return audit


def held_by(target: str, by: str | None = None) -> Claim:
    held = claim(Work.objects.get(target=target, state=Work.State.QUEUED).id, by)
    assert held is not None
    return held


def supervised(held: Claim) -> None:
    with kept(held, threading.Event()) as lease:
        supervise_audit.supervise(held, lease)


def test_a_small_job_is_audited_as_soon_as_it_is_ready_and_a_large_one_when_asked(
    owner: User, tmp_path: Path, settings: Any
) -> None:
    small = ready(owner, tmp_path / "small")
    assert audits.of(small) is not None and Work.objects.filter(kind=Work.Kind.AUDIT).count() == 1
    settings.AUDIT_UNASKED_BYTES = small.bytes - 1
    jobs.delete_job(small, owner)
    large = ready(owner, tmp_path / "large")
    assert audits.of(large) is None
    assert audits.start(owner, large).status == Status.QUEUED


def test_an_audit_of_a_real_bundle_comes_to_a_verdict_in_its_child(job: Job) -> None:
    supervised(held_by(pending(job).id))
    audit = JobAudit.objects.get()
    report = audits.whole_report(audit)
    assert audit.status == Status.READY and report is not None, audit.message
    assert (audit.verdict, audit.good) == (report["verdict"], report["good"])
    assert report["recording"]["job"] == "tiny"


def test_who_was_thought_dead_can_publish_no_more(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise_audit, "run_audit", write_report)
    zombie = held_by(pending(job).id, "somebody elsewhere")
    Work.objects.filter(id=zombie.work_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    free_dead_leases()
    heir = held_by(zombie.target)
    supervised(heir)
    published = JobAudit.objects.get().report
    with pytest.raises(LeaseLost):
        supervised(zombie)
    audit = JobAudit.objects.get()
    assert (audit.report, audit.status) == (published, Status.READY)
    leftovers.remove()
    assert [path.name for path in store.audits().iterdir()] == [published]


def test_a_report_being_written_is_no_leftover(job: Job) -> None:
    held = held_by(pending(job).id)
    own = store.audits() / f"{held.target}.{held.work_id}-{held.attempt}.json"
    store.audits().mkdir(parents=True)
    for path in (own, other := store.audits() / f"{held.target}.{held.work_id}-9.json", odd := store.audits() / "odd"):
        path.write_text("half")
    leftovers.remove()
    assert own.exists() and not other.exists() and not odd.exists()


def test_a_child_that_dies_twice_is_put_aside_and_may_be_asked_again(
    job: Job, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any, **__: Any) -> dict[str, Any]:
        raise ReplayChildDied("the audit's process ended (signal 9)")

    monkeypatch.setattr(supervise_audit, "run_audit", die)
    audit = pending(job)
    for expected in (Status.QUEUED, Status.FAILED):
        supervised(held_by(audit.id))
        audit.refresh_from_db()
        assert audit.status == expected
    assert "2 times" in audit.message and Job.objects.get().status == Status.READY
    assert audits.start(owner, job).status == Status.QUEUED


def test_a_cancelled_audit_keeps_the_last_report(job: Job, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise_audit, "run_audit", write_report)
    supervised(held_by(pending(job).id))
    audits.start(owner, job)
    with pytest.raises(Refused, match="queued already"):
        audits.start(owner, job)
    assert audits.cancel(job, owner).report
    with pytest.raises(Refused, match="nothing to cancel"):
        audits.cancel(job, owner)
    leftovers.remove()
    assert len(list(store.audits().iterdir())) == 1


def test_an_audit_goes_with_its_job(job: Job, owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise_audit, "run_audit", write_report)
    supervised(held_by(pending(job).id))
    audits.start(owner, job)
    jobs.delete_job(job, owner)
    assert not JobAudit.objects.exists() and not list(store.audits().iterdir())
    assert not Work.objects.filter(state=Work.State.QUEUED).exists()


def test_work_of_an_audit_whose_owner_is_gone_is_dropped(job: Job, owner: User) -> None:
    work = Work.objects.get(target=pending(job).id)
    owner.delete()
    drop_work_of_nothing()
    work.refresh_from_db()
    assert work.state == Work.State.CANCELLED


def test_the_newest_work_of_an_audit_is_kept(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise_audit, "run_audit", write_report)
    supervised(held_by(pending(job).id))
    Work.objects.update(updated_at=timezone.now() - timedelta(days=40))
    forget_ended_work()
    assert Work.objects.filter(kind=Work.Kind.AUDIT).count() == 1
