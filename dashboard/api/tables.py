"""Tables of a job's lake folder, page by page, as JSON or in a format of their own."""

from __future__ import annotations

from typing import Any, Literal, get_args
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from ninja import P, QueryEx, Router

from dashboard import jobs, payloads
from dashboard.api.auth import caller
from dashboard.api.presenting import visible_job
from dashboard.api.schemas import Error, HoldersAt, TablePage
from dashboard.models import Job
from dashboard.problems import Problem
from dashboard.queries.determinants import LogEpoch
from dashboard.queries.holders import holders_at
from dashboard.queries.lake import lake
from dashboard.queries.tables import MOST_ROWS, MOST_ROWS_OF_A_FILE, Page, table_page
from ingest.lake.readers import PublishedJob
from ingest.lake.sealing import HIDDEN

router = Router(tags=["tables"])
Format = Literal["json", "csv", "arrow", "parquet"]
CONTENT_TYPES: dict[Format, str] = {
    "json": "application/json",
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
_OWN = ("cursor", "limit", "format")
_FILES = {"schema": {"type": "string", "format": "binary"}}
_TYPED = {"responses": {200: {"content": {kind: _FILES for name, kind in CONTENT_TYPES.items() if name != "json"}}}}


@router.get(
    "/jobs/{job_id}/tables/{table}",
    response={200: TablePage, 403: Error, 404: Error, 406: Error, 409: Error, 422: Error},
    openapi_extra=_TYPED,
)
def read_table(
    request: HttpRequest,
    job_id: str,
    table: str,
    cursor: str = "",
    limit: QueryEx[int, P(ge=1, le=MOST_ROWS_OF_A_FILE)] = 200,
    format: Format | None = None,  # noqa: A002 - its name
) -> dict[str, Any] | HttpResponse:
    """Rows in the order of the table's key. Filter with `column=value`, `column.from=` (inclusive), `column.to=`
    (exclusive). A page ends at `limit` rows or earlier where rows are large: go on while there is a cursor. `format`,
    or the header `Accept`, says how they come: JSON (at most 1,000 rows, bytes in hexadecimal), CSV, an Arrow stream or
    Parquet; of these the header `X-Cursor` has the cursor, and `Link` the address of the next page."""
    job = visible_job(caller(request), job_id)
    published = readable(job)
    chosen = format or _accepted(request)
    if chosen == "json" and limit > MOST_ROWS:
        raise Problem(422, f"limit: a page of JSON has at most {MOST_ROWS:,} rows; other formats have more.")
    page = table_page(published, table, _filters(request, job, table), cursor, limit)
    if chosen == "json":
        return {"columns": page.columns, "rows": page.rows, "cursor": page.cursor}
    return _as_file(request, job, page, chosen)


@router.get("/jobs/{job_id}/holders", response={200: HoldersAt, 404: Error, 409: Error, 422: Error})
def read_holders(
    request: HttpRequest,
    job_id: str,
    task: str,
    t_us: int,
    attempt: QueryEx[int, P(ge=0, lt=2**31)] = 0,
    thread: str = "main",
    epoch: QueryEx[int, P(ge=0, lt=2**63)] = 0,
) -> dict[str, Any]:
    """Who had got how much of an epoch of a log by a moment: those still there first, then who had the most."""
    job = visible_job(caller(request), job_id)
    readable(job)
    if not -(1 << 63) <= t_us < 1 << 63:
        raise Problem(422, "t_us: a time is a 64-bit number of microseconds.")
    return {"holders": holders_at(lake(), job=job.id, log=LogEpoch(task, attempt, thread, epoch), t_us=t_us)}


def readable(job: Job) -> PublishedJob:
    """The tables that are published now; 409 where there are none, or none that this version reads."""
    if not job.readable:
        raise Problem(409, f"The job is {job.status}; its tables cannot be read yet.", code="not-ready")
    if jobs.reingest_if_older(job):
        raise Problem(409, "The job's tables are of an older version; they are being made anew.", code="not-ready")
    return lake().job(job.id)


def _filters(request: HttpRequest, job: Job, table: str) -> dict[str, str]:
    given = {name: values for name, values in request.GET.lists() if name not in _OWN}
    twice = sorted(name for name, values in given.items() if len(values) > 1)
    if twice:
        raise Problem(422, f"{', '.join(twice)}: given twice. Ask for one after the other.")
    hidden = sorted({name.partition(".")[0] for name in given} & set(HIDDEN.get(table, ())))
    if hidden:
        payloads.refuse_hidden(job.id, f"{', '.join(hidden)}: what a table is filtered by tells values.")
    return {name: str(values[0]) for name, values in given.items()}


def _accepted(request: HttpRequest) -> Format:
    """What the header asks for; JSON where it takes anything."""
    preferred = request.get_preferred_type(list(CONTENT_TYPES.values()))
    for name in get_args(Format):
        if CONTENT_TYPES[name] == preferred:
            return name
    raise Problem(406, f"Accept: rows come as {', '.join(CONTENT_TYPES.values())}.", code="not-acceptable")


def _as_file(request: HttpRequest, job: Job, page: Page, kind: Format) -> HttpResponse:
    from ingest.lake.downloads import encoded

    response = HttpResponse(encoded(page.arrow(), kind), content_type=CONTENT_TYPES[kind])
    response["Content-Disposition"] = f'attachment; filename="{job.id}-{page.table}.{kind}"'
    response["Vary"] = "Accept"
    response["X-Rows"] = str(len(page.values))
    if page.cursor is not None:
        asked = {name: value for name, value in request.GET.items() if name != "cursor"}
        response["X-Cursor"] = page.cursor
        response["Link"] = f'<{request.path}?{urlencode({**asked, "format": kind, "cursor": page.cursor})}>; rel="next"'
    return response
