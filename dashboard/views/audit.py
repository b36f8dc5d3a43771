"""A job's audit: the verdict, its sections claim by claim, what could not be decided; and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from dashboard import audits, jobs, payloads
from dashboard.models import Job, JobAudit
from dashboard.progress import state_of
from dashboard.views.access import owns, person, visible_job
from dashboard.views.telling import tells_problems
from replay.guarantees.reporting.words import BAD, GOOD, OPEN, PLAIN, about, standing

CLAIMS_SHOWN = 20
FEW_CLAIMS = 4
DOCUMENTS = (("html", "HTML"), ("markdown", "Markdown"), ("junit", "JUnit"), ("json", "JSON"))
MOST_SOUGHT = 200
_ORDER = {BAD: 0, OPEN: 1, PLAIN: 2, GOOD: 2}


@dataclass(frozen=True, slots=True)
class Shown:
    """A section as the page has it: those of its claims that are asked for, what is bad first."""

    told: dict[str, Any]
    claims: list[dict[str, Any]]
    fitting: int
    standing: str
    open: bool

    @property
    def more(self) -> int:
        return self.fitting - len(self.claims)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@tells_problems
def audit_page(request: HttpRequest, job_id: str) -> HttpResponse:
    """The report, and how far another one is; posting asks for one."""
    job = visible_job(request, job_id)
    if request.method == "POST":
        return _do(request, job, lambda: audits.start(person(request), job))
    jobs.reingest_if_older(job)
    audit = audits.of(job)
    report = audits.shown_report(audit)
    context = {
        "job": job,
        "audit": audit,
        "own": owns(request, job),
        "may_cancel": audit is not None and person(request).pk in (job.owner_id, audit.asked_by_id),
        "pending": audit is not None and audit.pending,
        "message": payloads.shown_text(job.id, audit.message) if audit else "",
        "state": payloads.shown_state(job.id, state_of(audit.id)) if audit else None,
        "outdated": audit is not None and audits.is_outdated(audit),
        "report": report,
        "documents": DOCUMENTS,
        **(_report_context(request, report) if report else {}),
    }
    part = request.GET.get("part") == "sections"
    return render(request, "dashboard/partials/audit_sections.html" if part else "dashboard/audit.html", context)


@login_required
@require_POST
def cancel(request: HttpRequest, job_id: str) -> HttpResponse:
    job = visible_job(request, job_id)
    audit = audits.of(job)
    if person(request).pk not in (job.owner_id, audit.asked_by_id if audit else None):
        raise PermissionDenied("Only who asked for an audit, or the owner of its job, may do this.")
    return _do(request, job, lambda: audits.cancel(job, person(request)))


def _do(request: HttpRequest, job: Job, act: Callable[[], JobAudit]) -> HttpResponse:
    try:
        act()
    except jobs.Refused as refused:
        messages.error(request, str(refused), extra_tags="bad")
    return redirect("job-audit", job_id=job.id)


def _report_context(request: HttpRequest, report: dict[str, Any]) -> dict[str, Any]:
    sought = request.GET.get("find", "")[:MOST_SOUGHT].strip()
    whole = request.GET.get("all", "")
    shown = [_shown(section, sought, whole=section["name"] == whole) for section in report["sections"]]
    undecided = [one for one in report["undecided"] if _fits(one, ("section", "about", "sentence", "wants"), sought)]
    return {
        "find": sought,
        "sections": shown,
        "told_why": any(one["name"] == "recovery-types" and one["claims"] for one in report["sections"]),
        "fitting": sum(one.fitting for one in shown) + len(undecided),
        "undecided": undecided,
        "undecided_left_out": sum(one["lacks_left_out"] for one in report["sections"]),
    }


def _shown(section: dict[str, Any], sought: str, *, whole: bool) -> Shown:
    found = [one for one in section["claims"] if _fits(one, ("about", "verdict", "sentence", "evidence"), sought)]
    found.sort(key=lambda one: _ORDER[standing(one["verdict"])])
    claims = found if whole else found[:CLAIMS_SHOWN]
    stands = standing(section["verdict"], section["good"])
    shown_at_once = whole or bool(sought) or stands == "bad" or len(found) <= FEW_CLAIMS
    return Shown(section, claims, len(found), stands, shown_at_once)


def _fits(one: dict[str, Any], names: tuple[str, ...], sought: str) -> bool:
    """Every word stands somewhere in it."""
    told = " ".join([*(str(one.get(name, "")) for name in names), about(one["about"])]).lower()
    return all(word in told for word in sought.lower().split())
