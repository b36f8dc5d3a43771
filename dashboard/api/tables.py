"""Tables of a job's lake folder, page by page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import P, QueryEx, Router

from dashboard import jobs, payloads
from dashboard.api.auth import caller
from dashboard.api.presenting import visible_job
from dashboard.api.schemas import Error, TablePage
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.lake import lake
from dashboard.queries.tables import MOST_ROWS, table_page
from ingest.lake.readers import PublishedJob
from ingest.lake.sealing import HIDDEN

router = Router(tags=["tables"])


@router.get("/jobs/{job_id}/tables/{table}", response={200: TablePage, 404: Error, 409: Error, 422: Error})
def read_table(
    request: HttpRequest, job_id: str, table: str, cursor: str = "", limit: QueryEx[int, P(ge=1, le=MOST_ROWS)] = 200
) -> dict[str, Any]:
    """Rows in the order of the table's key. Filter with `column=value`, `column.from=` (inclusive), `column.to=`
    (exclusive). Bytes are in hexadecimal. A page ends at `limit` rows or earlier where rows are large: go on while
    there is a cursor."""
    job = visible_job(caller(request), job_id)
    published = readable(job)
    hidden = sorted({name.partition(".")[0] for name in request.GET} & set(HIDDEN.get(table, ())))
    if hidden:
        payloads.refuse_hidden(job.id, f"{', '.join(hidden)}: what a table is filtered by tells values.")
    filters = {name: str(value) for name, value in request.GET.items() if name not in ("cursor", "limit")}
    page = table_page(published, table, filters, cursor, limit)
    return {"columns": page.columns, "rows": page.rows, "cursor": page.cursor}


def readable(job: Job) -> PublishedJob:
    """The tables that are published now; 409 where there are none, or none that this version reads."""
    if not job.readable:
        raise Problem(409, f"The job is {job.status}; its tables cannot be read yet.", code="not-ready")
    if jobs.reingest_if_older(job):
        raise Problem(409, "The job's tables are of an older version; they are being made anew.", code="not-ready")
    return lake().job(job.id)
