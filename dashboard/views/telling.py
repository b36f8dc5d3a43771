"""Operating faults on a page: the sentence that the API gives, in the pages' own look; faults of the program go on."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from dashboard.api.failures import problem_of
from dashboard.problems import Problem
from ingest.launch import IngestError
from replay.errors import ReplayError

View = Callable[..., HttpResponseBase]


def tells_problems(view: View) -> View:
    """A table that is gone, a query over its limits, a bundle that cannot be read: said, with what to do."""

    @wraps(view)
    def told(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except (Problem, IngestError, ReplayError) as error:
            problem = problem_of(error)
            if problem.status >= 500 or problem.status == 410:
                raise
            # Another try helps where something was busy or too much, and not where the address names what is not there.
            context = {"problem": problem, "gone": problem.status == 404, "job_id": kwargs.get("job_id")}
            return render(request, "dashboard/problem.html", context, status=problem.status)

    return told
