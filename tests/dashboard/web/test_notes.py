"""Notes on steps: who may write what where, what they may say, and that all who watch are told at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from websockets.sync.client import ClientConnection

from dashboard import notes, store
from dashboard.api.notes import note_out
from dashboard.jobs import Refused
from dashboard.models import Job, JobShare, Note, Replay
from dashboard.models.notes import MOST_NOTES, MOST_TEXT
from dashboard.problems import Problem
from ingest.lake.steps import ParquetStepSink
from replay.debugger.ports import StepRow, step_of
from tests.dashboard.pages.conftest import as_seen_by
from tests.dashboard.web.server import Person, RealServer
from tests.dashboard.web.test_sockets import ARRANGE, socket

STEPS = 50


def written(folder: Path, *, finish: bool = True) -> ParquetStepSink:
    sink = ParquetStepSink(folder)
    for n in range(STEPS):
        row = StepRow(n, "map-1.0", "main", "append", "Replaying", 0, n, n, None, None, None, None, None, f"S {n}.")
        sink.step(step_of(row))
    if finish:
        sink.finish()
    else:
        sink._write_chunk()
    return sink


@pytest.fixture
def replay(sqlite: str, settings: Any, tmp_path: Path) -> Replay:
    settings.LAKE = tmp_path / "lake"
    owner, guest = User.objects.create_user("owner"), User.objects.create_user("guest")
    job = Job.objects.create(owner=owner, name="a job", content_id="c" * 64, bytes=1)
    JobShare.objects.create(job=job, user=guest, granted_by=owner, payloads=True)
    replay = Replay.objects.create(job=job, owner=owner, task="map-1.0", failure=0)
    written(store.replay_path(replay.id))
    return replay


def test_notes_stand_in_the_order_of_their_steps(replay: Replay) -> None:
    for first, last, text in ((30, None, "late"), (2, 40, "a range"), (2, None, "a step")):
        notes.add(replay, replay.owner, text, first, last)
    kept = [(one.text, one.first, one.last) for one in notes.of(replay)]
    assert kept == [("a range", 2, 40), ("a step", 2, 2), ("late", 30, 30)]


@pytest.mark.parametrize(("first", "last", "told"), [
    (5, 4, "last: step 4 lies before step 5"),
    (STEPS, None, f"There is no step {STEPS}: {STEPS} are written so far."),
    (0, 2**53, f"There is no step {2**53}"),
])  # fmt: skip
def test_a_note_is_on_steps_that_are_there(replay: Replay, first: int, last: int | None, told: str) -> None:
    with pytest.raises(Problem) as problem:
        notes.add(replay, replay.owner, "here", first, last)
    assert told in problem.value.message
    kept = notes.add(replay, replay.owner, "here", 1)
    with pytest.raises(Problem):
        notes.change(kept, first=first, last=last)
    kept.refresh_from_db()
    assert (kept.first, kept.last) == (1, 1)


@pytest.mark.parametrize(("text", "kept"), [
    ("  two\r\nlines\t here \n", "two\nlines  here"),
    ("no\x00thing \ud800 unseen\u202e", "no\ufffdthing \ufffd unseen\ufffd"),
    ("x" * MOST_TEXT, "x" * MOST_TEXT),
    ("<script>alert(1)</script>", "<script>alert(1)</script>"),
])  # fmt: skip
def test_a_text_is_kept_as_a_page_can_show_it(replay: Replay, text: str, kept: str) -> None:
    note = notes.add(replay, replay.owner, text, 0)
    note.refresh_from_db()
    assert note.text == kept
    page = as_seen_by(replay.owner).get(f"/replays/{replay.id}/notes/").content.decode()
    assert "<script>" not in page


@pytest.mark.parametrize("text", ["", " \n\t ", "x" * (MOST_TEXT + 1)])
def test_a_note_says_something_and_not_too_much(replay: Replay, text: str) -> None:
    with pytest.raises(Problem, match="text: a note"):
        notes.add(replay, replay.owner, text, 0)
    assert notes.of(replay) == []


def test_a_replay_keeps_so_many_notes_and_says_so(replay: Replay) -> None:
    Note.objects.bulk_create(
        Note(replay=replay, author=replay.owner, first=0, last=0, text="x") for _ in range(MOST_NOTES)
    )
    with pytest.raises(Refused, match=f"at most {MOST_NOTES} notes"):
        notes.add(replay, replay.owner, "one more", 0)


def test_the_list_has_forms_for_its_author_alone(replay: Replay) -> None:
    note = notes.add(replay, replay.owner, "<b>here</b>", 7, 9)
    guest = User.objects.get(username="guest")
    its = as_seen_by(replay.owner).get(f"/replays/{replay.id}/notes/?step=8").content.decode()
    theirs = as_seen_by(guest).get(f"/replays/{replay.id}/notes/?step=8").content.decode()
    for page in (its, theirs):
        assert "&lt;b&gt;here&lt;/b&gt;" in page and "steps 7 to 9" in page and 'aria-current="true"' in page
    assert "csrfmiddlewaretoken" in its and "Delete the note" in its
    assert "csrfmiddlewaretoken" not in theirs and "Delete the note" not in theirs and "<button" not in theirs
    assert note_out(note, guest)["mine"] is False and note_out(note, replay.owner)["mine"] is True


# --- a real server, and sockets ---


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    running = RealServer(tmp_path_factory.mktemp("notes") / "data")
    running.start()
    yield running
    running.stop()


def told(connection: ClientConnection) -> Any:
    return json.loads(connection.recv(timeout=20))


def watched(server: RealServer) -> tuple[dict[str, Person], str]:
    people = server.people(owner=None, shared=None, other=None)
    return people, str(json.loads(server.run(ARRANGE))["replay_id"])


def test_what_one_changes_all_who_watch_are_told(server: RealServer) -> None:
    people, replay = watched(server)
    written(server.data / "lake" / "replays" / replay)
    path, api = f"/ws/replays/{replay}/", f"/api/v1/replays/{replay}"
    with (
        socket(server, path, people["owner"].bearer, None) as owners,
        socket(server, path, people["shared"].bearer, None) as shareds,
        server.client(people["owner"]) as client,
    ):
        assert told(owners)["status"] == told(shareds)["status"] == "cancelled"
        note = client.post(f"{api}/notes", json={"text": "look", "first": 3, "last": 5}).json()
        stop = client.post(f"{api}/breakpoints", json={"search": "sent"}).json()
        client.patch(f"{api}/notes/{note['id']}", json={"text": "look here"})
        client.patch(f"{api}/breakpoints/{stop['id']}", json={"enabled": False})
        client.delete(f"{api}/notes/{note['id']}")
        client.delete(f"{api}/breakpoints/{stop['id']}")
        news = [{"news": what} for what in ("notes", "breakpoints") * 3]
        assert [told(owners) for _ in news] == [told(shareds) for _ in news] == news


def test_who_only_reads_changes_nothing_and_nobody_is_told(server: RealServer) -> None:
    people, replay = watched(server)
    written(server.data / "lake" / "replays" / replay)
    path, api = f"/ws/replays/{replay}/", f"/api/v1/replays/{replay}"
    with socket(server, path, people["owner"].bearer, None) as owners:
        told(owners)
        with server.client(people["owner"]) as client:
            note = client.post(f"{api}/notes", json={"text": "mine", "first": 0}).json()
        assert told(owners) == {"news": "notes"}
        for name, status in (("shared", 403), ("other", 404)):
            with server.client(people[name]) as client:
                answers = [
                    client.post(f"{api}/notes", json={"text": "theirs", "first": 0}),
                    client.patch(f"{api}/notes/{note['id']}", json={"text": "theirs"}),
                    client.delete(f"{api}/notes/{note['id']}"),
                ]
                assert [one.status_code for one in answers] == [status] * 3
        with server.client(people["shared"]) as client:
            assert [one["text"] for one in client.get(f"{api}/notes").json()["notes"]] == ["mine"]
        with server.client(people["owner"]) as client:
            client.post(f"{api}/breakpoints", json={"search": "sent"})
        assert told(owners) == {"news": "breakpoints"}, "nothing came before it"


def test_notes_can_be_written_while_the_replay_is(server: RealServer) -> None:
    people, replay = watched(server)
    written(server.data / "lake" / "replays" / replay, finish=False)
    with server.client(people["owner"]) as client:
        api = f"/api/v1/replays/{replay}/notes"
        assert client.post(api, json={"text": "so far", "first": STEPS - 1}).status_code == 201
        early = client.post(api, json={"text": "too early", "first": STEPS})
        assert early.status_code == 404 and "are written so far" in early.json()["error"]["message"]
        bent = [{"first": 0}, {"text": "x", "first": -1}, {"text": "x" * 2001, "first": 0}, {"text": "x", "first": "a"}]
        assert [client.post(api, json=one).status_code for one in bent] == [422] * 4
