"""Lines of source that asked for what a log holds, by the numbers that an attempt's calls name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from ingest.lake.readers import PublishedJob

_SQL = """
SELECT site, file, line, text FROM sites WHERE task = $task AND attempt = $attempt AND site IN (SELECT unnest($sites))
"""


def site_lines(job: PublishedJob, *, task: str, attempt: int, sites: Iterable[int]) -> dict[int, str]:
    """`orders.py:12 `price = look_up(sku)``, as comparisons and verdicts have it."""
    wanted = sorted(set(sites))
    if not wanted:
        return {}
    rows = job.rows(_SQL, {"task": task, "attempt": attempt, "sites": wanted})
    return {site: _line(file, line, text) for site, file, line, text in rows if file}


def _line(file: str, line: int | None, text: str | None) -> str:
    place = f"{PurePosixPath(file).name}:{line}" if line is not None else PurePosixPath(file).name
    return f"{place} `{text}`" if text else place
