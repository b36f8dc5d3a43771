"""Logging in and out: by password, slowed down after failures, and by a one-time link."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from dashboard.models import OneTimeLink
from dashboard.people import links, throttle
from dashboard.people.forms import NewPasswordForm

MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


class Login(LoginView):
    """One sentence for a wrong name, a wrong password and a closed account."""

    template_name = "people/login.html"
    redirect_authenticated_user = True
    extra_context = {"embedded": settings.EMBEDDED}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name, address = request.POST.get("username", ""), request.META.get("REMOTE_ADDR", "")
        try:
            self.attempt = throttle.begin(name, address)
        except throttle.SlowDown as slow:
            form = AuthenticationForm(request)
            response = self.render_to_response(self.get_context_data(form=form, slow=str(slow)), status=429)
            response.headers["Retry-After"] = str(slow.wait_s)
            return response
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        throttle.succeeded(self.attempt)
        return super().form_valid(form)


@sensitive_post_parameters()
@never_cache
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def enter(request: HttpRequest) -> HttpResponse:
    """GET shows a button and changes nothing, so a previewing mail program uses nothing up; POST logs in."""
    if request.method != "POST":
        return render(request, "people/enter.html")
    try:
        user = links.use(_secret_of(request), OneTimeLink.Purpose.LOGIN)
    except links.LinkError as error:
        return render(request, "people/enter.html", {"error": str(error)}, status=403)
    login(request, user, backend=MODEL_BACKEND)
    return redirect("/")


def accept_invitation(request: HttpRequest) -> HttpResponse:
    return _new_password(request, OneTimeLink.Purpose.INVITE)


def reset_password(request: HttpRequest) -> HttpResponse:
    return _new_password(request, OneTimeLink.Purpose.RESET)


@sensitive_post_parameters()
@never_cache
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def _new_password(request: HttpRequest, purpose: OneTimeLink.Purpose) -> HttpResponse:
    """The link is used up only by a password that is accepted."""
    template, context = "people/new_password.html", {"purpose": purpose.value}
    if request.method != "POST":
        return render(request, template, {"form": NewPasswordForm(User()), **context})
    secret = _secret_of(request)
    link = links.holds(secret, purpose)
    form = NewPasswordForm(link.user if link else User(), request.POST)
    if link is None:
        context["error"] = "This link has been used, has expired or was never issued. Ask for a new one."
        return render(request, template, {"form": form, **context}, status=403)
    if not form.is_valid():
        # The address holds the secret no more: without it in the form the next try would have none.
        return render(request, template, {"form": form, "secret": secret, **context}, status=422)
    try:
        links.use(secret, purpose)
    except links.LinkError as error:
        return render(request, template, {"form": form, "error": str(error), **context}, status=403)
    form.save()
    login(request, link.user, backend=MODEL_BACKEND)
    return redirect("/")


def _secret_of(request: HttpRequest) -> str:
    # Who copies the whole address into the field means its end.
    return request.POST.get("secret", "").rpartition("#")[2].strip()
