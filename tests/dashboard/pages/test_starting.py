"""Starting a replay by the form, and asking for a causal path: what cannot be is said at once."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages

from dashboard import store
from dashboard.models import Job, Replay, Status
from tests.dashboard.pages.conftest import as_seen_by
from tests.ingest.made import packed
from tests.replay.debugger.recordings import failing


@pytest.fixture
def job(tmp_path: Path, owner: User) -> Job:
    files = dict(failing("map-1.0@115", depth=3).members)
    pack = packed(json.loads(files.pop("job.json")), files, tmp_path / "made")
    facts = {"failures": [{"failure": 0, "task": "map-1.0"}]}
    made = Job.objects.create(id="j_1", owner=owner, name="one", status=Status.READY, content_id="0" * 64, facts=facts)
    store.pack_path(made.id).parent.mkdir(parents=True)
    pack.rename(store.pack_path(made.id))
    return made


HUGE = "9" * 5000


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"what": "attempt", "task": "map-1.0", "attempt": HUGE}, "An attempt is a number: 0 is the first"),
        ({"what": "attempt", "task": "map-1.0", "attempt": str(2**31)}, "An attempt is a number: 0 is the first"),
        ({"what": "attempt", "task": "map-1.0", "attempt": "-1"}, "An attempt is a number: 0 is the first"),
        ({"what": "attempt", "task": "map-1.0", "attempt": ""}, "An attempt is a number: 0 is the first"),
        ({"what": "attempt", "task": "<i>", "attempt": "0"}, "The recording has no task <i>"),
        ({"what": "attempt", "task": "", "attempt": "0"}, "Say which task's attempt to replay."),
        ({"what": f"failure:{HUGE}:map-1.0"}, "Say which failure to replay"),
        ({"what": "failure:x:map-1.0"}, "Say which failure to replay"),
        ({"what": "failure:7:map-1.0"}, "There is no failure 7 in this job"),
        ({"what": "failure:0:map-1.0", "until": "for ever"}, "A replay follows a recovery until one of these"),
        ({}, "An attempt is a number"),
    ],
)
def test_what_cannot_be_replayed_is_said_and_nothing_is_queued(
    job: Job, owner: User, form: dict[str, str], said: str
) -> None:
    answer = as_seen_by(owner).post(f"/jobs/{job.id}/replays/", form)
    assert answer.status_code == 302
    (message,) = get_messages(answer.wsgi_request)
    assert str(message).startswith(said)
    assert not Replay.objects.exists()


def test_an_attempt_of_a_task_that_is_there_is_queued(job: Job, owner: User) -> None:
    as_seen_by(owner).post(f"/jobs/{job.id}/replays/", {"what": "attempt", "task": "map-1.0", "attempt": "0"})
    assert [(one.task, one.attempt, one.failure) for one in Replay.objects.all()] == [("map-1.0", 0, None)]


@pytest.mark.parametrize("task", ["--", "-h", "%00", "nobody", "%F0%9F%8E%88", "map-1.0%20"])
def test_a_causal_path_of_a_task_that_is_not_there_is_not_found(job: Job, owner: User, task: str) -> None:
    answer = as_seen_by(owner).get(f"/api/v1/jobs/{job.id}/paths/{task}")
    assert answer.status_code == 404
    assert "The recording has no task" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [
        (Status.FAILED, "map-1.0 has no attempt 77.", "map-1.0 has no attempt 77. It wrote no step."),
        (Status.CANCELLED, "Cancelled.", "<strong>This replay was cancelled.</strong> It wrote no step."),
        (Status.QUEUED, "", "It waits for its turn."),
    ],
)
def test_a_replay_without_steps_says_why_and_what_was_asked(
    job: Job, owner: User, status: str, message: str, said: str
) -> None:
    made = Replay.objects.create(job=job, owner=owner, task="map-1.0", attempt=77, status=status, message=message)
    page = " ".join(as_seen_by(owner).get(f"/replays/{made.id}/").content.decode().split())
    assert said in page
    assert "What was asked" in page and "attempt 77 of map-1.0" in page and "All replays of one" in page
