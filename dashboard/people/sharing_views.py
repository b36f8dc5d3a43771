"""A job's sharing page: with whom it is shared, and who shared or deleted what of it."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from dashboard.models import AuditEntry, Job, JobShare
from dashboard.people import sharing
from dashboard.people.forms import ShareForm
from dashboard.people.identity import person


@login_required
@require_safe
def job_sharing(request: HttpRequest, job_id: str) -> HttpResponse:
    return _page(request, get_object_or_404(Job.objects.visible_to(request.user), id=job_id))


@login_required
@require_POST
def share_job(request: HttpRequest, job_id: str) -> HttpResponse:
    job, form = _own(request, job_id), ShareForm(request.POST)
    if not form.is_valid():
        return _page(request, job, form=form, status=422)
    try:
        granted = sharing.share(job, by=person(request), username=form.cleaned_data["username"])
    except sharing.SharingError as error:
        form.add_error("username", str(error))
        return _page(request, job, form=form, status=422)
    messages.success(request, f"{granted.user} can see this job now.")
    return redirect("job-sharing", job_id=job.id)


@login_required
@require_POST
def unshare_job(request: HttpRequest, job_id: str, user_id: int) -> HttpResponse:
    """The owner takes it back from anybody; anybody else gives up their own share."""
    if user_id == person(request).pk:
        job = get_object_or_404(Job.objects.visible_to(request.user), id=job_id)
    else:
        job = _own(request, job_id)
    sharing.unshare(job, by=person(request), user_id=user_id)
    messages.success(request, "Sharing has been ended.")
    return redirect("job-sharing", job_id=job.id) if job.owner_id == person(request).pk else redirect("/")


def _own(request: HttpRequest, job_id: str) -> Job:
    return get_object_or_404(Job, id=job_id, owner=person(request))


def _page(request: HttpRequest, job: Job, *, form: ShareForm | None = None, status: int = 200) -> HttpResponse:
    own = job.owner_id == person(request).pk
    context = {
        "job": job,
        "own": own,
        "form": form or ShareForm(),
        "shares": JobShare.objects.filter(job=job).select_related("user", "granted_by").order_by("at"),
        "trail": AuditEntry.objects.filter(target=job.id).select_related("actor")[:50] if own else [],
    }
    return render(request, "people/sharing.html", context, status=status)
