"""What can be done with the notes of a replay; page and API both come through here, and all who watch are told."""

from __future__ import annotations

from django.contrib.auth.models import User

from dashboard import kept
from dashboard.models import Note, Replay
from dashboard.models.notes import MOST_NOTES, MOST_TEXT
from dashboard.problems import Problem
from dashboard.queries.steps import check_written, reading

NEWS = "notes"


def add(replay: Replay, author: User, text: str, first: int, last: int | None = None) -> Note:
    """A note on a step, or on all from `first` to `last`. Raises `Refused` where there are too many."""
    text, last = _checked_text(text), first if last is None else last
    _check_steps(replay, first, last)
    with kept.one_more(replay, replay.notes.all(), MOST_NOTES, NEWS):
        return Note.objects.create(replay=replay, author=author, first=first, last=last, text=text)


def change(note: Note, *, text: str | None = None, first: int | None = None, last: int | None = None) -> Note:
    """Changes what is given; None leaves it."""
    if text is not None:
        note.text = _checked_text(text)
    if first is not None or last is not None:
        note.first = note.first if first is None else first
        note.last = note.last if last is None else last
        _check_steps(note.replay, note.first, note.last)
    note.save(update_fields=["text", "first", "last", "updated_at"])
    kept.tell(note.replay_id, NEWS)
    return note


def delete(note: Note) -> None:
    kept.delete(note, NEWS)


def of(replay: Replay) -> list[Note]:
    return list(Note.objects.filter(replay=replay).select_related("author"))


def _check_steps(replay: Replay, first: int, last: int) -> None:
    if last < first:
        raise Problem(422, f"last: step {last:,} lies before step {first:,}; a range ends where it begins or behind.")
    with reading(replay) as written:
        check_written(written, last)


def _checked_text(text: str) -> str:
    """Lines as they were written, without what no page can show."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    shown = "".join(c if c == "\n" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in lines).strip()
    if not shown:
        raise Problem(422, "text: a note says something; write at least one letter.")
    if len(shown) > MOST_TEXT:
        raise Problem(422, f"text: a note has at most {MOST_TEXT:,} characters; this one has {len(shown):,}.")
    return shown
