"""The determinants of one chosen log, paged by sequence number."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard import jobs
from dashboard.describing import described, site_of
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.causal_paths import sharing
from dashboard.queries.determinants import (
    EVERYTHING,
    Determinant,
    DeterminantPage,
    LogEpoch,
    determinants_before,
    determinants_from,
    seq_at,
    with_bytes,
)
from dashboard.queries.failures import job_failures
from dashboard.queries.gaps import gaps_of_log, placed
from dashboard.queries.graph import job_graph
from dashboard.queries.lake import lake
from dashboard.queries.log_costs import Cost, by_site, by_vertex
from dashboard.queries.log_epochs import Choice, kinds_of, log_choices, logging_tasks
from dashboard.queries.log_filter import LogFilter
from dashboard.queries.sites import site_lines
from dashboard.views.access import visible_job
from dashboard.views.log_choice import address_of, chosen_log, chosen_rows, not_in_log
from dashboard.views.parameters import not_there, one_of, whole
from dashboard.views.telling import tells_problems
from replay.model import Manifest

COPIED = ("json", "hex")
EPOCHS_AROUND = 8


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
    context["not_there"] = not_there(request, task=ids)
    context["observed"] = found is not None and found.manifest.protocol.observed
    context["shares"] = found is not None and found.manifest.protocol.logs
    log, wanted = chosen_log(request, task, choices), chosen_rows(request, hidden=job.hidden)
    at = whole(request, "at")
    if log is not None and at is not None:
        seq = seq_at(lake().job(job.id), log, at)
        return redirect(f"{request.path}?{address_of(log, wanted)}&seq={seq or 0}")
    if log is not None and request.GET.get("as") in COPIED:
        return _copied(job, log, _page(request, job, log, wanted), request.GET["as"])
    if log is not None and request.GET.get("part") == "sites":
        context |= {"total": _total(choices, log), "sites": by_site(lake().job(job.id), log)}
        return render(request, "dashboard/partials/log_sites.html", context)
    if log is not None and request.GET.get("part") == "hops":
        return render(request, "dashboard/partials/log_hops.html", context | {"log": log} | _hops(job, log))
    if log is not None:
        context |= _log_context(request, job, log, choices, wanted)
        context["not_there"] += not_in_log(request, log, choices)
        context["vertices"] = _vertices(job, found.manifest) if found else []
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


def _hops(job: Job, log: LogEpoch) -> dict[str, Any]:
    try:
        hops = sharing(job, log.task, log.attempt)["hops"]
    except Problem as problem:
        return {"problem": problem.message}
    return {"hops": hops, "widest_hop": max((one["bytes"] for one in hops), default=0)}


def _vertices(job: Job, manifest: Manifest) -> list[Cost]:
    return by_vertex(lake().job(job.id), {task.id: task.vertex for task in manifest.tasks})


def _total(choices: list[Choice], log: LogEpoch) -> Choice:
    return next(one for one in choices if (one.attempt, one.thread, one.epoch) == (log.attempt, log.thread, log.epoch))


def _log_context(
    request: HttpRequest, job: Job, log: LogEpoch, choices: list[Choice], wanted: LogFilter
) -> dict[str, Any]:
    page = _page(request, job, log, wanted)
    same = [one for one in choices if one.attempt == log.attempt and one.thread == log.thread]
    place = next(n for n, one in enumerate(same) if one.epoch == log.epoch)
    shown = range(max(0, place - EPOCHS_AROUND), min(len(same), place + EPOCHS_AROUND + 1))
    around = {n: _linked(log.task, same[n], wanted) for n in shown}
    kinds = kinds_of(lake(), job=job.id, log=log)
    return {
        "log": log,
        "wanted": wanted,
        "address": address_of(log, wanted),
        "whole_log": address_of(log, EVERYTHING),
        "page": page,
        "seq": whole(request, "seq"),
        "total": same[place],
        "attempts": sorted({one.attempt for one in choices}),
        "threads": list(dict.fromkeys(one.thread for one in choices if one.attempt == log.attempt)),
        "epochs": same,
        "epochs_around": list(around.values()),
        "largest_epoch": max(one.bytes for one in same),
        "previous_epoch": around.get(place - 1),
        "next_epoch": around.get(place + 1),
        "kinds": kinds,
        "has_calls": any(name == "serializable" for name, _, _ in kinds),
    }


def _linked(task: str, one: Choice, wanted: LogFilter) -> dict[str, Any]:
    """Another epoch of the same log, with where it is seen as this one is."""
    address = address_of(LogEpoch(task, one.attempt, one.thread, one.epoch), wanted)
    return {"epoch": one.epoch, "bytes": one.bytes, "address": address}


def _page(request: HttpRequest, job: Job, log: LogEpoch, wanted: LogFilter) -> DeterminantPage:
    published = lake().job(job.id)
    before = whole(request, "before")
    if before is not None:
        return determinants_before(published, log, seq=before, wanted=wanted)
    return determinants_from(published, log, seq=whole(request, "seq") or 0, wanted=wanted)


def _copied(job: Job, log: LogEpoch, page: DeterminantPage, how: str) -> HttpResponse:
    """The rows of a page as text: an object a line, or the bytes of one a line."""
    rows = with_bytes(job.id, log, page.rows)
    lines = [row.whole_hex if how == "hex" else json.dumps(row.told, ensure_ascii=False) for row in rows]
    return HttpResponse("".join(f"{line}\n" for line in lines), content_type="text/plain; charset=utf-8")
