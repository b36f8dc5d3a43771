"""The jobs that `record` knows, by name."""

from __future__ import annotations

from replay.jobs.concat import CONCAT
from replay.jobs.enrich import ENRICH
from replay.jobs.load_balance import RANDOM_LOAD_BALANCE
from replay.jobs.nexmark.jobs import NEXMARK_JOBS
from replay.jobs.option_fields import WrongOption
from replay.jobs.pass_through_job import PASS_THROUGH
from replay.jobs.sample import SampleJob
from replay.jobs.windowed import WINDOWED
from replay.jobs.word_count import WORD_COUNT

_ALL = (PASS_THROUGH, WINDOWED, *NEXMARK_JOBS, WORD_COUNT, CONCAT, RANDOM_LOAD_BALANCE, ENRICH)

JOBS: dict[str, SampleJob] = {one.name: one for one in _ALL}
"""What `record --list` names."""


def job_named(name: str) -> SampleJob:
    """The job of that name, if there is one."""
    if name not in JOBS:
        raise WrongOption(f"there is no job {name!r}", remedy=f"Choose one of {', '.join(JOBS)}")
    return JOBS[name]
