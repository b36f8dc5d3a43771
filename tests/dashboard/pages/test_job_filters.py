"""Finding jobs on the first page: by words, by what became of them; the choice stays in the address of each page."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.models import Job, JobAudit, JobShare, Status
from dashboard.models.audits import audit_id
from dashboard.models.status import PENDING
from dashboard.views.job_filters import KINDS
from tests.dashboard.pages.conftest import as_seen_by

NAMES = ("orders", "Orders of the night", "clicks", "100% of clicks", "prices_eu", "Straße")


def made(owner: User, rng: random.Random) -> Job:
    failures = [{"failure": 0, "task": "map.0"}] if rng.random() < 0.4 else []
    facts: dict[str, Any] = {"tasks": 1, "epochs": 1, "determinants": 1, "duration_us": 1, "failures": failures}
    job = Job.objects.create(
        owner=owner, name=rng.choice(NAMES), status=rng.choice(Status.values), facts=facts, content_id="0" * 64
    )
    if rng.random() < 0.5:
        good = rng.choice((True, False, None))
        verdict = rng.choice(("undecided", "at least once")) if good is False else ""
        JobAudit.objects.create(id=audit_id(job.id), job=job, good=good, verdict=verdict, status=Status.READY)
    return job


def fits(job: Job, owner: User, words: str, kind: str) -> bool:
    """The same said plainly."""
    audit = JobAudit.objects.filter(job=job).first()
    of_kind = {
        "": True,
        "pending": job.status in PENDING,
        "faulty": job.status in ("failed", "cancelled", "ready-partial"),
        "failures": bool(job.facts.get("failures")),
        "wrong": audit is not None and audit.good is False and audit.verdict != "undecided",
        "shared": job.owner_id != owner.pk,
    }
    texts = (job.name.lower(), job.owner.username.lower())
    return of_kind[kind] and all(
        any(word.lower() in text for text in texts) or job.id.startswith(word) for word in words.split()
    )


@pytest.mark.parametrize("seed", range(2))
def test_what_is_found_is_what_fits(owner: User, guest: User, seed: int) -> None:
    rng = random.Random(seed)
    jobs = [made(rng.choice((owner, guest)), rng) for _ in range(30)]
    for job in jobs:
        if job.owner == guest:
            JobShare.objects.create(job=job, user=owner, granted_by=guest)
    client = as_seen_by(owner)
    questions = ["", "ORDERS night", "click 100%", "_", "grace", jobs[0].id[:6], "nowhere"]
    for words in questions:
        for kind in ("", *KINDS):
            page = client.get("/", {"q": words, "show": kind})
            found = {row["job"].id for row in page.context["rows"]}
            expected = {job.id for job in jobs if fits(job, owner, words, kind)}
            assert found == expected, f"seed {seed}: {words!r}, {kind!r}"
            assert page.context["fitting"] == len(expected)


def test_older_pages_keep_the_choice_and_lose_none(owner: User) -> None:
    wanted = [Job.objects.create(owner=owner, name=f"a & b {n}", content_id="0" * 64).id for n in range(120)]
    for n in range(20):
        Job.objects.create(owner=owner, name=f"other {n}", content_id="0" * 64)
    client, address, seen = as_seen_by(owner), "/?q=a+%26&show=pending", []
    while address:
        page = client.get(address)
        seen += [row["job"].id for row in page.context["rows"]]
        following = page.context["following"]
        address = f"/?{page.context['wanted'].address}&before={following}" if following else ""
        assert not address or address.replace("&", "&amp;") in f"/{page.content.decode()}".replace(
            'href="?', 'href="/?'
        )
    assert sorted(seen) == sorted(wanted)


def test_nothing_that_fits_is_said_with_the_way_out(owner: User) -> None:
    Job.objects.create(owner=owner, name="orders", content_id="0" * 64)
    page = as_seen_by(owner).get("/", {"q": "<b>nowhere</b>", "show": "nonsense"}).content.decode()
    assert "Nothing fits" in page and "&lt;b&gt;nowhere&lt;/b&gt;" in page and "Of 1 recording none has" in page
    assert "No recordings yet" not in page
