"""The phases of a recovery, from the failure until the task was running again, as the recording's events bound them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dashboard.queries.failures import Failure
from ingest.lake.readers import Lake

RECOVERIES_SHOWN = 4
PHASE_OF_STATE = {
    "Standby": "restoring",
    "WaitingConnections": "connections",
    "WaitingDeterminants": "determinants",
    "Replaying": "replay",
}

_STATES_SQL = """
SELECT "to", t_us FROM events
WHERE type = 'recovery-state' AND task = $task AND t_us >= $start_us AND t_us <= $end_us
  AND n > (SELECT coalesce(max(n), -1) FROM events WHERE type = 'task-failed' AND failure = $failure)
ORDER BY n
"""


@dataclass(frozen=True, slots=True)
class Phase:
    """`percent` and `start_percent` of the whole recovery, for the picture."""

    name: str
    start_us: int
    duration_us: int
    start_percent: float
    percent: float


@dataclass(frozen=True, slots=True)
class Recovery:
    failure: Failure
    phases: list[Phase]


def recoveries(lake: Lake, *, job: str, failures: list[Failure]) -> list[Recovery]:
    """Of the first failures that were recovered from; the table of failures has them all."""
    ended = [one for one in failures if one.failed_us is not None and one.running_us is not None]
    return [Recovery(one, _phases(lake, job, one)) for one in ended[:RECOVERIES_SHOWN]]


def _phases(lake: Lake, job: str, failure: Failure) -> list[Phase]:
    start_us, end_us = failure.failed_us or 0, failure.running_us or 0
    params = {"task": failure.task, "start_us": start_us, "end_us": end_us, "failure": failure.failure}
    marks = [("detection", start_us)]
    if failure.detected_us is not None:
        marks.append(("activation", failure.detected_us))
    if failure.started_us is not None:
        marks.append(("restoring", failure.started_us))
    marks += [
        (PHASE_OF_STATE[state], t_us)
        for state, t_us in lake.rows(_STATES_SQL, params, job=job)
        if state in PHASE_OF_STATE
    ]
    marks.sort(key=lambda mark: mark[1])
    ends = [*(t_us for _, t_us in marks[1:]), end_us]
    whole_us = max(1, end_us - start_us)
    phases = [
        Phase(name, t_us, until - t_us, 100 * (t_us - start_us) / whole_us, 100 * (until - t_us) / whole_us)
        for (name, t_us), until in zip(marks, ends, strict=True)
        if until > t_us
    ]
    if failure.detected_us is None and [phase.name for phase in phases] == ["detection"]:
        return [replace(phases[0], name="down")]
    return phases
