"""The API, version 1: its routers, who may call them, and how every kind of failure reads."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from ninja import NinjaAPI, Swagger
from ninja.errors import HttpError, ValidationError

from dashboard.api import (
    access,
    audits,
    breakpoints,
    comparisons,
    forks,
    jobs,
    measures,
    notes,
    paths,
    questions,
    recoveries,
    replays,
    spacetime,
    steps,
    tables,
    uploads,
)
from dashboard.api.auth import BySession, ByToken
from dashboard.api.failures import problem_of
from dashboard.middleware import problem_response
from dashboard.problems import Problem

View = Callable[..., HttpResponse]
log = logging.getLogger("clonoscope.api")

DESCRIPTION = """\
Upload bundles of causal logs, follow their ingest, read their tables, replay failures and read the steps.

Send an API token as `Authorization: Bearer …` (make one on the account page), or be logged in.
What is not yours and not shared with you does not exist: 404.
Every error reads `{"error": {"code", "message", "detail"}}`.
"""


def _for_people(view: View) -> View:
    """The documentation is for whoever may call what it documents."""
    return login_required(require_safe(view))


api = NinjaAPI(
    title="Clonoscope",
    version="1",
    description=DESCRIPTION,
    urls_namespace="api",
    auth=[ByToken(), BySession()],
    docs=Swagger({"persistAuthorization": False, "tryItOutEnabled": False, "validatorUrl": None}),
    docs_decorator=_for_people,
)
for router in (
    jobs.router,
    access.router,
    uploads.router,
    tables.router,
    measures.router,
    questions.router,
    paths.router,
    recoveries.router,
    spacetime.router,
    replays.router,
    steps.router,
    breakpoints.router,
    notes.router,
    forks.router,
    comparisons.router,
    audits.router,
):
    api.add_router("/v1", router)


def _answer(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    if not isinstance(error, Exception):
        return problem_response(Problem(500))
    problem = problem_of(error)
    if problem.status >= 500:
        log.error("%s %s: %s", request.method, request.path, problem.message, exc_info=error)
    return problem_response(problem)


for kind in (Exception, Problem, Http404, HttpError, ValidationError, PermissionDenied):
    api.add_exception_handler(kind, _answer)
