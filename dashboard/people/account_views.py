"""One's own account: password, API tokens, what is stored."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from dashboard.models import ApiToken
from dashboard.people import audit, quotas, tokens
from dashboard.people.forms import TokenForm
from dashboard.people.identity import person


@login_required
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    return _page(request)


@sensitive_post_parameters()
@login_required
@require_POST
def change_password(request: HttpRequest) -> HttpResponse:
    form = PasswordChangeForm(person(request), request.POST)
    if not form.is_valid():
        return _page(request, password_form=form, status=422)
    # All other sessions of this person end with the old password; this one goes on.
    update_session_auth_hash(request, form.save())
    messages.success(request, "The password has been changed; all other sessions have ended.")
    return redirect("account")


@login_required
@never_cache
@require_POST
def create_token(request: HttpRequest) -> HttpResponse:
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, token_form=form, status=422)
    token, secret = tokens.issue(person(request), form.cleaned_data["name"])
    audit.note(person(request), "token.create", f"token {token.id}", name=token.name)
    return _page(request, new_token=token, new_secret=secret, status=201)


@login_required
@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, id=token_id, user=person(request))
    tokens.revoke(token)
    audit.note(person(request), "token.revoke", f"token {token.id}", name=token.name)
    messages.success(request, f"The token “{token.name}” has been revoked.")
    return redirect("account")


def _page(request: HttpRequest, *, status: int = 200, **context: object) -> HttpResponse:
    user = person(request)
    shown = {
        "password_form": PasswordChangeForm(user),
        "token_form": TokenForm(),
        "tokens": ApiToken.objects.filter(user=user),
        "used": quotas.used_bytes(user),
        "quota": quotas.quota_bytes(user),
        **context,
    }
    return render(request, "people/account.html", shown, status=status)
