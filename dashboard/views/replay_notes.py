"""The notes on a replay's steps, as a panel and as forms that need no script."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods, require_POST

from dashboard import notes
from dashboard.api.failures import problem_of
from dashboard.jobs import Refused
from dashboard.models import Note, Replay
from dashboard.models.notes import MOST_NOTES, MOST_TEXT
from dashboard.problems import Problem
from dashboard.sealing import shown_note
from dashboard.views.access import own_replay, owns, person, visible_replay
from dashboard.views.parameters import whole, whole_of
from dashboard.views.telling import tells_problems
from dashboard.views.way_back import back_to_step


def notes_context(request: HttpRequest, replay: Replay, step: int | None = None) -> dict[str, Any]:
    step = (whole(request, "step", 0) or 0) if step is None else step
    kept = [shown_note(one, replay.job_id, person(request)) for one in notes.of(replay)]
    return {
        "notes": kept,
        "notes_here": [one for one in kept if one.first <= step <= one.last],
        "most_notes": MOST_NOTES,
        "most_text": MOST_TEXT,
        "me": person(request).pk,
        "step": step,
    }


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@tells_problems
def replay_notes(request: HttpRequest, replay_id: str) -> HttpResponse:
    """The panel by itself; by POST another note."""
    if request.method != "POST":
        replay = visible_replay(request, replay_id)
        context = {"replay": replay, "own": owns(request, replay), **notes_context(request, replay)}
        return render(request, "dashboard/partials/replay_notes.html", context)
    replay = own_replay(request, replay_id)
    try:
        first = whole_of(request.POST.get("first", ""), 0) or 0
        last = whole_of(request.POST.get("last", ""))
        notes.add(replay, person(request), request.POST.get("text", ""), first, last)
    except (Problem, Refused) as fault:
        messages.error(request, problem_of(fault).message, extra_tags="bad")
    return back_to_step(request, replay, "notes")


@login_required
@require_POST
@tells_problems
def replay_note(request: HttpRequest, replay_id: str, note_id: int) -> HttpResponse:
    """Another text for it, or takes it away."""
    replay = visible_replay(request, replay_id)
    note = get_object_or_404(Note, replay=replay, pk=note_id)
    if note.author_id != person(request).pk:
        raise PermissionDenied("Only who wrote a note may change or delete it.")
    try:
        if "delete" in request.POST:
            notes.delete(note)
        else:
            notes.change(note, text=request.POST.get("text", ""))
    except Problem as fault:
        messages.error(request, fault.message, extra_tags="bad")
    return back_to_step(request, replay, "notes")
