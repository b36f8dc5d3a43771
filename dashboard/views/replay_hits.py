"""The hits of the search as a list under it: what each step says, and what became of the keys that it asks for."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.api.failures import problem_of
from dashboard.models import Replay
from dashboard.queries.hit_rows import hits_around, hits_from
from dashboard.queries.steps import reading
from dashboard.views.access import visible_replay
from dashboard.views.parameters import whole
from dashboard.views.telling import tells_problems
from ingest.lake.errors import HiddenValues
from ingest.lake.step_reader import StepReader
from replay.debugger.searching.conditions import WrongSearch
from replay.debugger.searching.structured import read

SHOWN = 7


@login_required
@require_safe
@tells_problems
def replay_hits(request: HttpRequest, replay_id: str) -> HttpResponse:
    """The list by itself, around a step."""
    replay = visible_replay(request, replay_id)
    with reading(replay) as written:
        step = min(whole(request, "step", 0) or 0, max(0, written.steps - 1))
        context = {"step": step, **hits_context(request, replay, written, step)}
    return render(request, "dashboard/partials/replay_hits.html", context)


def hits_context(request: HttpRequest, replay: Replay, written: StepReader, step: int) -> dict[str, Any]:
    """Nothing where there is no search, or none that can be read: what is wrong with it is said beside the field."""
    text = request.GET.get("find", "").strip()
    if not text:
        return {"hits": None}
    try:
        found = hits_around(written, read(text), step, SHOWN)
    except (WrongSearch, HiddenValues) as wrong:
        return {"hits": None, "wrong_search": problem_of(wrong).message}
    return {"hits": found, "hit_rows": found.rows, "found_by": text, "of_several": not replay.task}


def hit_rows(request: HttpRequest, replay: Replay, written: StepReader, first: int, count: int) -> dict[str, Any]:
    """From anywhere in the list, as it was scrolled to."""
    rows = hits_from(written, read(request.GET.get("find", "")), first, count)
    return {"hit_rows": rows, "of_several": not replay.task}
