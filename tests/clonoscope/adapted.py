"""What a recording of an adapted engine must hold, after a kill and its recovery; and what the product makes of it."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clonoscope.command import main
from clonoscope.reading import attempts_of
from dashboard.queries.failures import Failure, job_failures
from dashboard.queries.tasks import task_summaries
from dashboard.queries.timeline import timeline
from ingest.lake.readers import Lake
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.bundle.reader import Bundle, open_bundle
from replay.debugger.sides.attempts import Side, compare_attempts
from tests.clonoscope.engines import JOBS
from tests.ingest.inprocess import ingested_here, rows_of


def answers(recording: Path, task: str, attempt: int) -> list[tuple[int | None, int, Any]]:
    """What an attempt was given, with its epoch and how many records it had taken by then."""
    (log,) = [one for one in attempts_of(recording) if (one.task, one.attempt) == (task, attempt)]
    calls = [one for one in log.entries() if one.kind == "call"]
    return [(one.epoch, one.taken, one.fields.get("value")) for one in calls]


def gaps(recording: Path) -> list[str]:
    return [one.fields["why"] for log in attempts_of(recording) for one in log.entries() if one.kind == "gap"]


@contextlib.contextmanager
def dumped(recording: Path, out: Path) -> Iterator[Bundle]:
    """By the command, as who has killed a job does it."""
    assert main(["dump", str(recording), "--out", str(out)]) == 0
    with open_bundle(out) as bundle:
        assert bundle.check_shape() == []
        yield bundle


@dataclass(frozen=True)
class Shown:
    """What the job's page is made of."""

    failures: list[Failure]
    attempts: dict[str, int]
    lanes: list[dict[str, Any]]
    rows: dict[str, list[dict[str, Any]]]


def shown(bundle: Path, folder: Path, tables: tuple[str, ...] = ("sources", "sinks", "sites")) -> Shown:
    """After an ingest."""
    with open_container(bundle) as container:
        write_pack(container, folder / "bundle.pack")
    job, result = ingested_here(folder / "bundle.pack", folder / "data")
    assert result["status"] == "ready" and rows_of(job, "rejects") == []
    lake = Lake(folder / "data")
    with open_bundle(bundle) as opened:
        manifest = opened.manifest
    failures = job_failures(lake, job="j_1")
    tasks = [(task.id, task.vertex) for task in manifest.tasks]
    summaries = task_summaries(lake, job="j_1", tasks=tasks, failed=[one.task for one in failures])
    picture = timeline(lake, job="j_1", manifest=manifest, failures=failures)
    rows = {table: rows_of(job, table) for table in tables}
    return Shown(failures, {one.task: one.attempts for one in summaries}, picture["lanes"], rows)


def side_by_side(bundle: Bundle, task: str, first: int = 0, second: int = 1) -> dict[str, Any]:
    """As `manage.py compare` and `/compare/` have it."""
    sides = (Side(bundle, task, attempt, f"attempt {attempt}") for attempt in (first, second))
    return compare_attempts(*sides)


def place_of(job: str, text: str) -> str:
    """The one line of a sample job that reads so, as reports name it."""
    (number,) = [at for at, line in enumerate((JOBS / job).read_text().splitlines(), 1) if line.strip() == text]
    return f"{job}:{number} `{text}`"
