"""The space-time diagram: tasks as lanes, buffers as arrows, and what came before and after what is selected."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard import jobs
from dashboard.measures import duration
from dashboard.models import Job
from dashboard.queries.failures import Failure, job_failures
from dashboard.queries.graph import JobGraph, job_graph
from dashboard.queries.lake import lake
from dashboard.queries.spacetime.asked import named
from dashboard.queries.spacetime.lanes import NOTHING, Lane, Lanes
from dashboard.queries.spacetime.reach import Reach, cone_of, reaches
from dashboard.queries.spacetime.scene import buffers, scene, traffic
from dashboard.queries.spacetime.selection import SENDINGS_SHOWN, cause_before, effect_after, selected
from dashboard.views.access import visible_job
from dashboard.views.parameters import none_of, whole
from dashboard.views.telling import tells_problems


@login_required
@require_safe
@tells_problems
def spacetime_page(request: HttpRequest, job_id: str) -> HttpResponse:
    job = visible_job(request, job_id)
    found = job_graph(job.id)
    if jobs.reingest_if_older(job) or not job.readable or found is None:
        return redirect("job", job_id=job.id)
    context = {"job": job, **_selected_context(request, job, found)}
    if request.GET.get("part") == "selected":
        return render(request, "dashboard/partials/spacetime_selected.html", context)
    return render(request, "dashboard/spacetime.html", context | _context(request, job, found))


def _context(request: HttpRequest, job: Job, found: JobGraph) -> dict[str, Any]:
    folded = request.GET.get("folded")
    lanes = Lanes.of(
        found.graph,
        folded=None if folded is None else named(folded),
        hidden=named(request.GET.get("hidden", "")),
    )
    failures = job_failures(lake(), job=job.id)
    rows = traffic(lake(), lanes, job=job.id)
    drawn = scene(lake(), lanes, job=job.id, manifest=found.manifest, failures=failures)
    return {
        "failures": failures,
        "manifest": found.manifest,
        "lanes": [_row(request, lanes, row, failures) for row in rows],
        "shown_address": address_with(request, hidden=None),
        "buffers": buffers(lake(), job=job.id),
        "tasks": len(found.manifest.tasks),
        "scene": drawn,
        "not_there": _not_there(request, found, drawn["durationUs"]),
        # What the script asks for first, so that it is on its way before the script is.
        "first_marks": "" if request.GET else f"from_us=0&to_us={drawn['durationUs']}",
    }


def _not_there(request: HttpRequest, found: JobGraph, duration_us: int) -> list[str]:
    """What the address asks for in vain: the picture leaves it out, and shows the whole job where a window is empty."""
    words = none_of(request, "hidden", {one.id for one in found.graph.tasks}, instead="nothing is hidden for it")
    vertices = {one.id for one in found.manifest.vertices} | {NOTHING}
    words += none_of(request, "folded", vertices, instead="nothing is folded for it")
    begin_us = whole(request, "from")
    if begin_us is not None and begin_us >= duration_us > 0:
        words.append(
            f"The address asks for what was from {duration(begin_us)} on. This recording ends at "
            f"{duration(duration_us)}; here is the whole job."
        )
    return words


def _row(request: HttpRequest, lanes: Lanes, row: dict[str, Any], failures: list[Failure]) -> dict[str, Any]:
    """A lane of the table, with the ways to fold, unfold and hide it."""
    lane: Lane = row["lane"]
    folded, several = set(lanes.folded), len(lane.tasks) > 1 or lanes.width(lane.vertex) > 1
    after = folded ^ {lane.vertex}
    return {
        **row,
        "failures": [one for one in failures if one.failed_us is not None and one.task in lane.tasks],
        "fold_address": address_with(request, folded=",".join(sorted(after)) or NOTHING) if several else "",
        "hide_address": address_with(request, hidden=",".join(sorted({*lanes.hidden, *lane.tasks}))),
    }


def address_with(request: HttpRequest, **changes: str | None) -> str:
    """This page's address with some parameters set anew; None takes one away."""
    given = {name: value for name, value in request.GET.items() if name != "part"} | changes
    return f"?{urlencode({name: value for name, value in given.items() if value is not None}, safe=':,>')}"


def _selected_context(request: HttpRequest, job: Job, found: JobGraph) -> dict[str, Any]:
    name = request.GET.get("select", "")
    one = selected(lake(), found.graph, job=job.id, name=name) if name else None
    if one is None:
        return {"select": name, "selected": None}
    cone = cone_of(lake(), found.graph, job=job.id, one=one)
    rows = reaches(lake(), found.graph, cone, job=job.id)
    cause = cause_before(lake(), found.graph, job=job.id, one=one)
    effect = effect_after(lake(), found.graph, job=job.id, one=one)
    return {
        "select": name,
        "selected": one,
        "reach": [asdict(row) for row in rows],
        "sendings": one.sendings[:SENDINGS_SHOWN],
        "sendings_more": len(one.sendings) > SENDINGS_SHOWN,
        "causes": [row for row in rows if _is_cause(row)],
        "effects": [row for row in rows if row.future_us is not None or row.whole_future],
        "taken": sum(row.taken for row in rows),
        "sent": sum(row.sent for row in rows),
        "unknown": cone.unknown,
        "cause": cause,
        "effect": effect,
        "cause_address": address_with(request, select=cause),
        "effect_address": address_with(request, select=effect),
        "none_address": address_with(request, select=None),
    }


def _is_cause(row: Reach) -> bool:
    return row.past_us is not None or row.whole_past
