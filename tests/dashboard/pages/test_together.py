"""The page of recoveries that were replayed together: whose step it is, and its task's panels alone."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard import jobs, store
from dashboard.models import Job, Replay, Status
from dashboard.queries.lake import lake
from dashboard.queries.of_task import lanes, of_task, open_orders
from dashboard.queries.replay_overview import state_spans
from dashboard.queries.steps import reading
from ingest.lake.steps import ParquetStepSink
from replay.debugger.replay import replay
from tests.dashboard.pages.conftest import as_seen_by
from tests.ingest.inprocess import ingested_here
from tests.ingest.made import packed
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import Kept, alone, bundle_of

MEMBERS = ("map-1.0@115+map-2.0@115",)


@pytest.fixture
def row(tmp_path: Path, settings: Any, owner: User) -> Iterator[Replay]:
    settings.LAKE_ROOT = tmp_path
    lake.cache_clear()
    files = dict(failing(*MEMBERS, depth=5).members)
    pack = packed(json.loads(files.pop("job.json")), files, tmp_path / "made")
    ingested_here(pack, tmp_path)
    failures = [{"failure": 0, "task": "map-2.0"}, {"failure": 1, "task": "map-1.0"}]
    job = Job.objects.create(
        id="j_1", owner=owner, name="two", status=Status.READY, content_id="0" * 64, facts={"failures": failures}
    )
    store.pack_path(job.id).parent.mkdir(parents=True)
    pack.rename(store.pack_path(job.id))
    made = Replay.objects.create(job=job, owner=owner, failure=0, status=Status.READY)
    sink = ParquetStepSink(store.replay_path(made.id))
    outcome = replay(bundle_of(failing(*MEMBERS, depth=5)), failure=0, sink=sink)
    sink.finish()
    made.verdict, made.sentence, made.detail, made.steps = (
        outcome.verdict,
        outcome.sentence,
        outcome.detail,
        outcome.steps,
    )
    made.save()
    yield made
    lake.cache_clear()


def test_the_panels_tell_of_the_steps_own_task(row: Replay) -> None:
    with reading(row) as written:
        assert {(lane.task, lane.verdict) for lane in lanes(row, written)} == {
            ("map-1.0", "identical"),
            ("map-2.0", "identical"),
        }
        for failure, task in ((0, "map-2.0"), (1, "map-1.0")):
            own = Kept()
            alone(bundle_of(failing(*MEMBERS, depth=5)), failure, sink=own)
            narrowed = of_task(row, written, task)
            assert narrowed.rows("SELECT count(*) FROM steps WHERE actor <> 'coordinator'") == [(len(own.rows),)]
            assert narrowed.rows("SELECT count(*) FROM buffers") == [(len(own.buffers),)]
            state = {one.key: one.value for one in narrowed.state(written.steps - 1, limit=10_000)}
            assert state == own.state_at_the_end()
            entered = [span.state for span in state_spans(narrowed) if span.first_step is not None]
            assert entered == [
                "Standby",
                "WaitingConnections",
                "WaitingDeterminants",
                "Replaying",
                "Running",
            ]


def test_the_page_says_whose_step_it_is_and_leads_to_the_other_task(row: Replay, owner: User) -> None:
    with reading(row) as written:
        marked = open_orders(written, 0, written.steps)
    step = next(one.step for one in marked.values())
    page = as_seen_by(owner).get(f"/replays/{row.id}/?step={step}").content.decode()
    assert "the recording leaves open" in page and "Tasks of this replay" in page
    assert "map-1.0, map-2.0 after failure 0" in page or "map-2.0, map-1.0 after failure 0" in page
    assert page.count("?step=") > 10
    led = as_seen_by(owner).get(f'/replays/{row.id}/?step=0&go=next task = "map-1.0"', follow=True)
    assert led.status_code == 200 and "map-1.0 begins to load the state" in led.content.decode()


def test_together_or_one_of_them_and_how_far(row: Replay, owner: User) -> None:
    client = as_seen_by(owner)
    begun = client.post(
        f"/api/v1/jobs/{row.job_id}/replays", {"failure": 0, "until": "end"}, content_type="application/json"
    )
    assert begun.status_code == 202 and begun.json()["task"] == "" and begun.json()["until"] == "end"
    named = client.post(
        f"/api/v1/jobs/{row.job_id}/replays", {"failure": 0, "task": "map-2.0"}, content_type="application/json"
    )
    assert named.json()["task"] == "map-2.0" and named.json()["until"] == "snapshot"
    wrong = client.post(
        f"/api/v1/jobs/{row.job_id}/replays", {"failure": 0, "until": "never"}, content_type="application/json"
    )
    assert wrong.status_code == 422
    form = {"what": "failure:0:map-2.0", "until": "running", "together": "1"}
    client.post(f"/jobs/{row.job_id}/replays/", form)
    latest = Replay.objects.exclude(id=row.id).order_by("-created_at").first()
    assert latest is not None and (latest.task, latest.until) == ("", "running")
    with pytest.raises(jobs.Refused, match="A hunt follows a recovery to its next snapshot"):
        jobs.start_replay(owner, row.job, failure=0, hunt=True, until="end")
