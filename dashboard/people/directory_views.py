"""For those who run the place: who has an account, invite and reset links, quotas, the audit trail."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Sum
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from dashboard.models import AuditEntry, OneTimeLink, Quota
from dashboard.people import audit, links
from dashboard.people.forms import InviteForm, QuotaForm
from dashboard.people.identity import person

View = Callable[..., HttpResponse]
GIB = 1 << 30


def staff_only(view: View) -> View:
    """To everybody else these pages do not exist."""

    @login_required
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not person(request).is_staff:
            raise Http404
        return view(request, *args, **kwargs)

    return guarded


@staff_only
@require_safe
def people(request: HttpRequest) -> HttpResponse:
    return _page(request)


@staff_only
@never_cache
@require_POST
def invite(request: HttpRequest) -> HttpResponse:
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _page(request, invite_form=form, status=422)
    by, asked = person(request), form.cleaned_data
    with transaction.atomic():
        user = User(username=asked["username"], is_staff=asked["is_staff"] and by.is_superuser)
        user.set_unusable_password()
        user.save()
        _set_quota(user, asked["quota_gib"])
        path = links.issue(user, OneTimeLink.Purpose.INVITE, by)
        audit.note(by, "person.invite", user.username, staff=user.is_staff)
    return _link_shown(request, user, path, "invite")


@staff_only
@never_cache
@require_POST
def issue_reset(request: HttpRequest, user_id: int) -> HttpResponse:
    user, by = get_object_or_404(User, id=user_id, is_active=True), person(request)
    if user.is_superuser and not by.is_superuser:
        raise Http404
    purpose = OneTimeLink.Purpose.RESET if user.has_usable_password() else OneTimeLink.Purpose.INVITE
    with transaction.atomic():
        path = links.issue(user, purpose, by)
        audit.note(by, f"link.{purpose.value}", user.username)
    return _link_shown(request, user, path, purpose.value)


@staff_only
@require_POST
def set_quota(request: HttpRequest, user_id: int) -> HttpResponse:
    user, form = get_object_or_404(User, id=user_id), QuotaForm(request.POST)
    if not form.is_valid():
        return _page(request, status=422, error="A quota is a whole number of GiB, or empty for the usual one.")
    with transaction.atomic():
        _set_quota(user, form.cleaned_data["quota_gib"])
        audit.note(person(request), "quota.set", user.username, gib=form.cleaned_data["quota_gib"])
    messages.success(request, f"The quota of {user.username} has been set.")
    return redirect("people")


@staff_only
@require_safe
def audit_trail(request: HttpRequest) -> HttpResponse:
    page = Paginator(AuditEntry.objects.select_related("actor"), 100).get_page(request.GET.get("page"))
    return render(request, "people/audit.html", {"page": page})


def _set_quota(user: User, gib: int | None) -> None:
    if gib is None:
        Quota.objects.filter(user=user).delete()
    else:
        Quota.objects.update_or_create(user=user, defaults={"max_bytes": gib * GIB})


def _link_shown(request: HttpRequest, user: User, path: str, purpose: str) -> HttpResponse:
    link = request.build_absolute_uri(path)
    return _page(request, link=link, link_user=user, link_purpose=purpose, status=201)


def _page(request: HttpRequest, *, status: int = 200, **context: object) -> HttpResponse:
    accounts = User.objects.select_related("quota").annotate(stored=Sum("jobs__bytes")).order_by("username")
    shown = {"accounts": accounts, "invite_form": InviteForm(), "usual_quota": settings.QUOTA_BYTES, **context}
    return render(request, "people/people.html", shown, status=status)
