"""A job's page of replays shows them page by page, each once, the newest first."""

import re
from datetime import UTC, datetime, timedelta

from django.contrib.auth.models import User

from dashboard.models import Job, Replay, Status
from tests.dashboard.pages.conftest import as_seen_by

MANY = 120


def test_replays_are_paged_and_none_is_left_out_or_moved_by_what_is_added(owner: User) -> None:
    job = Job.objects.create(id="j_1", owner=owner, name="one", status=Status.FAILED)
    for n in range(MANY):
        replay = Replay.objects.create(job=job, owner=owner, task=f"map-{n}.0", attempt=0)
        # Three at a time began in one moment.
        Replay.objects.filter(id=replay.id).update(
            created_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=n // 3)
        )
    expected = list(job.replays.values_list("id", flat=True))
    visitor, address, found = as_seen_by(owner), f"/jobs/{job.id}/replays/", []
    while address:
        page = visitor.get(address).content.decode()
        assert f"{MANY + len(found) // 50} replays" in page
        found += re.findall(r'<th scope="row"><a href="/replays/(r_\w+)/', page)
        following = re.search(r'href="(\?before=r_\w+)">Older replays', page)
        address = f"/jobs/{job.id}/replays/{following[1]}" if following else ""
        Replay.objects.create(job=job, owner=owner, task="new.0", attempt=0)
    assert found == expected and 'href="/jobs/j_1/replays/">Newest' in page


def test_a_page_behind_nothing_that_is_known_is_the_first(owner: User) -> None:
    job = Job.objects.create(id="j_1", owner=owner, name="one", status=Status.FAILED)
    Replay.objects.create(job=job, owner=owner, task="map-1.0", attempt=0)
    for before in ("r_gone", "%00", "x" * 5000):
        page = as_seen_by(owner).get(f"/jobs/{job.id}/replays/?before={before}")
        assert page.status_code == 200 and "map-1.0" in page.content.decode()
