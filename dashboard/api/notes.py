"""Notes on the steps of a replay."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Router, Status

from dashboard import notes
from dashboard.api.auth import caller
from dashboard.api.presenting import own_replay, visible_replay
from dashboard.api.schemas import Error, NoteChange, NoteIn, NoteList, NoteOut
from dashboard.models import Note, Replay
from dashboard.problems import Problem, not_found
from dashboard.sealing import shown_note

router = Router(tags=["steps"])
WRITE = {403: Error, 404: Error, 409: Error, 422: Error}


@router.get("/replays/{replay_id}/notes", response={200: NoteList, 404: Error})
def list_notes(request: HttpRequest, replay_id: str) -> dict[str, Any]:
    """All of a replay, in the order of the steps that they are on."""
    user = caller(request)
    replay = visible_replay(user, replay_id)
    return {"notes": [note_out(shown_note(one, replay.job_id, user), user) for one in notes.of(replay)]}


@router.post("/replays/{replay_id}/notes", response={201: NoteOut, **WRITE})
def add_note(request: HttpRequest, replay_id: str, asked: NoteIn) -> Status[dict[str, Any]]:
    """On a step, or on all from `first` to `last`. Who started the replay may, and the job's owner."""
    user = caller(request)
    replay = own_replay(user, replay_id, "write notes on it")
    return Status(201, note_out(notes.add(replay, user, asked.text, asked.first, asked.last), user))


@router.patch("/replays/{replay_id}/notes/{note_id}", response={200: NoteOut, **WRITE})
def change_note(request: HttpRequest, replay_id: str, note_id: int, asked: NoteChange) -> dict[str, Any]:
    """Another text, or other steps. Who wrote it may."""
    user = caller(request)
    note = _own(user, visible_replay(user, replay_id), note_id)
    return note_out(notes.change(note, text=asked.text, first=asked.first, last=asked.last), user)


@router.delete("/replays/{replay_id}/notes/{note_id}", response={204: None, 403: Error, 404: Error})
def delete_note(request: HttpRequest, replay_id: str, note_id: int) -> Status[None]:
    """Takes it away. Who wrote it may."""
    user = caller(request)
    notes.delete(_own(user, visible_replay(user, replay_id), note_id))
    return Status(204, None)


def note_out(note: Note, user: User) -> dict[str, Any]:
    return {
        "id": note.pk,
        "first": note.first,
        "last": note.last,
        "text": note.text,
        "author": note.author.username,
        "mine": note.author_id == user.pk,
        "created_at": note.created_at,
        "updated_at": note.updated_at,
    }


def _own(user: User, replay: Replay, note_id: int) -> Note:
    found = Note.objects.filter(replay=replay, pk=note_id).select_related("author", "replay").first()
    if found is None:
        raise not_found()
    if found.author_id != user.pk:
        raise Problem(403, "Only who wrote a note may change or delete it.")
    return found
