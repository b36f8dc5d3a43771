"""`/jobs/<id>/sql/`: a question over the job's tables and its answer. What is asked stands in the address."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from dashboard import jobs
from dashboard.api.tables import readable
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.questions import CONTENT_TYPES, Which, ask, askable, download
from dashboard.sql_examples import EXAMPLES
from dashboard.templatetags.pages import is_number
from dashboard.views.access import person, visible_job
from dashboard.views.parameters import whole
from dashboard.views.telling import tells_problems
from ingest.lake.askable import MOST_SQL

ROWS = 200
MOST_SKIPPED = 10_000_000


@login_required
@require_safe
@tells_problems
def sql_page(request: HttpRequest, job_id: str) -> HttpResponse:
    job = visible_job(request, job_id)
    if jobs.reingest_if_older(job) or not job.readable:
        return redirect("job", job_id=job.id)
    sql = request.GET.get("q", "")
    context: dict[str, Any] = {
        "job": job,
        "sql": sql,
        "tables": askable(request.user, job),
        "examples": EXAMPLES,
        "most": MOST_SQL,
        "kinds": CONTENT_TYPES,
    }
    if sql.strip() and not _sent_from_elsewhere(request):
        context |= _answer(request, job, sql)
    context["waits"] = bool(sql.strip()) and "answer" not in context and "refused" not in context
    return render(request, "dashboard/sql.html", context)


@login_required
@require_POST
@tells_problems
def sql_download(request: HttpRequest, job_id: str) -> HttpResponseBase:
    job = visible_job(request, job_id)
    readable(job)
    kind = request.POST.get("kind", "")
    if kind not in CONTENT_TYPES:
        raise Problem(422, f"kind: one of {', '.join(CONTENT_TYPES)}.")
    return download(person(request), job, request.POST.get("q", ""), kind)


def _sent_from_elsewhere(request: HttpRequest) -> bool:
    """A page of somebody else's may lead here, and then asks nothing: the person does, by a click."""
    return request.headers.get("Sec-Fetch-Site", "none") == "cross-site"


def _answer(request: HttpRequest, job: Job, sql: str) -> dict[str, Any]:
    skip = min(whole(request, "skip", 0) or 0, MOST_SKIPPED)
    which = Which(skip, ROWS, min(whole(request, "order", 0) or 0, 500), request.GET.get("down") == "1")
    try:
        answer = ask(person(request), job, sql, which)
    except Problem as problem:
        if problem.status not in (422, 429, 503):
            raise
        return {"refused": problem.message}
    shown = len(answer["rows"])
    asked = {"q": sql, **({"order": which.order} if which.order else {}), **({"down": 1} if which.descending else {})}
    return {
        "answer": answer,
        "heads": list(_heads(answer, which, sql)),
        "first": skip + 1,
        "last": skip + shown,
        "earlier": f"?{urlencode({**asked, 'skip': max(0, skip - ROWS)})}" if skip else "",
        "later": f"?{urlencode({**asked, 'skip': skip + shown})}" if answer["more"] else "",
        "data": {"columns": answer["columns"], "types": answer["types"], "rows": answer["rows"]},
    }


def _heads(answer: dict[str, Any], which: Which, sql: str) -> Any:
    """Of each column: its name, its type, where sorting by it leads, how it is sorted now, and whether numbers stand
    below it."""
    for number, (name, kind) in enumerate(zip(answer["columns"], answer["types"], strict=True), 1):
        numbers = all(is_number(row[number - 1]) for row in answer["rows"])
        sorted_now = ("descending" if which.descending else "ascending") if which.order == number else ""
        down = {"down": 1} if sorted_now == "ascending" else {}
        yield name, kind, f"?{urlencode({'q': sql, 'order': number, **down})}", sorted_now, numbers
