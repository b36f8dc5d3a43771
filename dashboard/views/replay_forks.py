"""Forks on a replay's page: a small form per change that applies at the step, and what came of a fork."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from dashboard import forks
from dashboard.api.failures import problem_of
from dashboard.changes import TITLES
from dashboard.jobs import Refused
from dashboard.models import Replay
from dashboard.problems import Problem
from dashboard.sealing import shown_replays
from dashboard.views.access import person, visible_replay
from dashboard.views.parameters import whole_of
from dashboard.views.telling import tells_problems
from dashboard.views.way_back import back_to_step
from ingest.lake.step_reader import StepReader

SHOWN = 8
MEANINGS = {
    "order": "The next delivery from another input comes first.",
    "value": "It says something else.",
    "lost": "Nobody holds it, nor what the log says after it.",
    "holder": "It had failed too, before it could answer.",
    "depth": "Determinants had travelled this far.",
    "failure": "It fails at this moment too.",
    "operator": "From the next record on it takes over the state.",
}


def forks_context(replay: Replay, written: StepReader, step: int) -> dict[str, Any]:
    return {
        "offers": [(one, TITLES[one.change], MEANINGS[one.change]) for one in forks.offered(replay, written, step)],
        "forks": fork_rows(replay, 0, SHOWN),
        "forks_in_all": replay.forks.count(),
        "fork": _told(replay),
        "begins_at": forks.begins_at(replay),
        "ancestors": _ancestors(replay),
    }


def _told(replay: Replay) -> dict[str, Any] | None:
    """What came of a fork, with the steps of its parent as that numbers them."""
    told = replay.detail.get("fork") if replay.change else None
    if not isinstance(told, dict) or replay.own_step is None:
        return told
    numbers = forks.steps_in_parent(replay, (one["first"]["step"] for one in told["differences"] if one["first"]))
    differences = [
        one if one["first"] is None else {**one, "first": {**one["first"], "step": numbers.get(one["first"]["step"])}}
        for one in told["differences"]
    ]
    return {**told, "differences": differences}


def fork_rows(replay: Replay, first: int, count: int) -> list[Replay]:
    """Newest first, as many as are looked at."""
    kept = replay.forks.defer("detail").select_related("owner").order_by("-created_at", "id")
    return shown_replays(kept[first : first + count])


def _ancestors(replay: Replay) -> list[tuple[dict[str, Any], str | None]]:
    """The changes of the forks before it, the first one first, each with the replay that it made, where that is still
    there."""
    found: list[tuple[dict[str, Any], str | None]] = []
    made = replay.parent
    for one in reversed(replay.before):
        found.append((one, None if made is None else made.id))
        made = None if made is None else made.parent
    return found[::-1]


@login_required
@require_POST
@tells_problems
def fork(request: HttpRequest, replay_id: str) -> HttpResponse:
    """Starts a fork at a step, and leads to it."""
    replay = visible_replay(request, replay_id)
    step = whole_of(request.POST.get("step", ""), 0) or 0
    try:
        made = forks.start(person(request), replay, step, _change(request))
    except (Problem, Refused) as fault:
        messages.error(request, problem_of(fault).message, extra_tags="bad")
        return back_to_step(request, replay, "fork")
    return redirect("replay", replay_id=made.id)


def _change(request: HttpRequest) -> dict[str, Any]:
    """As the form says it: a value is JSON, or else a text; a depth is a number, or `full`."""
    name = request.POST.get("change", "")
    fields: dict[str, Any] = {"change": name}
    given = request.POST.get("chosen", "")
    match name:
        case "value":
            fields["value"] = _read(given)
        case "depth":
            fields["depth"] = int(given) if given.isdecimal() and given.isascii() and len(given) < 12 else given
        case "holder" | "operator":
            fields[name] = given
        case "failure":
            fields["task"] = given
    if seed := whole_of(request.POST.get("seed", "")):
        fields["seed"] = seed
    return fields


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
