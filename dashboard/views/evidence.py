"""What proves a claim of an audit, as it stands in the recording; the ways on to log, causal path and replays."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboard import jobs
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.evidence import Found, determinant_at, evidence_rows
from dashboard.queries.graph import job_graph
from dashboard.queries.lake import lake
from dashboard.queries.steps import reading
from dashboard.views.access import visible_job
from dashboard.views.telling import tells_problems
from ingest.lake.errors import NotPublished
from replay.guarantees.reporting.evidence import Evidence, evidence

MOST_NAME = 1_000
MOST_REPLAYS = 8
_CAUSES = ("det", "event")
"""What steps name as their causes."""
_OF_BUFFER = "SELECT min(step), count(*) FROM steps WHERE channel = $channel AND buffer = $number"
_FOLLOWING = "SELECT min(step), count(DISTINCT step) FROM effects WHERE cause = $name"


@login_required
@require_safe
@tells_problems
def evidence_page(request: HttpRequest, job_id: str) -> HttpResponse:
    job = visible_job(request, job_id)
    if jobs.reingest_if_older(job) or not job.readable:
        return redirect("job", job_id=job.id)
    name = request.GET.get("of", "")[:MOST_NAME]
    named = evidence(name)
    if named is None or named.kind == "outside":
        raise Problem(404, "This is no part of a recording that could be shown.")
    published = lake().job(job.id)
    if named.kind == "log":
        return redirect(_log_address(job, named, determinant_at(published, named)))
    found = evidence_rows(published, named)
    context = {
        "job": job,
        "name": name,
        "named": named,
        "found": found,
        "ways": _ways(job, named, found),
        "steps": _steps(job, name, named) if named.channel or named.kind in _CAUSES else [],
    }
    return render(request, "dashboard/evidence.html", context)


def _log_address(job: Job, named: Evidence, seq: int | None) -> str:
    place = {"task": named.task, "attempt": named.attempt, "thread": named.thread, "epoch": named.epoch}
    number = named.number if named.kind == "det" else seq
    return f"{reverse('logs', args=[job.id])}?{urlencode({**place, 'seq': number or 0})}"


def _ways(job: Job, named: Evidence, found: list[Found]) -> list[tuple[str, str]]:
    """To where else it shows."""
    task = named.task or named.channel.partition(">")[0]
    ways: list[tuple[str, str]] = []
    row = _row_of(named, found)
    if named.kind == "det":
        ways.append(("In its log", _log_address(job, named, None)))
    if named.kind == "event":
        task = str(row.get("task") or "")
    if named.kind == "buffer" and "main_offset" in row:
        at = f"log:{task}/{named.attempt}/main/{row.get('main_epoch', 0)}@{row['main_offset']}"
        ways.append(("The sender's log where it was cut", _evidence_address(job, at)))
    if named.channel:
        buffer = f"buffer:{named.channel}/{named.attempt}#{named.number}"
        ways.append(("In space and time", f"{reverse('spacetime', args=[job.id])}?{urlencode({'select': buffer})}"))
    if named.kind in ("sending", "receipt"):
        ways.append(("The buffer, with all its sendings", _evidence_address(job, buffer)))
        receiver = named.channel.partition(">")[2]
        if "taken_offset" in row:
            attempt, epoch = row.get("receiver_attempt", 0), row.get("taken_epoch", 0)
            at = f"log:{receiver}/{attempt}/main/{epoch}@{row['taken_offset']}"
            ways.append(("The receiver's log where it took it", _evidence_address(job, at)))
    if task:
        place = {"task": task} | ({} if named.attempt is None else {"attempt": named.attempt})
        ways.append((f"Log of {task}", f"{reverse('logs', args=[job.id])}?{urlencode(place)}"))
        graph = job_graph(job.id)
        if graph is not None and not graph.manifest.protocol.observed:
            ways.append((f"Causal path of {task}", f"{reverse('paths', args=[job.id])}?{urlencode(place)}"))
    return ways


def _row_of(named: Evidence, found: list[Found]) -> dict[str, Any]:
    """The one that is named: of a sending that in its own table."""
    own = [one for one in found if one.table == "sendings"] if named.sending is not None else found
    return dict(zip(own[0].columns, own[0].rows[own[0].marked or 0], strict=True)) if own else {}


def _evidence_address(job: Job, name: str) -> str:
    return f"{reverse('job-evidence', args=[job.id])}?{urlencode({'of': name})}"


def _steps(job: Job, name: str, named: Evidence) -> list[dict[str, Any]]:
    """Of each replay the first step that has to do with the buffer, or that follows from the determinant or event."""
    asked: tuple[str, dict[str, Any]] = _FOLLOWING, {"name": name}
    if named.channel:
        asked = _OF_BUFFER, {"channel": named.channel, "number": named.number}
    found = []
    for replay in job.replays.filter(verdict__gt="")[:MOST_REPLAYS]:
        try:
            with reading(replay) as written:
                ((step, count),) = written.rows(*asked)
        except (NotPublished, Problem):
            continue  # its steps are gone, and it has none to show
        if step is not None:
            found.append({"replay": replay, "step": step, "count": count})
    return found
