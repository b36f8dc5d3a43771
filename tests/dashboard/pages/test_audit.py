"""A job's audit on its page and in the API: four states, claims with links that prove them, payloads hidden."""

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dashboard import audits, store
from dashboard.models import Job, JobAudit, JobShare, PayloadLook, Status, Work
from dashboard.work import interrupt, supervise_audit
from dashboard.work.claim import claim
from dashboard.work.lease import Lease
from tests.clonoscope.test_side_by_side import run
from tests.dashboard.pages.conftest import as_seen_by

PRICES = ("19.90417", "24.93586")  # as no clock and no size is written


@pytest.fixture
def job(guest: User, tmp_path: Path, shelved: Callable[[Path], Job]) -> Job:
    """An epoch that was executed twice, and a second order with another price; the guest sees no payloads."""
    bundle = run(tmp_path / "recorded", (4.5, 19.90417), (4.5, 24.93586))
    made = shelved(bundle)
    JobShare.objects.create(job=made, user=guest, payloads=False)
    return made


def audited(job: Job) -> JobAudit:
    """By a child, as a worker does it."""
    audit = audits.start(job.owner, job)
    held = claim(Work.objects.get(target=audit.id, state=Work.State.QUEUED).id)
    assert held is not None
    supervise_audit.supervise(held, Lease(held, threading.Event()))
    interrupt.forget(held.work_id)  # another test's work may have its number
    audit.refresh_from_db()
    return audit


def page_of(user: User, job: Job, query: str = "") -> str:
    return as_seen_by(user).get(f"/jobs/{job.id}/audit/{query}").content.decode()


def test_not_yet_at_work_failed_and_ready_are_said_apart(job: Job, owner: User) -> None:
    assert "has not been audited yet" in page_of(owner, job)
    client = as_seen_by(owner)
    assert client.post(f"/jobs/{job.id}/audit/").status_code == 302
    waiting = page_of(owner, job)
    assert "waits for its turn" in waiting and 'data-of="audit"' in waiting
    JobAudit.objects.update(status=Status.RUNNING)
    assert "is being audited" in page_of(owner, job)
    client.post(f"/jobs/{job.id}/audit/cancel/")
    assert "cancelled before it came to a verdict" in page_of(owner, job)
    assert not Work.objects.filter(state=Work.State.QUEUED).exists()
    JobAudit.objects.update(status=Status.FAILED, message="The disk is full.")
    assert "The audit failed" in (failed := page_of(owner, job)) and "The disk is full." in failed
    assert audited(job).status == Status.READY
    ready = page_of(owner, job)
    assert f"1 twice: {PRICES[0]} and {PRICES[1]}" in ready and "Audit again" in ready


def test_every_claim_leads_to_what_proves_it(job: Job, owner: User) -> None:
    audited(job)
    client, page = as_seen_by(owner), page_of(owner, job)
    links = {link.replace("&amp;", "&") for link in re.findall(r'href="(/jobs/j_1/(?:evidence|logs)/[^"]+)"', page)}
    assert len(links) >= 4
    for link in links:
        assert "Not in this recording" not in client.get(link, follow=True).content.decode(), link
    proof = client.get("/jobs/j_1/evidence/?of=sink%3Ap.0%2F1%2F0%231").content.decode()
    assert PRICES[1] in proof and PRICES[0] not in proof and "/jobs/j_1/logs/?task=p.0&amp;attempt=1" in proof


def test_evidence_that_is_not_there_or_no_evidence_says_so(job: Job, owner: User) -> None:
    client = as_seen_by(owner)
    gone = client.get("/jobs/j_1/evidence/?of=sink%3Ap.0%2F1%2F0%2399").content.decode()
    assert "Not in this recording" in gone
    for name in ("", "step:4", "outside:x%230", "event:x", "det:p.0/0"):
        assert client.get(f"/jobs/j_1/evidence/?of={name}").status_code == 404
    assert client.get("/jobs/j_1/evidence/?of=log:p.0/0/main/0@0").status_code == 302


def test_claims_are_found_by_words(job: Job, owner: User) -> None:
    audited(job)
    found = page_of(owner, job, "?find=19.904 TWICE")
    assert f"1 twice: {PRICES[0]}" in found and "0 twice, the same" not in found and "fits “19.904 TWICE”" in found
    part = page_of(owner, job, "?find=nothing-like-it&part=sections")
    assert "0 claims fit" in part and "<html" not in part


def test_who_may_not_see_payloads_sees_verdicts_and_places(job: Job, guest: User) -> None:
    audited(job)
    client = as_seen_by(guest)
    told = client.get(f"/api/v1/jobs/{job.id}/audit").json()
    answers = [
        page_of(guest, job),
        (sought := page_of(guest, job, f"?find={PRICES[0][:5]}")),
        json.dumps(told, ensure_ascii=False),
        *(
            client.get(f"/api/v1/jobs/{job.id}/audit/document?format={one}").content.decode()
            for one in ("html", "markdown", "junit", "json")
        ),
        client.get("/jobs/j_1/evidence/?of=sink%3Ap.0%2F1%2F0%231").content.decode(),
    ]
    assert not any(price in answer.replace("\\", "") for price in PRICES for answer in answers)
    assert "0 claims fit" in sought
    assert all("•••" in answer for answer in answers)
    assert (told["report"]["delivery"], told["report"]["good"]) == ("at least once", False)
    assert told["report"]["sections"][1]["claims"][0]["evidence"][0].startswith("sink:p.0/")
    assert not PayloadLook.objects.exists()


def test_the_api_tells_what_the_page_does_and_keeps_the_look(job: Job, owner: User) -> None:
    client = as_seen_by(owner)
    before = client.get(f"/api/v1/jobs/{job.id}/audit")
    assert (before.status_code, before.json()["error"]["code"]) == (404, "no-audit")
    asked = client.post(f"/api/v1/jobs/{job.id}/audit", content_type="application/json")
    assert (asked.status_code, asked.json()["status"], asked.json()["report"]) == (202, "queued", None)
    again = client.post(f"/api/v1/jobs/{job.id}/audit", content_type="application/json")
    assert again.status_code == 409 and "queued already" in again.json()["error"]["message"]
    assert client.post(f"/api/v1/jobs/{job.id}/audit/cancel").json()["status"] == "cancelled"
    audited(job)
    assert not PayloadLook.objects.exists()
    told = client.get(f"/api/v1/jobs/{job.id}/audit").json()
    assert told["status"] == "ready" and PRICES[0] in told["report"]["sentence"] and not told["outdated"]
    assert PayloadLook.objects.count() == 1
    assert client.get(f"/api/v1/jobs/{job.id}/audit/document?format=pdf").status_code == 422


def test_documents_are_files_that_link_to_this_server(job: Job, owner: User) -> None:
    audited(job)
    client = as_seen_by(owner)
    for form, suffix in (("html", "html"), ("markdown", "md"), ("junit", "xml"), ("json", "json")):
        given = client.get(f"/api/v1/jobs/{job.id}/audit/document?format={form}")
        assert given["Content-Disposition"] == f'attachment; filename="audit-j_1.{suffix}"'
        assert PRICES[0] in given.content.decode().replace("\\", "")
        linked = "http://testserver/jobs/j_1/evidence/?of=sink" in given.content.decode()
        assert linked == (form in ("html", "markdown"))


def test_the_jobs_page_shows_the_verdict_in_its_head(job: Job, owner: User) -> None:
    before = as_seen_by(owner).get(f"/jobs/{job.id}/").content.decode()
    assert "badge-link" not in before and f'href="/jobs/{job.id}/audit/"' in before
    audited(job)
    page = as_seen_by(owner).get(f"/jobs/{job.id}/").content.decode()
    head = page.partition("<main")[0]
    assert "at least once</span></a>" in head
    assert (
        f'href="/jobs/{job.id}/audit/" title="What its audit says">at least once</a>'
        in as_seen_by(owner).get("/").content.decode()
    )


def test_a_new_report_takes_the_place_of_the_last_one_and_deletion_takes_all(job: Job, owner: User) -> None:
    first = audited(job).report
    JobAudit.objects.update(version=0)
    assert "made by an earlier version" in page_of(owner, job)
    second = audited(job)
    assert second.report != first and audits.whole_report(second) is not None
    assert {path.name for path in store.audits().iterdir()} == {first, second.report}
    as_seen_by(owner).post(f"/jobs/{job.id}/delete/")
    assert not JobAudit.objects.exists()


def test_a_report_whose_file_is_gone_is_asked_for_again(job: Job, owner: User) -> None:
    (store.audits() / audited(job).report).unlink()
    assert "no longer there" in page_of(owner, job)
    assert as_seen_by(owner).get(f"/api/v1/jobs/{job.id}/audit").json()["report"] is None
