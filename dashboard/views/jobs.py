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
from dashboard.views.newest_first import page_behind

JOBS_SHOWN = 50


@login_required
@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    visible = Job.objects.visible_to(request.user)
    wanted = JobFilter.of(request)
    found = wanted.applied(visible, person(request).pk)
    total = visible.count()
    before = request.GET.get("before", "")
    replays = Prefetch("replays", Replay.objects.order_by("-created_at", "id"))
    page, following = page_behind(found.select_related("owner", "audit").prefetch_related(replays), before, JOBS_SHOWN)
    payloads.admit(request.user, page)
    rows = [row_context(request, job) for job in page]
    context = {"rows": rows, "total": total, "following": following, "earlier": before, "wanted": wanted}
    context |= {
        "fitting": found.count() if wanted else total,
        "kinds": [(name, words) for name, (words, _) in KINDS.items()],
    }
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
