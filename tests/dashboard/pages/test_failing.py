"""What if these fail: on its page and in the API, from a job's tables; asked wrongly, it says how to ask."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dashboard.models import Job
from replay.guarantees.recoverability.failing import Failing, failing_section
from replay.guarantees.recoverability.of_bundle import BundleCausality
from tests.dashboard.pages.conftest import as_seen_by
from tests.ingest.test_causal_tables import packed
from tests.replay.debugger.worlds import bundle_of, world_of

SEED = 1
"""A world of depth 1, where many failures are one too many."""
AT_MS = 380


@pytest.fixture
def job(tmp_path: Path, shelved: Callable[[Path], Job]) -> Job:
    packed(SEED, tmp_path)
    return shelved(tmp_path / "bundle")


def test_page_and_api_say_what_the_recording_does(job: Job, owner: User) -> None:
    causality = BundleCausality(bundle_of(world_of(SEED)[1]))
    client, orphaned = as_seen_by(owner), 0
    for task in causality.graph.tasks:
        expected = failing_section(causality, Failing(AT_MS * 1_000, frozenset({task.id}), "task", False))
        query = f"failed={task.id}&at_ms={AT_MS}"
        told = client.get(f"/api/v1/jobs/{job.id}/audit/failing?{query}&outside=false").json()
        assert (told["verdict"], told["sentence"]) == (expected.verdict, expected.sentence)
        assert told["numbers"]["orphaned"] == expected.numbers["orphaned"]
        page = client.get(f"/jobs/{job.id}/audit/failing/?{query}").content.decode()
        assert expected.sentence in page and f'value="{task.id}"' in page
        orphaned += len(expected.claims)
    assert orphaned > 4
    assert "/logs/?task=" in client.get(page_link(page), follow=False).headers["Location"]


def page_link(page: str) -> str:
    at = page.index("/jobs/j_1/evidence/")
    return page[at : page.index('"', at)].replace("&amp;", "&")


def test_asked_wrongly_it_says_how(job: Job, owner: User) -> None:
    client = as_seen_by(owner)
    for query, why in (
        ("failed=nobody.0&at_ms=1", "There is no task “nobody.0”"),
        ("failed=map-1.0&at_ms=x", "names no failures at a moment"),
        ("failed=host-99&at_ms=1&by=host", "There is no host “host-99”"),
        ("failed=a%00b&at_ms=1", "There is no task “a\\x00b”"),
        (f"failed=map-1.0&at_ms={'9' * 400}", "names no failures at a moment"),
    ):
        page = client.get(f"/jobs/{job.id}/audit/failing/?{query}").content.decode()
        assert why in page and "Ask</button>" in page
    nobody = client.get(f"/api/v1/jobs/{job.id}/audit/failing?failed=,&at_ms=1")
    assert nobody.status_code == 422 and "no task is named that fails" in nobody.json()["error"]["message"]
    answer = client.get(f"/api/v1/jobs/{job.id}/audit/failing?failed=nobody.0&at_ms=1")
    assert answer.status_code == 422 and answer.json()["error"]["code"] == "bad-failures"
