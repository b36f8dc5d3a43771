"""Rows of the replay page's long lists, from wherever they were scrolled to: never more than a few screens of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.describing import described_row, site_of
from dashboard.models import Replay
from dashboard.queries.graph import JobGraph, job_graph
from dashboard.queries.lake import lake
from dashboard.queries.of_task import of_task, window
from dashboard.queries.recovery_log import RecoveryLog, log_window
from dashboard.queries.replay_channels import inputs, inputs_window, ledger_window
from dashboard.queries.replay_overview import is_whole
from dashboard.queries.sites import site_lines
from dashboard.queries.steps import reading
from dashboard.views.access import visible_replay
from dashboard.views.parameters import whole
from dashboard.views.replay_forks import fork_rows
from dashboard.views.replay_hits import hit_rows
from dashboard.views.telling import tells_problems
from ingest.lake.step_reader import StepReader
from replay.model import Task

MOST_ROWS = 200


@login_required
@require_safe
@tells_problems
def replay_rows(request: HttpRequest, replay_id: str, name: str) -> HttpResponse:
    """`from` is the first one's place in the list, `step` the step that is shown."""
    replay = visible_replay(request, replay_id)
    rows = LISTS.get(name)
    if rows is None and name != "hits":
        raise Http404
    first, count = whole(request, "from", 0) or 0, min(whole(request, "count", MOST_ROWS) or 1, MOST_ROWS)
    with reading(replay) as written:
        step = min(whole(request, "step", 0) or 0, max(0, written.steps - 1))
        task = request.GET.get("task", "") if name == "steps" else ""
        if rows is None:
            context = hit_rows(request, replay, written, first, count)
        else:
            context = _steps_of(task, written, first, count) if task else rows(replay, written, step, first, count)
    context |= {"step": step, "window_first": first, "window_template": f"dashboard/partials/rows_{name}.html"}
    return render(request, "dashboard/partials/replay_rows.html", context)


def _steps(replay: Replay, written: StepReader, step: int, first: int, count: int) -> dict[str, Any]:
    return {"around": written.between(first, first + count), "of_several": not replay.task}


def _steps_of(task: str, written: StepReader, first: int, count: int) -> dict[str, Any]:
    return {"around": window(written, task, first, count), "of_several": True, "only": {"task": task}}


def _log(replay: Replay, written: StepReader, step: int, first: int, count: int) -> dict[str, Any]:
    log = log_window(_own(replay, written, step), replay.job_id, step, first, count)
    return {"log": log, "taken": taken_rows(replay.job_id, job_graph(replay.job_id), _task(replay, written, step), log)}


def _inputs(replay: Replay, written: StepReader, step: int, first: int, count: int) -> dict[str, Any]:
    all_of_them = inputs(_own(replay, written, step), step, channels_of(_task(replay, written, step)))
    row, is_all = written.step(step), is_whole(replay, written)
    return {"inputs": inputs_window(all_of_them, first, count), "row": row, "whole": is_all}


def _outputs(replay: Replay, written: StepReader, step: int, first: int, count: int) -> dict[str, Any]:
    return {"ledger": {"rows": ledger_window(_own(replay, written, step), step, first, count)}}


def _forks(replay: Replay, written: StepReader, step: int, first: int, count: int) -> dict[str, Any]:
    return {"forks": fork_rows(replay, first, count)}


LISTS: dict[str, Callable[[Replay, StepReader, int, int, int], dict[str, Any]]] = {
    "steps": _steps,
    "log": _log,
    "inputs": _inputs,
    "outputs": _outputs,
    "forks": _forks,
}


def taken_rows(job_id: str, found: JobGraph | None, task: Task | None, log: RecoveryLog) -> list[tuple[Any, str, str]]:
    """Each determinant with what it says, and what stands beside that."""
    origin_ms = found.manifest.clock.origin_ms if found else None
    sites = _sites(job_id, [one.row for one in log.taken if one.row])
    return [(one, *described_row(one.row, task, origin_ms, sites.get(_attempt_of(one.row), {}))) for one in log.taken]


def _sites(job_id: str, rows: list[dict[str, Any]]) -> dict[tuple[str, int], dict[int, str]]:
    """Lines of source by attempt: each numbers them anew."""
    asked: dict[tuple[str, int], set[int]] = {}
    for row in rows:
        if (site := site_of(row)) is not None:
            asked.setdefault(_attempt_of(row), set()).add(site)
    if not asked:
        return {}
    job = lake().job(job_id)
    return {
        (task, attempt): site_lines(job, task=task, attempt=attempt, sites=sites)
        for (task, attempt), sites in asked.items()
    }


def _attempt_of(row: dict[str, Any] | None) -> tuple[str, int]:
    return (row["task"], row["attempt"]) if row else ("", 0)


def channels_of(task: Task | None) -> list[str]:
    return [str(channel) for channel in task.inputs] if task else []


def _own(replay: Replay, written: StepReader, step: int) -> StepReader:
    """Of the task whose step is shown, where several are replayed together."""
    row = written.step(step)
    return of_task(replay, written, row["task"] if row else None)


def _task(replay: Replay, written: StepReader, step: int) -> Task | None:
    found, row = job_graph(replay.job_id), written.step(step)
    return found.manifest.task((row and row["task"]) or replay.task) if found else None
