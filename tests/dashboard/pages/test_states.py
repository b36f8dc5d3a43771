"""What has no tables (yet) says so, and what to do: four kinds of nothing are four sentences."""

import pytest
from django.contrib.auth.models import User

from dashboard.models import Job, JobShare, Replay, Status, Work
from ingest.lake.schema import SCHEMA_VERSION
from tests.dashboard.pages.conftest import as_seen_by


def job_of(owner: User, status: str, message: str = "") -> Job:
    return Job.objects.create(owner=owner, name="nightly", status=status, message=message, content_id="0" * 64)


SAID = {
    Status.UPLOADING: "Being uploaded",
    Status.QUEUED: "Waiting for its turn",
    Status.RUNNING: "shows them as soon as they are there",
    Status.CANCELLED: "was cancelled before it was read",
    Status.FAILED: "could not be read",
}


@pytest.mark.parametrize("status", SAID)
def test_a_job_without_tables_says_what_it_waits_for(owner: User, status: str) -> None:
    page = as_seen_by(owner).get(f"/jobs/{job_of(owner, status).id}/").content.decode()
    assert SAID[status] in page
    assert [other for other in SAID.values() if other in page] == [SAID[status]]


def test_a_pending_job_can_be_cancelled_and_an_ended_one_tried_again(owner: User) -> None:
    running, failed = job_of(owner, Status.RUNNING), job_of(owner, Status.FAILED, "Spark ran out of memory.")
    client = as_seen_by(owner)
    page = client.get(f"/jobs/{running.id}/").content.decode()
    assert f'action="/jobs/{running.id}/cancel/"' in page
    assert "/retry/" not in page
    page = client.get(f"/jobs/{failed.id}/").content.decode()
    assert "Spark ran out of memory." in page
    assert f'action="/jobs/{failed.id}/retry/"' in page
    assert "/cancel/" not in page


def test_progress_is_on_the_page_before_any_socket_speaks(owner: User) -> None:
    job = job_of(owner, Status.RUNNING)
    Work.objects.create(kind="ingest", target=job.id, state="running", phase="decoding", done=3, total=9, unit="parts")
    for address in (f"/jobs/{job.id}/", "/"):
        page = as_seen_by(owner).get(address).content.decode()
        assert "decoding" in page
        assert "3 of 9 parts" in page
        assert f'data-socket="/ws/jobs/{job.id}/"' in page


def test_who_shares_a_job_sees_it_without_the_owners_buttons(owner: User, guest: User) -> None:
    job = job_of(owner, Status.FAILED)
    client = as_seen_by(guest)
    assert client.get(f"/jobs/{job.id}/").status_code == 404
    JobShare.objects.create(job=job, user=guest, payloads=True)
    page = client.get(f"/jobs/{job.id}/").content.decode()
    assert "could not be read" in page
    assert "/retry/" not in page
    assert "/delete/" not in page
    for action in ("retry", "cancel", "delete"):
        assert client.post(f"/jobs/{job.id}/{action}/").status_code == 403
    assert Job.objects.filter(id=job.id).exists()


def test_strangers_and_the_signed_out_see_nothing(owner: User, guest: User, client) -> None:
    job = job_of(owner, Status.FAILED)
    replay = Replay.objects.create(job=job, owner=owner, task="map.0", failure=0)
    pages = [f"/jobs/{job.id}/{page}" for page in ("", "logs/", "paths/", "spacetime/")]
    for address in (*pages, f"/replays/{replay.id}/"):
        assert as_seen_by(guest).get(address).status_code == 404
        assert client.get(address).headers["Location"].startswith("/login/")


def test_deleting_asks_first(owner: User) -> None:
    job = job_of(owner, Status.FAILED)
    client = as_seen_by(owner)
    assert "cannot be undone" in client.get(f"/jobs/{job.id}/delete/").content.decode()
    assert Job.objects.filter(id=job.id).exists()
    page = client.post(f"/jobs/{job.id}/delete/", follow=True).content.decode()
    assert "has been deleted" in page
    assert not Job.objects.filter(id=job.id).exists()


def test_what_cannot_be_done_is_refused_in_a_sentence(owner: User) -> None:
    job = job_of(owner, Status.FAILED)
    page = as_seen_by(owner).post(f"/jobs/{job.id}/cancel/", follow=True).content.decode()
    assert "there is nothing to cancel" in page
    page = as_seen_by(owner).post(f"/jobs/{job.id}/replays/", {"what": "failure:0:map.0"}, follow=True).content.decode()
    assert "a replay needs its tables" in page


def test_the_first_page_of_nobody_who_has_nothing_says_what_to_do(owner: User) -> None:
    page = as_seen_by(owner).get("/").content.decode()
    assert "No recordings yet" in page
    assert "manage.py record" in page


def test_older_jobs_are_a_page_away_and_none_is_lost_between(owner: User) -> None:
    made = [job_of(owner, Status.CANCELLED).id for _ in range(53)]
    client = as_seen_by(owner)
    first = client.get("/")
    following = first.context["following"]
    seen = [row["job"].id for row in first.context["rows"]]
    job_of(owner, Status.CANCELLED)  # a new job moves nothing on the older page
    seen += [row["job"].id for row in client.get(f"/?before={following}").context["rows"]]
    assert sorted(seen) == sorted(made)


REPLAYS = {
    Status.QUEUED: ("It waits for its turn", "cancel"),
    Status.RUNNING: ("within a second", "cancel"),
    Status.FAILED: ("This replay failed.", "retry"),
    Status.CANCELLED: ("This replay was cancelled.", "retry"),
}


@pytest.mark.parametrize("status", REPLAYS)
def test_a_replay_without_steps_says_why_and_what_to_do(owner: User, status: str) -> None:
    job = job_of(owner, Status.READY)
    replay = Replay.objects.create(job=job, owner=owner, task="map.0", attempt=0, status=status)
    page = as_seen_by(owner).get(f"/replays/{replay.id}/").content.decode()
    sentence, action = REPLAYS[status]
    assert sentence in page
    assert f'action="/replays/{replay.id}/{action}/"' in page


def test_names_from_a_bundle_are_text_and_never_markup(owner: User) -> None:
    job = job_of(owner, Status.FAILED, "<script>alert(1)</script>")
    Job.objects.filter(id=job.id).update(name="<img src=x onerror=alert(1)>")
    for address in ("/", f"/jobs/{job.id}/", f"/jobs/{job.id}/delete/"):
        page = as_seen_by(owner).get(address).content.decode()
        assert "<img src=x" not in page
        assert "<script>alert" not in page


def test_tables_that_are_gone_are_told_and_not_a_broken_page(owner: User) -> None:
    job = job_of(owner, Status.READY)
    Job.objects.filter(id=job.id).update(schema_version=SCHEMA_VERSION)
    for address in (f"/jobs/{job.id}/", f"/jobs/{job.id}/logs/"):
        answer = as_seen_by(owner).get(address)
        assert answer.status_code == 409
        assert "is not in the lake" in answer.content.decode()
