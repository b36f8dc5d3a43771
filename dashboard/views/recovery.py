"""Recovery anatomy: a group of recoveries over time, the equations with their numbers, and what would be otherwise."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from dashboard import jobs
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.anatomy import MOST, Otherwise, anatomy, otherwise
from dashboard.queries.failures import job_failures
from dashboard.queries.graph import job_graph
from dashboard.queries.lake import lake
from dashboard.recovery_words import PARTS, Term, said, terms
from dashboard.views.access import visible_job
from dashboard.views.parameters import measure, not_there, one_of, whole
from dashboard.views.telling import tells_problems
from dashboard.worked_out import AT_ONCE_BYTES

GROUPS_LISTED = 60
# Of the model's terms, in the order of the parts: the colour that each has in the picture.
STACK = (
    ("detection_us", "detection", "noticed"),
    ("start_us", "activation", "S"),
    ("download_us", "restoring", "SSD"),
    ("round_trips_us", "connections", "3·RTT"),
    ("replay_us", "replaying", "done again"),
)


@login_required
@require_safe
@tells_problems
def recovery_page(request: HttpRequest, job_id: str) -> HttpResponse:
    job = visible_job(request, job_id)
    found = job_graph(job.id)
    if jobs.reingest_if_older(job) or not job.readable or found is None:
        return redirect("job", job_id=job.id)
    part = one_of(request, "part", ["anatomy", "otherwise"])
    context: dict[str, Any] = {"job": job, "address": request.GET.urlencode(), "manifest": found.manifest}
    if part or "wait" in request.GET or job.bytes <= AT_ONCE_BYTES:
        context |= _context(request, job)
    else:
        context["later"] = True
    return render(request, f"dashboard/partials/recovery_{part}.html" if part else "dashboard/recovery.html", context)


def _context(request: HttpRequest, job: Job) -> dict[str, Any]:
    try:
        told = anatomy(job)
    except Problem as problem:
        return {"problem": problem.message}
    context = {"told": told, "parts": PARTS, **_otherwise_context(request, told)}
    if told["groups"]:
        context |= _group_context(request, job, told)
    return context


def _group_context(request: HttpRequest, job: Job, told: dict[str, Any]) -> dict[str, Any]:
    groups = told["groups"]
    wanted = whole(request, "failure")
    place = next((n for n, group in enumerate(groups) if wanted in _failures_of(group)), 0)
    group = groups[place]
    lanes = [{**lane, "key": f"{lane['task']}/{lane['attempt']}"} for lane in group["lanes"]]
    key = one_of(request, "lane", [lane["key"] for lane in lanes], default=_slowest(lanes))
    chosen = next(lane for lane in lanes if lane["key"] == key)
    failures = job_failures(lake(), job=job.id)
    suspected = frozenset(one.failure for one in failures if one.suspected)
    on_path = {wait["lane"] for wait in group["path"]}
    return {
        "group": group,
        "not_there": not_there(
            request, failure=[one.failure for one in failures], lane=[lane["key"] for lane in lanes]
        ),
        "drawn": any(lane["spans"] for lane in lanes),
        "groups": [_listed(n, one, place) for n, one in enumerate(groups[:GROUPS_LISTED])],
        "groups_hidden": max(0, len(groups) - GROUPS_LISTED),
        "sentences": said(group, suspected),
        "lanes": [{**lane, "on_path": n in on_path} for n, lane in enumerate(lanes)],
        "chosen": chosen,
        "terms": _terms(told, chosen),
        "picture": {
            **group,
            "lanes": lanes,
            "chosen": key,
            "parts": {name: one._asdict() for name, one in PARTS.items()},
        },
    }


def _failures_of(group: dict[str, Any]) -> list[int]:
    return [lane["failure"] for lane in group["lanes"]]


def _listed(n: int, group: dict[str, Any], chosen: int) -> dict[str, Any]:
    failed = [lane for lane in group["lanes"] if lane["rollback"] is None] or group["lanes"]
    return {
        "failure": failed[0]["failure"],
        "task": failed[0]["task"],
        "more": len(failed) - 1,
        "begun_us": group["begun_us"],
        "took_us": group["end_us"] - group["begun_us"] if any(lane["spans"] for lane in group["lanes"]) else None,
        "current": n == chosen,
    }


def _slowest(lanes: list[dict[str, Any]]) -> str:
    """Of those that failed the one that took longest; where none is known, the first."""
    failed = [lane for lane in lanes if lane["rollback"] is None] or lanes
    key: str = max(failed, key=lambda lane: lane["actual_us"] or -1)["key"]
    return key


def _terms(told: dict[str, Any], lane: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            **one._asdict(),
            "numbers": [PARTS[part] for part in one.parts],
            "actual_us": _actual(one, lane),
            "how": [told["how"][name] for name in one.from_what if name in told["how"]],
        }
        for one in terms(told, standby=bool(lane["standby"]))
    ]


def _actual(term: Term, lane: dict[str, Any]) -> int | None:
    known = [lane["parts"][part] for part in term.parts if part in lane["parts"]]
    return sum(known) if known else None


def _otherwise_context(request: HttpRequest, told: dict[str, Any]) -> dict[str, Any]:
    asked = Otherwise(
        **{name: measure(request, name, most) for name, most in MOST.items()},
        standby={"yes": True, "no": False}.get(request.GET.get("standby", "")),
    )
    found = otherwise(told, asked)
    return {
        "asked": asked,
        "otherwise": found,
        "fields": _fields(told["known"], asked),
        "with_recorded_standby": told["known"]["standby"],
        "with_standby": told["known"]["standby"] if asked.standby is None else asked.standby,
        "is_asked": bool(asked.changed),
        "counted_as_0": _counted_as_0(told, found),
        "stacks": _stacks(found),
        "saved_us": _saved(found),
    }


def _counted_as_0(told: dict[str, Any], found: dict[str, Any]) -> list[dict[str, Any]]:
    """Terms of the equation that is asked for, and that it can't have from this recording."""
    if not found["asked"] or found["parameters"] is None:
        return []
    parameters = found["parameters"]
    anew = {"start_us", "state_bytes", "download_bytes_per_s"} if found["asked"]["equation"] == "3.2" else set()
    return [one for one in told["lacking"] if one["name"] in anew | {"rtt_us"} and not parameters[one["name"]]]


def _saved(found: dict[str, Any]) -> float | None:
    if not found["recorded"] or not found["asked"]:
        return None
    saved: float = found["recorded"]["mean_us"] - found["asked"]["mean_us"]
    return saved


def _fields(known: dict[str, Any], asked: Otherwise) -> list[dict[str, Any]]:
    """What can be moved: its value now, as recorded, and between which values the slider goes."""
    interval_ms = known["interval_us"] / 1000 if "interval_us" in known else None
    rows = (
        ("interval_ms", "Checkpoint interval (CI)", "ms", interval_ms, asked.interval_ms, 10, 600_000),
        ("load", "Load (L), share of what it can take", "", known.get("load"), asked.load, 0, 1),
        ("rtt_us", "Round trip (RTT)", "µs", known.get("rtt_us"), asked.rtt_us, 10, 1_000_000),
        ("state_bytes", "State of the task", "bytes", known.get("state_bytes"), asked.state_bytes, 1 << 10, 1 << 40),
    )
    return [
        {
            "name": name,
            "label": label,
            "unit": unit,
            "recorded": recorded,
            "as_recorded": _plain(recorded),
            "value": _plain(recorded if value is None else value),
            "least": least,
            "most": most,
            "linear": name == "load",
        }
        for name, label, unit, recorded, value, least, most in rows
    ]


def _plain(value: float | None) -> str:
    """As a field of numbers takes it: no separators, and no more digits than count."""
    return "" if value is None else f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def _stacks(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Both models as bars of one scale."""
    both = [("as recorded", found["recorded"]), ("as asked", found["asked"])]
    most_us = max((model["mean_us"] for _, model in both if model), default=0)
    return [
        {"name": name, "model": model, "parts": _stacked(model["terms"], most_us)}
        for name, model in both
        if model and most_us
    ]


def _stacked(model_terms: dict[str, float], most_us: float) -> list[dict[str, Any]]:
    at, found = 0.0, []
    for term, colour, name in STACK:
        width = 100 * model_terms[term] / most_us
        if width:
            found.append(
                {"colour": colour, "name": name, "us": model_terms[term], "x": f"{at:.3f}", "width": f"{width:.3f}"}
            )
        at += width
    return found
