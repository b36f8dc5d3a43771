"""A replay's page: one step of a recovery, and everything around it. The step stands in the address."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard import payloads
from dashboard.models import Replay
from dashboard.models.status import PENDING
from dashboard.own_code import runs_elsewhere
from dashboard.problems import Problem
from dashboard.progress import state_of
from dashboard.queries.failures import Failure, job_failures
from dashboard.queries.gaps import gaps_of_attempt
from dashboard.queries.graph import JobGraph, job_graph
from dashboard.queries.key_count import key_count
from dashboard.queries.kinds import STEPS, for_script
from dashboard.queries.lake import lake
from dashboard.queries.moving import past_the_end
from dashboard.queries.of_task import TaskLane, around, lanes, of_task, open_orders
from dashboard.queries.own_records import GIVEN, TAKEN, records_around
from dashboard.queries.recoveries import recoveries
from dashboard.queries.recovery_log import recovery_log
from dashboard.queries.replay_channels import inputs, inputs_around, ledger, told
from dashboard.queries.replay_overview import is_whole, kind_counts, state_spans, strip
from dashboard.queries.state_at import state_at
from dashboard.queries.steps import reading
from dashboard.queries.task_strip import shown_lanes, task_strip
from dashboard.queries.why_line import why_line
from dashboard.views.access import owns, visible_replay
from dashboard.views.parameters import whole
from dashboard.views.replay_forks import forks_context
from dashboard.views.replay_hits import hits_context
from dashboard.views.replay_notes import notes_context
from dashboard.views.replay_rows import channels_of, taken_rows
from dashboard.views.replay_stops import led, stops_context
from dashboard.views.telling import tells_problems
from ingest.lake.errors import NotPublished
from ingest.lake.step_reader import StepReader

PARTS = {"panels": "replay_panels.html", "outcome": "replay_ended.html"}
STEPS_AROUND = 5


@login_required
@require_safe
@tells_problems
def replay_page(request: HttpRequest, replay_id: str) -> HttpResponse:
    replay = visible_replay(request, replay_id)
    if "go" in request.GET:
        return led(request, replay)
    context = _frame(request, replay)
    part = PARTS.get(request.GET.get("part", ""))
    try:
        with reading(replay) as written:
            context |= _step_context(request, replay, written)
            if not part and "step" in context:
                context |= _gaps(replay)
                context |= hits_context(request, replay, written, context["step"])
    except Problem as problem:
        context["unread"] = problem.message
    if part == PARTS["panels"] and "row" not in context:
        raise Problem(409, str(context["unread"]), code="not-ready")
    return render(request, f"dashboard/partials/{part}" if part else "dashboard/replay.html", context)


@login_required
@require_safe
@tells_problems
def replay_strip(request: HttpRequest, replay_id: str) -> HttpResponse:
    """The strip of all steps so far, or from one to another, for the picture; of several tasks a lane for each, unless
    it is asked for one of them."""
    replay = visible_replay(request, replay_id)
    first, end = whole(request, "from", 0) or 0, whole(request, "to")
    with reading(replay) as written:
        several = lanes(replay, written)
        only = only_lane(request, several)
        if several and not only:
            return JsonResponse(task_strip(written, several, first, end))
        return JsonResponse(strip(of_task(replay, written, only.task if only else None), first, end))


def _frame(request: HttpRequest, replay: Replay) -> dict[str, Any]:
    pending = replay.status in PENDING
    failure = _failure(replay)
    return {
        "replay": replay,
        "job": replay.job,
        "own": owns(request, replay),
        "pending": pending,
        "state": payloads.shown_state(replay.job_id, state_of(replay.id)) if pending else None,
        "failure": failure,
        "recovery": next(iter(recoveries(lake(), job=replay.job_id, failures=[failure])), None) if failure else None,
        "attempt": replay.detail.get("attempt", replay.attempt),
        "step_kinds": for_script(STEPS),
    }


def _gaps(replay: Replay) -> dict[str, Any]:
    """What the log that is walked or taken from has left out is in no step of it."""
    attempt = replay.detail.get("attempt", replay.attempt)
    if not replay.task or type(attempt) is not int:
        return {}
    try:
        found, total = gaps_of_attempt(lake(), job=replay.job_id, task=replay.task, attempt=attempt)
    except NotPublished:
        return {}
    return {"gaps": found, "gaps_total": total}


def _failure(replay: Replay) -> Failure | None:
    if replay.failure is None or not replay.job.readable:
        return None
    found = job_failures(lake(), job=replay.job_id)
    return next((one for one in found if one.failure == replay.failure), None)


def _step_context(request: HttpRequest, replay: Replay, written: StepReader) -> dict[str, Any]:
    """A step past the end shows the last one, and says so: a link must open, whatever a replay came to."""
    last = written.steps - 1
    asked = whole(request, "step", 0) or 0
    step = min(asked, max(0, last))
    row = written.step(step)
    if row is None:
        return {"unread": "No step is written yet."}
    several = lanes(replay, written, step)
    only = only_lane(request, several)
    first, shown = _around(written, only, step, last)
    return {
        "step": step,
        "last": last,
        "past_the_end": asked if asked > step else None,
        "past_the_end_said": past_the_end(written, asked) if asked > step else "",
        "row": row,
        "around": shown,
        "around_first": first,
        "spans": state_spans(of_task(replay, written, row["task"])),
        "lanes": several,
        "lanes_drawn": len(several) and len(shown_lanes(several)) + (len(shown_lanes(several)) < len(several)),
        "only": only,
        "of_several": bool(several),
        "open_order": open_orders(written, step, step + 1).get(step),
        "kinds": (kinds := kind_counts(written)),
        "whole": is_whole(replay, written),
        "diverged_at": next((one.first_step for one in kinds if one.kind == "diverge"), None),
        **_panels(request, replay, written, row),
        **stops_context(request, replay, step),
        **notes_context(request, replay, step),
        **forks_context(replay, written, step),
    }


def only_lane(request: HttpRequest, several: list[TaskLane]) -> TaskLane | None:
    """The one task that is looked at, where there are several."""
    return next((lane for lane in several if lane.task == request.GET.get("task")), None)


def _around(written: StepReader, only: TaskLane | None, step: int, last: int) -> tuple[int, list[dict[str, Any]]]:
    """The steps around one, of all tasks or of one, and the place of the first in that list."""
    count = 2 * STEPS_AROUND + 1
    if only:
        return around(written, only, step, count)
    first = max(0, min(step - STEPS_AROUND, last + 1 - count))
    return first, written.between(first, first + count)


def _panels(request: HttpRequest, replay: Replay, written: StepReader, row: dict[str, Any]) -> dict[str, Any]:
    found = job_graph(replay.job_id)
    task = found.manifest.task(row["task"] or replay.task) if found else None
    own = of_task(replay, written, row["task"])
    log = recovery_log(own, replay.job_id, row["step"])
    return {
        "log": log,
        "taken": taken_rows(replay.job_id, found, task, log),
        "inputs": inputs_around(inputs(own, row["step"], channels_of(task)), row["channel"]),
        **_of_own_code(replay, found, own, row["step"]),
        "told": told(own),
        "ledger": ledger(own, row["step"]),
        **_keys(request, own, row["step"]),
        "why": why_line(written, replay.job_id, row["step"], everything=request.GET.get("why") == "all"),
        "why_all": request.GET.get("why") == "all",
        "task_is_sink": task is not None and not task.outputs,
    }


def _of_own_code(replay: Replay, found: JobGraph | None, own: StepReader, step: int) -> dict[str, Any]:
    """Where the engine was only observed there are no buffers to show: records stand in their place."""
    if found is None or not runs_elsewhere(found.manifest):
        return {"runs_elsewhere": False}
    if not replay.elsewhere:  # its log was walked: no function took or gave anything
        return {"runs_elsewhere": True}
    return {
        "runs_elsewhere": True,
        "taken_records": records_around(own, step, TAKEN),
        "given_records": records_around(own, step, GIVEN),
    }


def _keys(request: HttpRequest, written: StepReader, step: int) -> dict[str, Any]:
    """A cursor that was bent on its way shows the first keys, and takes nothing else off the page."""
    # Where keys are hidden none of them begins with anything.
    prefix, after = "" if written.sealed else request.GET.get("prefix", ""), request.GET.get("keys", "")
    try:
        held = state_at(written, step, prefix, after)
    except Problem:
        held, after = state_at(written, step, prefix), ""
    # Where it is not recorded when keys came, fewer are counted than stand there: then it is not told.
    keys, shown = key_count(written, step), len(held.entries) + sum(one.after is not None for one in held.changes)
    return {"held_state": held, "keys_after": after, "prefix": prefix, "key_count": keys if keys >= shown else None}
