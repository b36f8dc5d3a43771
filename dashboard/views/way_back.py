"""Where a form of a replay's page leads back to: the step that it was sent from."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from dashboard.models import Replay
from dashboard.views.parameters import whole_of


def back_to_step(request: HttpRequest, replay: Replay, part: str = "") -> HttpResponse:
    """`part`: of the page, by its id."""
    step = whole_of(request.POST.get("step", ""), 0)
    return redirect(f"{reverse('replay', args=[replay.id])}?step={step}{f'#{part}' if part else ''}")
