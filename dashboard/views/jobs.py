"""The first page: all jobs that a person may see, and uploading more."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard import payloads
from dashboard.models import Job, Replay
from dashboard.models.status import PENDING
from dashboard.progress import state_of
from dashboard.sealing import shown_job
from dashboard.views.access import person

JOBS_SHOWN = 50


@login_required
@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    found = Job.objects.visible_to(request.user)
    total = found.count()
    page = list(_page(found, request.GET.get("before", ""))[: JOBS_SHOWN + 1])
    following = page[JOBS_SHOWN - 1].id if len(page) > JOBS_SHOWN else ""
    payloads.admit(request.user, page)
    rows = [row_context(request, job) for job in page[:JOBS_SHOWN]]
    context = {"rows": rows, "total": total, "following": following, "earlier": request.GET.get("before", "")}
    part = request.GET.get("part")
    return render(request, "dashboard/partials/job_rows.html" if part == "rows" else "dashboard/jobs.html", context)


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


def _page(found: QuerySet[Job], before: str) -> QuerySet[Job]:
    """Newest first; `before` names the last job of the page before, so that new jobs move nothing."""
    rows = found.select_related("owner").prefetch_related(
        Prefetch("replays", Replay.objects.order_by("-created_at", "id"))
    )
    last = found.filter(id=before).first() if before else None
    if last is not None:
        rows = rows.filter(Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, id__gt=last.id))
    return rows.order_by("-created_at", "id")
