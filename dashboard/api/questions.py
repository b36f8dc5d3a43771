"""SQL over a job's tables: one question, one answer."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest, StreamingHttpResponse
from ninja import P, QueryEx, Router

from dashboard.api.auth import caller
from dashboard.api.presenting import visible_job
from dashboard.api.schemas import AnswerPage, Error, QuestionIn
from dashboard.api.tables import readable
from dashboard.questions import Which, ask, download
from ingest.lake.askable import MOST_ROWS

router = Router(tags=["tables"])
_FAULTS = {404: Error, 409: Error, 422: Error, 429: Error, 503: Error}


@router.post("/jobs/{job_id}/sql", response={200: AnswerPage, **_FAULTS})
def ask_question(
    request: HttpRequest,
    job_id: str,
    question: QuestionIn,
    skip: QueryEx[int, P(ge=0, le=10_000_000)] = 0,
    limit: QueryEx[int, P(ge=1, le=MOST_ROWS)] = 200,
) -> dict[str, Any]:
    """One SELECT over the job's tables, and those of its replays as `replay_<id>.<table>`. It reads no files and no
    other jobs, and has 20 seconds and 1.5 GiB. `more` says that further rows stand behind these: `skip` leads there."""
    user = caller(request)
    job = visible_job(user, job_id)
    readable(job)
    return ask(user, job, question.sql, Which(skip, limit, question.order, question.descending))


@router.post("/jobs/{job_id}/sql/{kind}", response=_FAULTS)
def download_answer(
    request: HttpRequest, job_id: str, kind: Literal["csv", "json", "arrow", "parquet"], question: QuestionIn
) -> StreamingHttpResponse:
    """The whole answer as a file of at most 256 MiB, or a refusal: never a part of it. JSON has an object a line."""
    user = caller(request)
    job = visible_job(user, job_id)
    readable(job)
    return download(user, job, question.sql, kind)
