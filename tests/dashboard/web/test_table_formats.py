"""A table's page in every format holds the same rows, leads on to the next page, and shows nobody what is hidden."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from django.contrib.auth.models import User

from bench.without_spark import ingest_here
from dashboard.models import Job, JobShare, Status
from ingest.lake.publish import publish
from ingest.lake.schema import LAKE_TABLES, SCHEMA_VERSION
from ingest.lake.sealing import SIGN
from tests.dashboard.web.people import HOST, ask, script
from tests.ingest.made import random_recording

pytestmark = pytest.mark.usefixtures("sqlite")
READ = {
    "csv": lambda data: pa.Table.from_pylist(list(csv.DictReader(io.StringIO(data.decode())))),
    "arrow": lambda data: pa.ipc.open_stream(data).read_all(),
    "parquet": lambda data: pa.parquet.read_table(pa.BufferReader(data)),
}
TYPES = {
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}


@pytest.fixture
def owner(settings) -> User:
    settings.ALLOWED_HOSTS = [HOST]
    return User.objects.create_user("ada")


@pytest.fixture
def job(owner: User, data: Path, tmp_path: Path) -> Job:
    job = Job.objects.create(
        owner=owner, name="made", content_id="c" * 64, bytes=1, status=Status.READY, schema_version=SCHEMA_VERSION
    )
    pack = random_recording(11).pack(tmp_path / "made")
    ingest_here(job.id, pack, data / "staging" / "w-0")
    publish(data, data / "staging" / "w-0", job.id, "w", 0)
    return job


def get(job: Job, user: User, table: str, asked: str = "", **headers: str) -> Any:
    return ask("GET", f"/api/v1/jobs/{job.id}/tables/{table}?{asked}", {**script(user), **headers})


def plain(rows: pa.Table) -> list[list[Any]]:
    """As JSON tells them."""
    columns = [column.to_pylist() for column in rows.columns]
    return [[one.hex() if isinstance(one, bytes) else one for one in row] for row in zip(*columns, strict=True)]


def all_of(job: Job, user: User, table: str, kind: str) -> list[list[Any]]:
    rows, cursor = [], ""
    while cursor is not None:
        answer = get(job, user, table, f"format={kind}&limit=37&cursor={cursor}")
        assert answer.status_code == 200, answer.text
        page = READ[kind](answer.content)
        assert int(answer.headers["X-Rows"]) == len(page)
        assert page.column_names == LAKE_TABLES[table].schema.names or not len(page)
        rows += plain(page)
        cursor = answer.headers.get("X-Cursor")
        assert (cursor is None) == ("Link" not in answer.headers)
    return rows


def told(job: Job, user: User, table: str) -> list[list[Any]]:
    rows, cursor = [], ""
    while cursor is not None:
        page = get(job, user, table, f"limit=37&cursor={cursor}").json()
        rows += page["rows"]
        cursor = page["cursor"]
    return rows


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_every_table_is_the_same_in_formats_with_types(job: Job, owner: User, kind: str) -> None:
    for table in LAKE_TABLES:
        assert all_of(job, owner, table, kind) == told(job, owner, table), table


def test_csv_holds_the_same_as_text(job: Job, owner: User) -> None:
    for table in ("determinants", "events", "sinks"):
        as_text = [
            ["" if one is None else str(one).lower() if isinstance(one, bool) else str(one) for one in row]
            for row in told(job, owner, table)
        ]
        assert [[one or "" for one in row] for row in all_of(job, owner, table, "csv")] == as_text


@pytest.mark.parametrize("kind", TYPES)
def test_the_header_chooses_and_the_parameter_wins(job: Job, owner: User, kind: str) -> None:
    answer = get(job, owner, "epochs", Accept=f"text/html;q=0.1, {TYPES[kind]}")
    assert answer.headers["Content-Type"].startswith(TYPES[kind]) and READ[kind](answer.content).num_rows
    assert get(job, owner, "epochs", "format=json", Accept=TYPES[kind]).json()["rows"]
    assert get(job, owner, "epochs", Accept="*/*").json()["rows"]
    assert get(job, owner, "epochs", Accept="image/png").status_code == 406


def test_what_cannot_be_asked_is_said(job: Job, owner: User) -> None:
    assert get(job, owner, "epochs", "limit=1001").status_code == 422
    assert get(job, owner, "epochs", "limit=1001&format=arrow").status_code == 200
    assert get(job, owner, "epochs", "format=xml").status_code == 422
    twice = get(job, owner, "determinants", "kind=order&kind=rng")
    assert twice.status_code == 422 and "kind: given twice" in twice.text


@pytest.mark.parametrize("kind", TYPES)
def test_no_format_tells_hidden_values(job: Job, owner: User, kind: str) -> None:
    reader = User.objects.create_user("reader")
    JobShare.objects.create(job=job, user=reader, granted_by=owner, payloads=False)
    open_rows = READ[kind](get(job, owner, "determinants", f"format={kind}&limit=1000").content)
    hidden = READ[kind](get(job, reader, "determinants", f"format={kind}&limit=1000").content)
    for name in ("value", "payload", "timestamp"):
        assert set(hidden[name].to_pylist()) <= {SIGN, None, ""} < set(open_rows[name].to_pylist()) | {SIGN, None, ""}
    assert hidden["offset"].to_pylist() == open_rows["offset"].to_pylist()
    assert get(job, reader, "determinants", f"format={kind}&value.from=1").status_code == 403


def test_the_description_names_every_format(owner: User) -> None:
    told = ask("GET", "/api/openapi.json", script(owner))
    if told.status_code != 200:  # the page of the API is for browsers
        from tests.dashboard.web.people import browser

        told = ask("GET", "/api/openapi.json", browser(owner))
    content = told.json()["paths"]["/api/v1/jobs/{job_id}/tables/{table}"]["get"]["responses"]["200"]["content"]
    assert set(content) == {"application/json", *TYPES.values()}
