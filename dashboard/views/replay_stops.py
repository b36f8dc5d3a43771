"""Where a replay's page stops: words that lead from a step, and the breakpoints kept with the replay."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from dashboard import breakpoints
from dashboard.api.failures import problem_of
from dashboard.jobs import Refused
from dashboard.models import Breakpoint, Replay
from dashboard.models.breakpoints import MOST_BREAKPOINTS
from dashboard.models.status import PENDING
from dashboard.problems import Problem
from dashboard.queries.moving import moved
from dashboard.queries.steps import reading
from dashboard.queries.units import UNITS
from dashboard.sealing import shown_breakpoint
from dashboard.views.access import own_replay, owns, visible_replay
from dashboard.views.parameters import one_of, whole
from dashboard.views.telling import tells_problems
from dashboard.views.way_back import back_to_step
from ingest.lake.errors import HiddenValues
from replay.debugger.searching.conditions import WrongSearch
from replay.debugger.searching.fields import FIELDS

# What stands in the address beside the step, and stays there.
KEPT = ("find", "unit", "prefix", "why", "view", "panel", "task")
EXAMPLES = (
    ("kind = hold-back and bytes > 1 KiB", "buffers held back that are larger than that"),
    ("enters Running", "where a task comes into a state"),
    ("determinant = timestamp", "each reading of the clock"),
    ('change(key starts with "by_key" and after > 10)', "a key of the state becomes more than that"),
    (
        "kind = write-record not preceded by determinant = timestamp in the same record",
        "one without the other before it",
    ),
    ("kind = take-buffer from hit 5 every 10", "the 5th, the 15th, …"),
    ("differs or divergence", "other bytes than before; where replay and recording part"),
)
OF_A_UNIT = ("over", "back over", "out of")
OF_A_SEARCH = ("next", "previous")


def stops_context(request: HttpRequest, replay: Replay, step: int | None = None) -> dict[str, Any]:
    kept = [shown_breakpoint(one, replay.job_id) for one in breakpoints.of(replay)]
    return {
        "breakpoints": kept,
        "enabled": sum(one.enabled for one in kept),
        "most_breakpoints": MOST_BREAKPOINTS,
        "find": request.GET.get("find", ""),
        "units": UNITS,
        "unit": one_of(request, "unit", list(UNITS), UNITS[0]),
        "step": whole(request, "step", 0) if step is None else step,
        "search_examples": EXAMPLES,
        "search_fields": FIELDS.values(),
    }


def led(request: HttpRequest, replay: Replay) -> HttpResponse:
    """`?go=…`: to where the words lead, or back to the step with the sentence that says why not."""
    step = whole(request, "step", 0) or 0
    try:
        with reading(replay) as written:
            step = min(step, max(0, written.steps - 1))
            row, searches = written.step(step) or {}, breakpoints.enabled_of(replay)[1]
            landing = moved(written, row, _words(request), searches, growing=replay.status in PENDING)
    except (WrongSearch, Problem, HiddenValues) as fault:
        messages.error(request, problem_of(fault).message, extra_tags="bad")
        return redirect(_address(request, replay, step))
    if landing.step is None or landing.instead:
        messages.info(request, landing.instead or landing.why)
    return redirect(_address(request, replay, step if landing.step is None else landing.step))


def _words(request: HttpRequest) -> str:
    """The button's word, with the unit or the search that stands beside it."""
    words = request.GET.get("go", "").strip()
    if words in OF_A_UNIT:
        return f"{words} {one_of(request, 'unit', list(UNITS), UNITS[0])}"
    if words in OF_A_SEARCH:
        return f"{words} {request.GET.get('find', '')}"
    return words


def _address(request: HttpRequest, replay: Replay, step: int) -> str:
    kept = {name: request.GET[name] for name in KEPT if request.GET.get(name)}
    return f"{reverse('replay', args=[replay.id])}?{urlencode({'step': step, **kept})}"


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@tells_problems
def replay_breakpoints(request: HttpRequest, replay_id: str) -> HttpResponse:
    """The panel by itself; by POST another breakpoint."""
    if request.method != "POST":
        replay = visible_replay(request, replay_id)
        context = {"replay": replay, "own": owns(request, replay), **stops_context(request, replay)}
        return render(request, "dashboard/partials/replay_stops.html", context)
    replay = own_replay(request, replay_id)
    try:
        breakpoints.add(replay, request.POST.get("search", ""))
    except (WrongSearch, Refused, Problem) as fault:
        messages.error(request, problem_of(fault).message, extra_tags="bad")
    return back_to_step(request, replay)


@login_required
@require_POST
@tells_problems
def replay_breakpoint(request: HttpRequest, replay_id: str, breakpoint_id: int) -> HttpResponse:
    """Switches one on or off, or takes it away."""
    replay = own_replay(request, replay_id)
    kept = get_object_or_404(Breakpoint, replay=replay, pk=breakpoint_id)
    if "delete" in request.POST:
        breakpoints.delete(kept)
    else:
        breakpoints.change(kept, enabled=request.POST.get("enabled") == "1")
    return back_to_step(request, replay)
