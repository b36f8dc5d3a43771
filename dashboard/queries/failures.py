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
    again_us: int | None = None

    @property
    def detection_us(self) -> int | None:
        return between(self.failed_us, self.detected_us)

    @property
    def takeover_us(self) -> int | None:
        return between(self.failed_us, self.action_us)

    @property
    def recovery_us(self) -> int | None:
        return between(self.failed_us, self.running_us)

    @property
    def ended_us(self) -> int | None:
        """When its recovery was over: it was running again, or another failure or a rollback ended it."""
        ends = (self.running_us, self.again_us, self.rollback_us)
        return next((t_us for t_us in ends if t_us is not None), None)

    @property
    def helper(self) -> str:
        """Who went on in its place."""
        if self.action is None:
            if self.rollback_us is not None:
                return "every task anew"
            return "nobody" if self.next_attempt is None else "new attempt"
        return "standby" if self.action == "standby-activated" else "new attempt"

    @property
    def restored_checkpoint(self) -> int | None:
        """What its successor began with, by itself or with all the others."""
        return self.rollback_checkpoint if self.checkpoint is None else self.checkpoint

    @property
    def went_on_at_a_loss(self) -> bool:
        """Whether choices that bind others were lost, and it went on all the same."""
        return self.escalated_us is not None and self.running_us is not None and self.rollback_us is None

    @property
    def suspected(self) -> bool:
        """Whether the task did not fail: its heartbeats were missed, and it was fenced."""
        return self.cause == "suspected"

    @property
    def outcome(self) -> str:
        """One word for a table, where a sentence stands beside it."""
        if self.went_on_at_a_loss:
            return "choices lost"
        if self.escalated_us is not None:
            return "escalated"
        if self.running_us is not None:
            return "recovered"
        if self.again_us is not None:
            return "failed again"
        if self.rollback_us is not None:
            return "rolled back"
        if self.action_us is not None:
            return "unfinished"
        return "end not told" if self.detected_us is None else "not recovered"


def job_failures(lake: Lake, *, job: str) -> list[Failure]:
    """In the order in which they happened."""
    rollbacks = lake.rows(ROLLBACKS_SQL, job=job)
    found = [Failure(*row) for row in lake.rows(_SQL, job=job)]
    return [_ended(failure, found, rollbacks) for failure in found]


def _ended(failure: Failure, others: list[Failure], rollbacks: list[tuple[int, int | None]]) -> Failure:
    """A recovery that came to no end of its own was ended by another failure of the task, or by a global rollback.

    A rollback ends every recovery under way, not only that of the failure which asked for it.
    """
    failed_us = failure.failed_us
    if failed_us is None or failure.running_us is not None:
        return failure
    failure = replace(failure, again_us=_failed_again_us(failure, others))
    by_us = failure.again_us
    ends = next((one for one in rollbacks if one[0] is not None and one[0] >= failed_us), None)
    if ends is None or (by_us is not None and by_us < ends[0]):
        return failure
    return replace(failure, rollback_us=ends[0], rollback_checkpoint=ends[1], again_us=None)


def _failed_again_us(failure: Failure, others: list[Failure]) -> int | None:
    """When the very attempt that was to take over failed too."""
    attempt = failure.next_attempt if failure.attempt is None else failure.attempt + 1
    times = [one.failed_us for one in others if (one.task, one.attempt) == (failure.task, attempt)]
    return next((t_us for t_us in times if t_us is not None), None)


def between(start_us: int | None, end_us: int | None) -> int | None:
    """How long it was; None where either end is not told."""
    return None if start_us is None or end_us is None else end_us - start_us
