"""A replay's page: one step of a recovery, and everything around it. The step stands in the address."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.describing import described_row
from dashboard.models import Replay
from dashboard.models.status import PENDING
from dashboard.problems import Problem
from dashboard.progress import state_of
from dashboard.queries.failures import Failure, job_failures
from dashboard.queries.graph import job_graph
from dashboard.queries.kinds import STEPS, for_script
from dashboard.queries.lake import lake
from dashboard.queries.recoveries import recoveries
from dashboard.queries.recovery_log import recovery_log
from dashboard.queries.replay_channels import inputs, ledger, told
from dashboard.queries.replay_overview import KindCount, kind_counts, state_spans, strip
from dashboard.queries.state_at import state_at
from dashboard.queries.steps import reading
from dashboard.queries.why_line import why_line
from dashboard.views.access import owns, visible_replay
from dashboard.views.parameters import whole
from dashboard.views.replay_notes import notes_context
from dashboard.views.replay_stops import led, stops_context
from dashboard.views.telling import tells_problems
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
    try:
        with reading(replay) as written:
            context |= _step_context(request, replay, written)
    except Problem as problem:
        context["unread"] = problem.message
    part = PARTS.get(request.GET.get("part", ""))
    return render(request, f"dashboard/partials/{part}" if part else "dashboard/replay.html", context)


@login_required
@require_safe
@tells_problems
def replay_strip(request: HttpRequest, replay_id: str) -> HttpResponse:
    """The strip of all steps so far, or from one to another, for the picture."""
    with reading(visible_replay(request, replay_id)) as written:
        return JsonResponse(strip(written, whole(request, "from", 0) or 0, whole(request, "to")))


def _frame(request: HttpRequest, replay: Replay) -> dict[str, Any]:
    pending = replay.status in PENDING
    failure = _failure(replay)
    return {
        "replay": replay,
        "job": replay.job,
        "own": owns(request, replay),
        "pending": pending,
        "state": state_of(replay.id) if pending else None,
        "failure": failure,
        "recovery": next(iter(recoveries(lake(), job=replay.job_id, failures=[failure])), None) if failure else None,
        "attempt": replay.detail.get("attempt", replay.attempt),
        "step_kinds": for_script(STEPS),
    }


def _failure(replay: Replay) -> Failure | None:
    if replay.failure is None or not replay.job.readable:
        return None
    found = job_failures(lake(), job=replay.job_id)
    return next((one for one in found if one.failure == replay.failure), None)


def _step_context(request: HttpRequest, replay: Replay, written: StepReader) -> dict[str, Any]:
    """A step past the end shows the last one: a link must open, whatever a replay came to."""
    last = written.steps - 1
    step = min(whole(request, "step", 0) or 0, max(0, last))
    around = written.between(max(0, step - STEPS_AROUND), step + STEPS_AROUND + 1)
    row = next((one for one in around if one["step"] == step), None)
    if row is None:
        return {"unread": "No step is written yet."}
    return {
        "step": step,
        "last": last,
        "row": row,
        "around": around,
        "spans": state_spans(written),
        "kinds": (kinds := kind_counts(written)),
        # Until a replay has come to its end, how much there would have been is not known.
        "whole": not _is_open(replay, kinds),
        "diverged_at": next((one.first_step for one in kinds if one.kind == "diverge"), None),
        **_panels(request, replay, written, row),
        **stops_context(request, replay, step),
        **notes_context(request, replay, step),
    }


def _is_open(replay: Replay, kinds: list[KindCount]) -> bool:
    return not replay.readable or all(one.kind != "finish" for one in kinds)


def _panels(request: HttpRequest, replay: Replay, written: StepReader, row: dict[str, Any]) -> dict[str, Any]:
    found = job_graph(replay.job_id)
    task = found.manifest.task(row["task"] or replay.task) if found else None
    origin_ms = found.manifest.clock.origin_ms if found else None
    log = recovery_log(written, replay.job_id, row["step"])
    return {
        "log": log,
        "taken": [(one, *described_row(one.row, task, origin_ms)) for one in log.taken],
        "inputs": inputs(written, row["step"], [str(channel) for channel in task.inputs] if task else []),
        "told": told(written),
        "ledger": ledger(written, row["step"]),
        "held_state": state_at(written, row["step"], request.GET.get("prefix", ""), request.GET.get("keys", "")),
        "keys_after": request.GET.get("keys", ""),
        "prefix": request.GET.get("prefix", ""),
        "why": why_line(written, replay.job_id, row["step"]),
        "task_is_sink": task is not None and not task.outputs,
    }
