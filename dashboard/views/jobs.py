"""The first page: all jobs that a person may see, and uploading more."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard import payloads
from dashboard.models import Job, Replay
from dashboard.models.status import PENDING
from dashboard.progress import state_of
from dashboard.sealing import shown_job
from dashboard.views.access import person
from dashboard.views.job_filters import KINDS, JobFilter
from dashboard.views.job_order import COLUMNS, JobOrder
from dashboard.views.paging import page_behind

JOBS_SHOWN = 50


@login_required
@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    visible = Job.objects.visible_to(request.user)
    wanted, order = JobFilter.of(request), JobOrder.of(request)
    found = wanted.applied(visible, person(request).pk)
    total = visible.count()
    before = request.GET.get("before", "")
    replays = Prefetch("replays", Replay.objects.order_by("-created_at", "id"))
    listed = order.applied(found).select_related("owner", "audit").prefetch_related(replays, "tags")
    page, following = page_behind(listed, before, JOBS_SHOWN, "place", falling=order.falling)
    payloads.admit(request.user, page)
    rows = [row_context(request, job) for job in page]
    context = {"rows": rows, "total": total, "following": following, "earlier": before, "wanted": wanted}
    context |= {
        "order": order,
        "address": address_of(wanted, order),
        "heads": heads(wanted, order),
        "fitting": found.count() if wanted else total,
        "kinds": [(name, words) for name, (words, _) in KINDS.items()],
    }
    part = request.GET.get("part")
    return render(request, "dashboard/partials/job_rows.html" if part == "rows" else "dashboard/jobs.html", context)


def address_of(wanted: JobFilter, order: JobOrder) -> str:
    """What links to other pages of the same list keep."""
    return "&".join(part for part in (wanted.address, f"sort={order.sort}" if order else "") if part)


def heads(wanted: JobFilter, order: JobOrder) -> dict[str, dict[str, str]]:
    """Of each column that can be ordered by: where its head leads, and how it stands now."""
    turned = {column: JobOrder(order.turned_to(column)) for column in COLUMNS}
    return {column: {"address": address_of(wanted, to), "said": order.said_of(column)} for column, to in turned.items()}


def row_context(request: HttpRequest, job: Job) -> dict[str, object]:
    pending = job.status in PENDING
    replays = list(job.replays.all())
    return {
        "job": shown_job(job),
        "mine": job.owner_id == person(request).pk,
        "pending": pending,
        "state": payloads.shown_state(job.id, state_of(job.id)) if pending else None,
        "replay": replays[0] if replays else None,
        "replays": len(replays),
    }
