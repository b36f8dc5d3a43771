"""A job's page says whether every output was given once: with the outputs, the line and the attempts that prove it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dashboard.models import Job, JobShare, PayloadLook
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


def test_it_shows_what_went_out_twice_and_the_line_that_made_it_differ(job: Job, owner: User) -> None:
    page = as_seen_by(owner).get(f"/jobs/{job.id}/").content.decode()
    assert "p.0 gave the outputs of 2 source records to the outside more than once, 1 of them not the same" in page
    assert f"1 twice: {PRICES[0]} and {PRICES[1]}" in page and "0 twice, the same" in page
    assert "clonoscope.external(look_up, price)" in page and f"the call look_up gave {PRICES[1]}" in page
    assert "/compare/?job=j_1&amp;task=p.0&amp;attempt=0&amp;other_attempt=1" in page
    assert ">at least once</span>" in as_seen_by(owner).get("/").content.decode()


def test_who_may_not_see_payloads_sees_how_often_and_where(job: Job, guest: User) -> None:
    client = as_seen_by(guest)
    page = client.get(f"/jobs/{job.id}/").content.decode()
    told = client.get(f"/api/v1/jobs/{job.id}").json()
    assert not any(price in text for price in PRICES for text in (page, str(told)))
    assert "more than once, 1 of them not the same" in page and "•••" in page
    assert told["delivery"]["verdict"] == "at least once" and told["delivery"]["twice"][0]["said"] == "•••"
    assert told["delivery"]["choices"][0]["said"] == ["•••", "•••"] and not PayloadLook.objects.exists()


def test_the_api_tells_it_with_the_job_and_keeps_the_look(job: Job, owner: User) -> None:
    client = as_seen_by(owner)
    (listed,) = client.get("/api/v1/jobs").json()["jobs"]
    assert not any(price in str(listed) for price in PRICES) and not PayloadLook.objects.exists()
    told = client.get(f"/api/v1/jobs/{job.id}").json()["delivery"]
    assert told["twice"][0]["said"] == f"1 twice: {PRICES[0]} and {PRICES[1]}" and PayloadLook.objects.count() == 1
