"""The page of recoveries that were replayed together: whose step it is, and its task's panels alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard import jobs, replaying, store
from dashboard.models import Job, Replay, Status
from dashboard.queries.of_task import TaskLane, around, lanes, of_task, open_orders, window
from dashboard.queries.replay_overview import state_spans
from dashboard.queries.steps import reading
from dashboard.queries.task_strip import LANES_SHOWN, shown_lanes, task_strip
from ingest.lake.steps import ParquetStepSink
from replay.debugger.replay import replay
from tests.dashboard.pages.conftest import as_seen_by
from tests.ingest.inprocess import ingested_here
from tests.ingest.made import packed
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import Kept, alone, bundle_of

MEMBERS = ("map-1.0@115+map-2.0@115",)


@pytest.fixture
def row(tmp_path: Path, settings: Any, owner: User) -> Replay:
    settings.LAKE_ROOT = tmp_path
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
    return made


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


def test_the_strip_has_a_lane_for_each_task_and_leaves_no_step_out(row: Replay, owner: User) -> None:
    client = as_seen_by(owner)
    with reading(row) as written:
        steps = written.between(0, written.steps)
    for first, end in ((0, len(steps)), (40, 300), (len(steps) - 30, len(steps) + 50)):
        told = client.get(f"/replays/{row.id}/strip/?from={first}&to={end}").json()
        assert [one["task"] for one in told["lanes"]] == ["map-1.0", "map-2.0"]
        for number, lane in enumerate(told["lanes"]):
            its = [one["step"] for one in steps[first:end] if one["task"] == lane["task"]]
            bins = [one for one in told["bins"] if one["lane"] == number]
            assert sum(one["steps"] for one in bins) == len(its) > 0
            assert min(one["first"] for one in bins) == its[0]
            entered = [one for one in told["marks"] if one["lane"] == number]
            assert {one["step"] for one in entered} <= set(its)
            assert len(entered) <= 5
    alone = client.get(f"/replays/{row.id}/strip/?task=map-2.0").json()
    assert "lanes" not in alone
    assert sum(one["steps"] for one in alone["bins"]) == sum(one["task"] == "map-2.0" for one in steps)
    assert "lanes" in client.get(f"/replays/{row.id}/strip/?task=nobody").json()


def test_tasks_for_which_there_is_no_room_share_a_lane_and_are_counted(row: Replay) -> None:
    many = [TaskLane(f"map.{number}", number, number, 1, "identical") for number in range(50)]
    many[44] = TaskLane("map.44", 44, 44, 1, "diverged")
    shown = shown_lanes(many)
    assert len(shown) == LANES_SHOWN - 1 and shown[-1] == "map.44" and shown[:3] == ["map.0", "map.1", "map.2"]
    assert shown_lanes(many[:LANES_SHOWN]) == [lane.task for lane in many[:LANES_SHOWN]]
    with reading(row) as written:
        told = task_strip(written, many)
    assert told["lanes"][-1] == {"more": 50 - len(shown)}
    assert {one["lane"] for one in told["bins"]} == {len(shown)}, "steps of none of these stand in the shared lane"
    assert sum(one["steps"] for one in told["bins"]) == told["steps"]


def test_a_list_of_one_task_holds_its_steps_alone_wherever_the_cursor_is(row: Replay, owner: User) -> None:
    client = as_seen_by(owner)
    with reading(row) as written:
        steps = written.between(0, written.steps)
        for lane in lanes(row, written):
            its = [one["step"] for one in steps if one["task"] == lane.task]
            assert [one["step"] for one in window(written, lane.task, 7, 20)] == its[7:27]
            for step in (0, its[0], its[9], steps[-40]["step"], steps[-1]["step"]):
                first, shown = around(written, lane, step, 11)
                assert [one["step"] for one in shown] == its[first : first + 11]
                assert len(shown) == 11 and (shown[0]["step"] <= step or first == 0)
    page = client.get(f"/replays/{row.id}/?step=40&task=map-2.0").content.decode()
    assert "Steps of map-2.0 around it" in page and f'data-total="{len(its)}"' in page
    rows = client.get(f"/replays/{row.id}/rows/steps/?step=40&task=map-2.0&from=3&count=5").content.decode()
    assert [f'data-step="{step}"' in rows for step in its[3:8]] == [True] * 5 and rows.count("data-step") == 5
    for wrong in ("nobody", "map-2.0%00", "%27%22", "x" * 5000):
        assert "Steps around it" in client.get(f"/replays/{row.id}/?step=40&task={wrong}").content.decode()
        assert client.get(f"/replays/{row.id}/rows/steps/?task={wrong}&from=0").status_code == 200


def test_without_scripts_the_steps_of_one_task_are_walked_along(row: Replay, owner: User) -> None:
    client = as_seen_by(owner)
    with reading(row) as written:
        its = [one["step"] for one in written.between(0, written.steps) if one["task"] == "map-1.0"]
    led = client.get(f"/replays/{row.id}/", {"step": its[4], "task": "map-1.0", "go": 'next task = "map-1.0"'})
    assert led.status_code == 302 and led["Location"].endswith(f"?step={its[5]}&task=map-1.0")
    page = client.get(led["Location"]).content.decode()
    assert "go=next%20task%20%3D%20%22map-1.0%22" in page


def test_the_form_asks_for_the_task_and_the_attempt_before_how(row: Replay, owner: User) -> None:
    page = as_seen_by(owner).get(f"/jobs/{row.job_id}/replays/").content.decode()
    fields = ['name="task"', 'name="attempt"', 'name="on_divergence"', 'name="hunt"', "Start the replay"]
    assert sorted(fields, key=page.index) == fields


def test_where_a_replay_was_cancelled_nothing_more_is_promised(row: Replay, owner: User) -> None:
    folder = store.replay_path(row.id)
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_bytes()) | {"complete": False}))
    client = as_seen_by(owner)
    for status, said in ((Status.RUNNING, "still being written"), (Status.CANCELLED, "ended before its end, with")):
        Replay.objects.filter(id=row.id).update(status=status)
        told = client.get(f"/api/v1/replays/{row.id}/go?step=3&to=previous divergence&lenient=true").json()
        assert told["step"] is None and said in told["why"]
        page = client.get(f"/replays/{row.id}/?step=3&go=continue", follow=True).content.decode()
        assert said in page


def test_a_command_names_whose_failure_was_asked_for() -> None:
    tasks = [{"task": "map-1.0", "failure": 0}, {"task": "sink.1", "failure": 1}]
    assert replaying.whose(Replay(task="", failure=1, detail={"tasks": tasks})) == "sink.1"
    assert replaying.whose(Replay(task="map-1.0", failure=1, detail={"tasks": tasks})) == "map-1.0"
