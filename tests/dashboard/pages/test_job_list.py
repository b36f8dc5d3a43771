"""The list of jobs: its orders, tags, and what is done with several at once."""

from __future__ import annotations

import random
import re

import pytest
from django.contrib.auth.models import User

from dashboard import tagging
from dashboard.jobs import Refused
from dashboard.models import Job, JobShare, JobTag, LegalHold, Status
from dashboard.models.tags import MOST_TAGS
from dashboard.views.job_order import COLUMNS
from tests.dashboard.pages.conftest import as_seen_by

PLACES = {
    "name": lambda job: job.name.lower(),
    "tasks": lambda job: job.facts.get("tasks", -1),
    "epochs": lambda job: job.facts.get("epochs", -1),
    "determinants": lambda job: job.facts.get("determinants", -1),
    "length": lambda job: job.facts.get("duration_us", -1),
    "bundle": lambda job: job.bytes,
    "added": lambda job: job.created_at,
}


def made(owner: User, rng: random.Random) -> Job:
    names = ("tasks", "epochs", "determinants", "duration_us")
    facts = {name: rng.randrange(4) * 10**9 for name in names} if rng.random() < 0.8 else {}
    name, size = rng.choice(("a", "B", "c", "C 2")), rng.randrange(3)
    return Job.objects.create(owner=owner, name=name, facts=facts, bytes=size, content_id="0" * 64)


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("sign", ["", "-"])
def test_pages_in_every_order_hold_every_job_once(owner: User, column: str, sign: str) -> None:
    rng = random.Random(column)
    jobs = [made(owner, rng) for _ in range(110)]
    client, address, seen = as_seen_by(owner), f"/?sort={sign}{column}", []
    while address:
        page = client.get(address)
        seen += [row["job"].id for row in page.context["rows"]]
        kept, following = page.context["address"], page.context["following"]
        address = f"/?{kept}&before={following}".replace("?&", "?") if following else ""
        assert not address or f'href="{address[1:].replace("&", "&amp;")}"' in page.content.decode()
    by_id = sorted(jobs, key=lambda job: job.id)
    expected = sorted(by_id, key=PLACES[column], reverse=bool(sign))
    assert seen == [job.id for job in expected]


def test_heads_turn_the_order_and_say_how_it_stands(owner: User) -> None:
    Job.objects.create(owner=owner, name="orders", content_id="0" * 64)
    client = as_seen_by(owner)
    page = client.get("/?q=ord").content.decode()
    assert len(re.findall('aria-sort="descending"', page)) == 1 and "newest first" in page
    assert 'href="/?q=ord&amp;sort=-determinants"' in page and 'href="/?q=ord&amp;sort=name"' in page
    page = client.get("/?sort=name").content.decode()
    assert 'href="/?sort=-name"' in page and "newest first" not in page
    assert "newest first" in client.get("/?sort=nonsense").content.decode()


def test_tags_are_words_that_jobs_are_found_by(owner: User) -> None:
    jobs = {name: Job.objects.create(owner=owner, name=name, content_id="0" * 64) for name in ("one", "two")}
    client = as_seen_by(owner)
    chosen = {"job": [job.id for job in jobs.values()], "do": "tag", "tags": " night  shift ,<b>, night shift"}
    assert client.post("/jobs/chosen/?q=one&sort=name", chosen).url == "/?q=one&sort=name"
    assert {tag.name for tag in JobTag.objects.all()} == {"night shift", "<b>"} and JobTag.objects.count() == 4
    client.post("/jobs/chosen/", {"job": jobs["two"].id, "do": "untag", "tags": "night shift, never there"})
    for address in ("/?tag=night+shift", "/?q=NIGHT"):
        page = client.get(address)
        assert [row["job"].name for row in page.context["rows"]] == ["one"], address
    assert "&lt;b&gt;" in page.content.decode() and "<b>" not in page.content.decode()
    assert "none is tagged" in client.get("/?tag=nowhere").content.decode()


@pytest.mark.parametrize("text", ["x" * 41, "a\u202eb", ",".join(f"t{n}" for n in range(MOST_TAGS + 1))])
def test_what_is_no_tag_is_refused_with_words(owner: User, text: str) -> None:
    job = Job.objects.create(owner=owner, name="one", content_id="0" * 64)
    page = as_seen_by(owner).post("/jobs/chosen/", {"job": job.id, "do": "tag", "tags": text}, follow=True)
    assert "has at most" in page.content.decode() and not JobTag.objects.exists()


def test_a_job_never_has_more_tags_than_it_may(owner: User) -> None:
    job = Job.objects.create(owner=owner, name="one", content_id="0" * 64)
    tagging.put_on(job, [f"t{n}" for n in range(MOST_TAGS)])
    with pytest.raises(Refused, match="take some off first"):
        tagging.put_on(job, ["one more"])
    tagging.put_on(job, ["t1"])
    assert job.tags.count() == MOST_TAGS


def test_tags_are_read_and_put_by_the_api(owner: User, guest: User) -> None:
    job = Job.objects.create(owner=owner, name="one", content_id="0" * 64)
    Job.objects.create(owner=owner, name="two", content_id="1" * 64)
    JobShare.objects.create(job=job, user=guest, granted_by=owner)
    client, address = as_seen_by(owner), f"/api/v1/jobs/{job.id}/tags"
    for tags in (["b", "a"], ["c"]):
        answer = client.put(address, {"tags": tags}, content_type="application/json")
        assert answer.status_code == 200 and answer.json()["tags"] == sorted(tags)
    assert [one["id"] for one in client.get("/api/v1/jobs?tag=c").json()["jobs"]] == [job.id]
    for wrong in (["x" * 41], ["a,b"], ["t"] * 21, "t"):
        assert client.put(address, {"tags": wrong}, content_type="application/json").status_code == 422
    other = as_seen_by(guest)
    assert other.put(address, {"tags": []}, content_type="application/json").status_code == 403
    assert other.get(f"/api/v1/jobs/{job.id}").json()["tags"] == ["c"]


def test_what_is_done_with_several_is_done_to_those_it_can_be_done_to(owner: User, guest: User) -> None:
    facts = {"tasks": 1, "epochs": 1, "determinants": 1, "duration_us": 1}
    ready = Job.objects.create(owner=owner, name="ready", status=Status.READY, facts=facts, content_id="0" * 64)
    queued = Job.objects.create(owner=owner, name="queued", content_id="0" * 64)
    others = Job.objects.create(owner=guest, name="of another", content_id="0" * 64)
    unseen = Job.objects.create(owner=guest, name="unseen", content_id="0" * 64)
    JobShare.objects.create(job=others, user=owner, granted_by=guest)
    chosen = [one.id for one in (ready, queued, others, unseen)]
    client = as_seen_by(owner)
    said = client.post("/jobs/chosen/", {"job": chosen, "do": "cancel"}, follow=True).content.decode()
    assert "1 job is cancelled." in said and "unseen" not in said
    assert "“ready”: The job is ready; there is nothing to cancel." in said
    assert "“of another”: only its owner may do this" in said
    states = {job.name: job.status for job in Job.objects.all()}
    assert states == {"ready": "ready", "queued": "cancelled", "of another": "queued", "unseen": "queued"}


def test_deleting_several_asks_once_more_and_leaves_what_is_held(owner: User, guest: User) -> None:
    jobs = [Job.objects.create(owner=owner, name=f"night {n}", content_id="0" * 64) for n in range(3)]
    others = Job.objects.create(owner=guest, name="of another", content_id="0" * 64)
    JobShare.objects.create(job=others, user=owner, granted_by=guest)
    LegalHold.objects.create(job=jobs[0], who="grace", reason="kept")
    client, chosen = as_seen_by(owner), [one.id for one in (*jobs, others)]
    asked = client.post("/jobs/chosen/?sort=name", {"job": chosen, "do": "delete"}).content.decode()
    assert "Delete 3 jobs?" in asked and "of another" not in asked and 'href="/?sort=name"' in asked
    assert Job.objects.count() == 4
    sure = {"job": [one.id for one in jobs], "do": "delete", "sure": "1"}
    said = client.post("/jobs/chosen/", sure, follow=True).content.decode()
    assert "2 jobs are deleted, with their replays." in said and "on legal hold" in said
    assert {job.name for job in Job.objects.all()} == {"night 0", "of another"}


@pytest.mark.parametrize(("many", "said"), [(1, "Two jobs are compared; 1 are chosen."), (3, "3 are chosen.")])
def test_two_are_compared(owner: User, many: int, said: str) -> None:
    jobs = [Job.objects.create(owner=owner, name=f"night {n}", content_id="0" * 64).id for n in range(3)]
    client = as_seen_by(owner)
    assert said in client.post("/jobs/chosen/", {"job": jobs[:many], "do": "compare"}, follow=True).content.decode()
    led = client.post("/jobs/chosen/", {"job": jobs[:2], "do": "compare"}).url
    assert led == f"/compare/?job={jobs[0]}&other_job={jobs[1]}"


@pytest.mark.parametrize("sent", [{}, {"do": "delete"}, {"job": "j_nowhere\0", "do": "tag"}, {"do": "explode"}])
def test_nothing_chosen_is_said(owner: User, sent: dict) -> None:
    assert "Choose jobs first" in as_seen_by(owner).post("/jobs/chosen/", sent, follow=True).content.decode()
