"""The failures of a job, with what became of each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ingest.lake.readers import Lake

ROLLBACKS_SQL = "SELECT t_us, checkpoint FROM events WHERE type = 'global-rollback' ORDER BY n"
_SQL = """
SELECT failure, task, attempt, cause, together, failed_us, detected_us, detected_by, action, action_us,
       next_attempt, started_us, checkpoint, running_us, escalated_us, escalated_why
FROM failures ORDER BY failed_us NULLS LAST, failure
"""


@dataclass(frozen=True, slots=True)
class Failure:
    failure: int
    task: str
    attempt: int | None
    cause: str | None
    together: int | None
    failed_us: int | None
    detected_us: int | None
    detected_by: str | None
    action: str | None
    action_us: int | None
    next_attempt: int | None
    started_us: int | None
    checkpoint: int | None
    running_us: int | None
    escalated_us: int | None
    escalated_why: str | None
    rollback_us: int | None = None
    rollback_checkpoint: int | None = None

    @property
    def detection_us(self) -> int | None:
        return _between(self.failed_us, self.detected_us)

    @property
    def takeover_us(self) -> int | None:
        return _between(self.failed_us, self.action_us)

    @property
    def recovery_us(self) -> int | None:
        return _between(self.failed_us, self.running_us)

    @property
    def helper(self) -> str:
        """Who went on in its place."""
        return "standby" if self.action == "standby-activated" else "new attempt"

    @property
    def outcome(self) -> str:
        """One word for a table, where a sentence stands beside it."""
        if self.escalated_us is not None:
            return "escalated"
        if self.running_us is not None:
            return "recovered"
        if self.rollback_us is not None:
            return "rolled back"
        return "not recovered" if self.action_us is None else "unfinished"


def job_failures(lake: Lake, *, job: str) -> list[Failure]:
    """In the order in which they happened."""
    rollbacks = lake.rows(ROLLBACKS_SQL, job=job)
    return [_rolled_back(Failure(*row), rollbacks) for row in lake.rows(_SQL, job=job)]


def _rolled_back(failure: Failure, rollbacks: list[tuple[int, int | None]]) -> Failure:
    """A global rollback ends every recovery under way, not only that of the failure which asked for it."""
    if failure.failed_us is None or failure.running_us is not None:
        return failure
    ends = next((one for one in rollbacks if one[0] is not None and one[0] >= failure.failed_us), None)
    return failure if ends is None else replace(failure, rollback_us=ends[0], rollback_checkpoint=ends[1])


def _between(start_us: int | None, end_us: int | None) -> int | None:
    return None if start_us is None or end_us is None else end_us - start_us
