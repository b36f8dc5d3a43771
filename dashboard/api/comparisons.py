"""Two attempts side by side."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import P, QueryEx, Router

from dashboard.api.auth import caller
from dashboard.api.schemas import Comparison, Error
from dashboard.comparing import Chosen, compare

router = Router(tags=["replays"])
MOST = 2**31 - 1


@router.get("/compare", response={200: Comparison, 404: Error, 409: Error, 422: Error, 503: Error})
def compare_attempts(
    request: HttpRequest,
    job: QueryEx[str, P(max_length=32)],
    task: QueryEx[str, P(max_length=200)],
    attempt: QueryEx[int, P(ge=0, le=MOST)] = 0,
    other_job: QueryEx[str, P(max_length=32)] = "",
    other_task: QueryEx[str, P(max_length=200)] = "",
    other_attempt: QueryEx[int | None, P(ge=0, le=MOST)] = None,
) -> dict[str, Any]:
    """Of one job, or of two; the other side is the same where it is not given."""
    other = (0 if other_job and other_job != job else 1) if other_attempt is None else other_attempt
    first, second = Chosen(job, task, attempt), Chosen(other_job or job, other_task or task, other)
    return {"report": compare(caller(request), first, second)}
