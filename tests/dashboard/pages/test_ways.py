"""From each page of a recording the ways to all its pages: the same everywhere, and the page one is at is marked."""

import re

from django.contrib.auth.models import User

from dashboard.models import Job
from dashboard.templatetags.ways import PAGES
from tests.dashboard.pages.conftest import as_seen_by

ADDRESSES = {
    "job": "/jobs/{job}/",
    "logs": "/jobs/{job}/logs/",
    "paths": "/jobs/{job}/paths/",
    "job-recovery": "/jobs/{job}/recovery/",
    "spacetime": "/jobs/{job}/spacetime/",
    "job-audit": "/jobs/{job}/audit/",
    "job-replays": "/jobs/{job}/replays/",
    "sql": "/jobs/{job}/sql/",
}
AND_MORE = ("/jobs/{job}/sharing/", "/jobs/{job}/evidence/?of=event:1", "/compare/?job={job}")
NAV = re.compile(r'<nav class="ways".*?</nav>', re.DOTALL)
WAY = re.compile(r'<a href="([^"]*)"( aria-current="page")?>([^<]*)</a>')


def ways_of(shown: str) -> list[tuple[str, bool, str]]:
    return [(to, bool(here), words) for to, here, words in WAY.findall("".join(NAV.findall(shown)))]


def test_every_page_has_the_same_ways_and_marks_itself(job: Job, owner: User) -> None:
    client = as_seen_by(owner)
    for name, address in ADDRESSES.items():
        ways = ways_of(client.get(address.format(job=job.id)).content.decode())
        assert [words for _, _, words in ways] == [words for _, words in PAGES], name
        assert [to.partition("?")[0] for to, _, _ in ways] == [one.format(job=job.id) for one in ADDRESSES.values()]
        assert [to.partition("?")[0] for to, here, _ in ways if here] == [address.format(job=job.id)]
    for address in AND_MORE:
        ways = ways_of(client.get(address.format(job=job.id)).content.decode())
        assert len(ways) == len(PAGES) and not any(here for _, here, _ in ways), address


def test_the_task_one_reads_of_is_shown_where_one_goes(job: Job, owner: User) -> None:
    shown = as_seen_by(owner).get(f"/jobs/{job.id}/logs/", {"task": "map-1.0", "attempt": "1"}).content.decode()
    to = {words: to for to, _, words in ways_of(shown)}
    assert to["Causal paths"].endswith("/paths/?task=map-1.0&amp;attempt=1")
    assert to["Overview"].endswith("/?task=map-1.0") and to["SQL"].endswith("/sql/")


def test_what_has_no_tables_has_no_pages_either(job: Job, owner: User) -> None:
    Job.objects.filter(id=job.id).update(status="failed")
    assert not ways_of(as_seen_by(owner).get(f"/jobs/{job.id}/").content.decode())
