"""A job's sharing page: who sees it and its payloads, who looked at them, how long it is kept, who did what."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from dashboard.jobs import Refused
from dashboard.models import AuditEntry, Job, JobShare, PayloadLook
from dashboard.people import holds, sharing
from dashboard.people.forms import HoldForm, ShareForm
from dashboard.people.identity import person
from dashboard.problems import Problem
from dashboard.views.access import visible_job

LOOKS_SHOWN = 12
LOOKS_A_PAGE = 200


@login_required
@require_safe
def job_sharing(request: HttpRequest, job_id: str) -> HttpResponse:
    return _page(request, visible_job(request, job_id))


@login_required
@require_POST
def share_job(request: HttpRequest, job_id: str) -> HttpResponse:
    """With somebody new; or with other rights, where it is shared with them already."""
    job, form = _own(request, job_id), ShareForm(request.POST)
    if not form.is_valid():
        return _page(request, job, form=form, status=422)
    asked = form.cleaned_data
    try:
        granted = sharing.share(job, by=person(request), username=asked["username"], payloads=asked["payloads"])
    except sharing.SharingError as error:
        form.add_error("username", str(error))
        return _page(request, job, form=form, status=422)
    what = "this job and its payloads" if granted.payloads else "this job, and of its payloads only that they are there"
    messages.success(request, f"{granted.user} can see {what} now.")
    return redirect("job-sharing", job_id=job.id)


@login_required
@require_POST
def unshare_job(request: HttpRequest, job_id: str, user_id: int) -> HttpResponse:
    """The owner takes it back from anybody; anybody else gives up their own share."""
    job = visible_job(request, job_id) if user_id == person(request).pk else _own(request, job_id)
    sharing.unshare(job, by=person(request), user_id=user_id)
    messages.success(request, "Sharing has been ended.")
    return redirect("job-sharing", job_id=job.id) if job.owner_id == person(request).pk else redirect("/")


@login_required
@require_safe
def payload_looks(request: HttpRequest, job_id: str) -> HttpResponse:
    """All of them, page by page."""
    job = visible_job(request, job_id)
    if not _may_see_looks(request, job):
        raise Http404
    page = Paginator(PayloadLook.objects.filter(job_id=job.id), LOOKS_A_PAGE).get_page(request.GET.get("page"))
    context = {"job": job, "page": page, "log_days": settings.PAYLOAD_LOG_DAYS}
    return render(request, "people/looks.html", context)


@login_required
@require_POST
def hold_job(request: HttpRequest, job_id: str) -> HttpResponse:
    job, form = visible_job(request, job_id), HoldForm(request.POST)
    if not holds.may_set(person(request), job):
        raise Http404
    if not form.is_valid():
        return _page(request, job, hold_form=form, status=422)
    reason = form.cleaned_data["reason"]
    return _done(request, job, lambda: holds.put(job, by=person(request), reason=reason), "The job is on hold now.")


@login_required
@require_POST
def lift_hold(request: HttpRequest, job_id: str) -> HttpResponse:
    job = visible_job(request, job_id)
    return _done(request, job, lambda: holds.lift(job, by=person(request)), "The hold has been lifted.")


def _done(request: HttpRequest, job: Job, act: Callable[[], object], said: str) -> HttpResponse:
    try:
        act()
    except (Refused, Problem) as fault:
        messages.error(request, str(fault), extra_tags="bad")
    else:
        messages.success(request, said)
    return redirect("job-sharing", job_id=job.id)


def _own(request: HttpRequest, job_id: str) -> Job:
    return get_object_or_404(Job, id=job_id, owner=person(request))


def _may_see_looks(request: HttpRequest, job: Job) -> bool:
    return person(request).is_staff or job.owner_id == person(request).pk


def _page(request: HttpRequest, job: Job, *, status: int = 200, **forms: ShareForm | HoldForm) -> HttpResponse:
    user = person(request)
    own, hold = job.owner_id == user.pk, holds.of(job)
    looks = PayloadLook.objects.filter(job_id=job.id) if _may_see_looks(request, job) else PayloadLook.objects.none()
    context = {
        "job": job,
        "own": own,
        "form": forms.get("form") or ShareForm(),
        "hold_form": forms.get("hold_form") or HoldForm(),
        "shares": sharing.of(job),
        "my_share": JobShare.objects.filter(job_id=job.id, user=user).first(),
        "hold": hold,
        "may_hold": hold is None and holds.may_set(user, job),
        "may_lift": hold is not None and holds.may_lift(user, hold),
        "retention_days": settings.RETENTION_DAYS,
        "sees_looks": _may_see_looks(request, job),
        "looks": looks[:LOOKS_SHOWN],
        "looks_in_all": looks.count(),
        "log_days": settings.PAYLOAD_LOG_DAYS,
        "trail": AuditEntry.objects.filter(target=job.id).select_related("actor")[:50] if own else [],
    }
    return render(request, "people/sharing.html", context, status=status)
