"""The determinants of one chosen log, paged by sequence number."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard import jobs
from dashboard.describing import described, site_of
from dashboard.models import Job
from dashboard.queries.determinants import (
    Determinant,
    DeterminantPage,
    LogEpoch,
    determinants_before,
    determinants_from,
    with_bytes,
)
from dashboard.queries.failures import job_failures
from dashboard.queries.gaps import gaps_of_log, placed
from dashboard.queries.graph import job_graph
from dashboard.queries.kinds import DETERMINANTS
from dashboard.queries.lake import lake
from dashboard.queries.log_epochs import Choice, kinds_of, log_choices, logging_tasks
from dashboard.queries.sites import site_lines
from dashboard.views.access import visible_job
from dashboard.views.parameters import one_of, whole
from dashboard.views.telling import tells_problems


@login_required
@require_safe
@tells_problems
def logs_page(request: HttpRequest, job_id: str) -> HttpResponse:
    job = visible_job(request, job_id)
    if jobs.reingest_if_older(job) or not job.readable:
        return redirect("job", job_id=job.id)
    found = job_graph(job.id)
    ids = [str(task.id) for task in found.manifest.tasks] if found else []
    task = one_of(request, "task", ids) or _worth_seeing(job, ids)
    choices = log_choices(lake(), job=job.id, task=task)
    context: dict[str, Any] = {"job": job, "task": task, "task_ids": ids, "choices": choices}
    context["observed"] = found is not None and found.manifest.protocol.observed
    log = _chosen(request, task, choices)
    if log is not None:
        context |= _log_context(request, job, log, choices)
        manifest = found.manifest if found else None
        of, origin_ms = (manifest.task(task), manifest.clock.origin_ms) if manifest else (None, None)
        rows = with_bytes(job.id, log, context["page"].rows)
        page = context["page"]
        gaps = gaps_of_log(lake(), job=job.id, log=log)
        before, context["gaps_behind"] = placed(gaps, rows, first=page.before is None, last=page.after is None)
        sites = _sites(job, log, rows)
        context["rows"] = [(row, *described(row, of, origin_ms, sites), before.get(row.seq, ())) for row in rows]
    part = request.GET.get("part") == "rows"
    return render(request, "dashboard/partials/log_rows.html" if part else "dashboard/logs.html", context)


def _sites(job: Job, log: LogEpoch, rows: list[Determinant]) -> dict[int, str]:
    asked = [site for row in rows if (site := site_of(row)) is not None]
    return site_lines(lake().job(job.id), task=log.task, attempt=log.attempt, sites=asked)


def _worth_seeing(job: Job, ids: list[str]) -> str:
    """The task that failed first, as on the job's page; else the first that logged anything; else the first."""
    logging = logging_tasks(lake(), job=job.id)
    wanted = [failure.task for failure in job_failures(lake(), job=job.id)]
    return next((task for task in [*wanted, *ids] if task in logging and task in ids), next(iter(ids), ""))


def _chosen(request: HttpRequest, task: str, choices: list[Choice]) -> LogEpoch | None:
    """What the address names, completed by the first log there is."""
    wanted = {
        "attempt": whole(request, "attempt"),
        "thread": request.GET.get("thread"),
        "epoch": whole(request, "epoch"),
    }
    left = choices
    for name, value in wanted.items():
        left = [one for one in left if value is None or getattr(one, name) == value] or left
    return LogEpoch(task, left[0].attempt, left[0].thread, left[0].epoch) if left else None


def _log_context(request: HttpRequest, job: Job, log: LogEpoch, choices: list[Choice]) -> dict[str, Any]:
    kind = one_of(request, "kind", [one.name for one in DETERMINANTS])
    page = _page(request, job, log, kind)
    same = [one for one in choices if one.attempt == log.attempt and one.thread == log.thread]
    place = next(n for n, one in enumerate(same) if one.epoch == log.epoch)
    return {
        "log": log,
        "kind": kind,
        "page": page,
        "seq": whole(request, "seq"),
        "total": same[place],
        "attempts": sorted({one.attempt for one in choices}),
        "threads": list(dict.fromkeys(one.thread for one in choices if one.attempt == log.attempt)),
        "epochs": same,
        "previous_epoch": same[place - 1] if place else None,
        "next_epoch": same[place + 1] if place + 1 < len(same) else None,
        "kinds": kinds_of(lake(), job=job.id, log=log),
    }


def _page(request: HttpRequest, job: Job, log: LogEpoch, kind: str) -> DeterminantPage:
    published = lake().job(job.id)
    before = whole(request, "before")
    if before is not None:
        return determinants_before(published, log, seq=before, kind=kind)
    return determinants_from(published, log, seq=whole(request, "seq") or 0, kind=kind)
