"""Recovery anatomy: its sentences, its table, what lacks; the audit's model under its sliders, on page and API."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import Job
from dashboard.queries.anatomy import Otherwise, otherwise
from dashboard.recovery_words import said
from replay.bundle.reader import open_bundle
from replay.guarantees.recovery_time import what_if
from replay.guarantees.recovery_time.anatomy import anatomy
from replay.jobs.options import RecordOptions
from replay.simulation.replays import recorded
from tests.dashboard.pages.conftest import as_seen_by


def written(folder: Path, **options: Any) -> Path:
    members = recorded(RecordOptions(events=2_500, seed=5, **options)).members
    for name in members.names():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(members.read(name))
    return folder


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return written(tmp_path / "bundle", depth=4, kills=("map-1.0@900+map-2.0@900",))


def test_checkpoints_are_listed_and_one_is_taken_apart(
    bundle: Path, shelved: Callable[[Path], Job], owner: User
) -> None:
    with open_bundle(bundle) as opened:
        acknowledged = [event for event in opened.events() if event["type"] == "checkpoint-acknowledged"]
    job, client = shelved(bundle), as_seen_by(owner)
    number = acknowledged[0]["checkpoint"]
    page = client.get(f"/jobs/{job.id}/").content.decode()
    assert f'checkpoint={number}#checkpoints"' in page and 'id="shares-title"' not in page
    answer = client.get(f"/jobs/{job.id}/?checkpoint={number}")
    parts = {share.task: share for share in answer.context["shares"]}
    assert set(parts) == {event["task"] for event in acknowledged if event["checkpoint"] == number}
    assert parts["source.0"].aligned_us is None, "no barrier comes to a source"
    assert parts["sink.0"].aligned_us is not None and parts["sink.0"].stored_us is not None
    assert "What tasks spent on checkpoint" in answer.content.decode()
    none = client.get(f"/jobs/{job.id}/?checkpoint=999999").content.decode()
    assert "The recording has no such checkpoint." in none


def told_of(path: Path) -> dict[str, Any]:
    with open_bundle(path) as opened:
        return anatomy(opened)


def test_page_api_and_model_say_the_same(bundle: Path, shelved: Callable[[Path], Job], owner: User) -> None:
    told, client = told_of(bundle), as_seen_by(owner)
    job = shelved(bundle)
    page = client.get(f"/jobs/{job.id}/recovery/").content.decode()
    for line in said(told["groups"][0]):
        assert f"<p>{line}</p>" in page
    assert "critical path" in page and "(3.1)" in page and 'id="anatomy-data"' in page
    assert client.get(f"/api/v1/jobs/{job.id}/recovery").json() == told
    query = "interval_ms=200&load=0.5&rtt_us=4000&standby=false"
    answer = client.get(f"/api/v1/jobs/{job.id}/recovery/what-if?{query}&target_ms=900").json()
    assert answer["asked"] == what_if(told["known"], interval_ms=200, load=0.5, rtt_us=4000, standby=False)
    assert answer["target"]["mean_interval_us"] > 0 and answer["recorded"] == told["model"]
    part = client.get(f"/jobs/{job.id}/recovery/?part=otherwise&{query.replace('false', 'no')}").content.decode()
    assert "equation 3.2" in part and "so it counts as 0 here" in part and "<html" not in part
    assert_bent_links_open(client, job)
    links_lead_here(client, job)


def assert_bent_links_open(client: Client, job: Job) -> None:
    for query in ("failure=99", "lane=nobody/7", "load=nan&interval_ms=-3", "load=1e99", "part=x", "from=9&to=1"):
        assert client.get(f"/jobs/{job.id}/recovery/?{query}").status_code == 200, query
    assert client.get(f"/api/v1/jobs/{job.id}/recovery/what-if?load=2").status_code == 422


def links_lead_here(client: Client, job: Job) -> None:
    page = client.get(f"/jobs/{job.id}/").content.decode()
    assert f'href="/jobs/{job.id}/recovery/?failure=0"' in page and f'href="/jobs/{job.id}/recovery/"' in page


def test_where_nothing_failed_it_says_so_and_asks_for_what_nobody_told(
    tmp_path: Path, shelved: Callable[[Path], Job], owner: User
) -> None:
    job = shelved(written(tmp_path / "whole"))
    client = as_seen_by(owner)
    page = client.get(f"/jobs/{job.id}/recovery/").content.decode()
    assert "Nothing failed" in page and "The recording does not tell the load" in page
    page = client.get(f"/jobs/{job.id}/recovery/?load=0.5").content.decode()
    assert "A recovery would take" in page


def test_without_what_it_takes_there_is_no_model() -> None:
    told = {"known": {"standby": True}, "model": None}
    assert otherwise(told, Otherwise())["missing"] == ["interval_us", "load"]
    assert otherwise(told, Otherwise(load=0.5))["missing"] == ["interval_us"]
    found = otherwise(told, Otherwise(load=0.5, interval_ms=1000))
    assert found["asked"]["equation_us"] == 250_000


def lane(**fields: Any) -> dict[str, Any]:
    plain = {
        "failure": 0, "task": "join.2", "attempt": 1, "begun_us": 5_200_000, "standby": True, "rolled_back": False,
        "rollback": None, "checkpoint": 3, "parts": {}, "done_us": None, "caught_up_us": None, "ended_us": None,
        "ended_by": "", "lacking": "",
    }  # fmt: skip
    return plain | fields


def sentence(*lanes: dict[str, Any]) -> str:
    return " ".join(said({"lanes": list(lanes), "path": []}))


def test_a_recovery_is_told_part_by_part() -> None:
    parts = {"detection": 100_000, "start": 0, "download": 0, "connect": 2_000, "ask": 1_000, "replay": 797_000}
    whole = lane(parts=parts, done_us=6_100_000, caught_up_us=6_150_000)
    assert sentence(whole) == (
        "join.2 failed at 5.200 s; noticed after 100 ms. The standby took over at once, was connected after 2 ms, "
        "had its determinants after 1 ms, replayed for 797 ms. All that was lost was done again 900 ms after the "
        "failure. 50 ms later nothing waited any more."
    )


def test_what_the_recording_does_not_tell_is_named() -> None:
    text = sentence(lane(parts={"detection": 100_000}, lacking="events.ndjson: attempt-started"))
    assert text.endswith("can't be said: the recording lacks events.ndjson: attempt-started.")
    text = sentence(lane(parts={"detection": 1_000, "start": 0}, ended_by="rollback", ended_us=5_300_000))
    assert text.endswith("A rollback ended that at 5.300 s, before it was done.")
