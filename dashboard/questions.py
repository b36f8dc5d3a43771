"""Questions in SQL over a job's tables, for its page and the API: each in a child of its own, and few at a time."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import StreamingHttpResponse

from dashboard import payloads, store
from dashboard.api.streams import sent
from dashboard.models import Job, Replay
from dashboard.models.status import Status
from dashboard.problems import Problem, as_sentence
from dashboard.queries.lake import lake
from dashboard.turns import Turns
from ingest.lake.askable import MOST_SQL, Asked
from ingest.lake.schema import LAKE_TABLES
from ingest.lake.step_files import step_files
from ingest.lake.step_schema import STEP_TABLES
from ingest.launch import ReplayChildDied, ReplayFailed, ReplayLimits, run_question

SECONDS = 20
MEMORY_BYTES = 3 << 29
MOST_DOWNLOADED = 256 << 20
AT_ONCE = 2
TRIES = 3
"""Of a job that grows a table may be replaced after it was looked up and before it is read."""
MOST_REPLAYS = 20
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/x-ndjson",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}
_NAMED = re.compile(r"\breplay_(r_[0-9a-z]{12})\b", re.IGNORECASE)
_turns = Turns("Others are asking at this moment; try again.", at_once=AT_ONCE)
_asking: set[int] = set()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Which:
    """Which rows of an answer: from `skip` on, by its column number `order`, from 1, where that is not 0."""

    skip: int = 0
    limit: int = 200
    order: int = 0
    descending: bool = False


@dataclass(frozen=True, slots=True)
class AskableTable:
    """A table as a question names it, with its columns and what those are."""

    name: str
    columns: list[tuple[str, str]]


def ask(user: Any, job: Job, sql: str, which: Which) -> dict[str, Any]:
    """{columns, types, rows, more}. Raises `Problem` 422 where the question can't be answered."""
    return dict(_answered(user, job, sql, {"which": asdict(which)})["page"])


def download(user: Any, job: Job, sql: str, kind: str) -> StreamingHttpResponse:
    """All of the answer, in a file that is gone once it was sent."""
    with tempfile.TemporaryDirectory(prefix="clonoscope-question-") as folder:
        out = Path(folder) / f"{job.id}.{kind}"
        told = _answered(user, job, sql, {"out": str(out), "format": kind})
        # Open, it can still be read when the folder is gone.
        response = sent(out.open("rb"))
    response["Content-Disposition"] = f'attachment; filename="{job.id}.{kind}"'
    response["Content-Type"] = CONTENT_TYPES[kind]
    response["X-Rows"] = str(told["rows"])
    return response


def askable(user: Any, job: Job) -> list[AskableTable]:
    """What may be asked: the job's tables, and those of its newest replays."""
    sealed = not payloads.may_show(job.id)
    names = [("", name) for name in LAKE_TABLES]
    names += [(f"replay_{one.id}", name) for one in _replays(user, job)[:MOST_REPLAYS] for name in STEP_TABLES]
    return [_described(Asked(schema, name, ()), sealed) for schema, name in names]


def _described(one: Asked, sealed: bool) -> AskableTable:
    name = f"{one.schema}.{one.name}" if one.schema else one.name
    return AskableTable(name, [(field.name, str(field.type)) for field in one.columns(sealed=sealed)])


def _answered(user: Any, job: Job, sql: str, wanted: dict[str, Any]) -> dict[str, Any]:
    if not sql.strip():
        raise Problem(422, "Write a question first.")
    if len(sql) > MOST_SQL:
        raise Problem(422, f"The question has {len(sql):,} characters, and may have {MOST_SQL:,}.")
    sealed = not payloads.opened(job.id)
    with _turn(user):
        for _ in range(TRIES):
            tables = [asdict(one) for one in _tables(user, job, sql)]
            told = _run({"sql": sql, "sealed": sealed, "tables": tables, **wanted})
            if "refused" in told:
                raise Problem(422, as_sentence(told["refused"]), code="question-refused")
            if "gone" not in told:
                return told
    raise Problem(409, "The tables were written anew while they were asked. Ask again.", code="not-ready")


def _tables(user: Any, job: Job, sql: str) -> list[Asked]:
    """The job's, and those of the replays that the question names."""
    published = lake().job(job.id)
    found = [Asked("", name, tuple(map(str, published.table_files(name)))) for name in LAKE_TABLES]
    named = {one.lower() for one in _NAMED.findall(sql)}
    for replay in _replays(user, job).filter(id__in=named):
        files = step_files(store.replay_path(replay.id))
        found += [Asked(f"replay_{replay.id}", name, paths) for name, paths in files.items()]
    return found


def _replays(user: Any, job: Job) -> Any:
    return Replay.objects.visible_to(user).filter(job=job, status=Status.READY, steps__gt=0).order_by("-created_at")


@contextmanager
def _turn(user: Any) -> Iterator[None]:
    """One question of a person at a time, so that nobody keeps the others from asking."""
    with _lock:
        if user.pk in _asking:
            raise Problem(429, "You are asking another question at this moment. Wait for its answer.")
        _asking.add(user.pk)
    try:
        with _turns.taken():
            yield
    finally:
        with _lock:
            _asking.discard(user.pk)


def _run(request: dict[str, Any]) -> dict[str, Any]:
    limits = ReplayLimits(MEMORY_BYTES, MOST_DOWNLOADED, open_files=1024, cpu_s=SECONDS, wall_s=SECONDS, chosen=False)
    try:
        return run_question(request, limits, settings.DATA / "logs" / "questions.log")
    except ReplayFailed as failure:
        raise Problem(422, as_sentence(str(failure)), code="question-refused") from None
    except ReplayChildDied:
        why = "The question used more memory or time than it may, and was ended. Ask for less at once."
        raise Problem(422, why, code="question-refused") from None
