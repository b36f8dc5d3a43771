"""The causal path of one attempt, and what it cost to share its logs."""

from __future__ import annotations

from typing import Any

from dashboard.models import Job
from dashboard.worked_out import Question

_PATH = Question(
    module="replay.causality",
    version=1,
    folder="paths",
    what="causal path",
    remedy="Choose an attempt that ran shorter.",
    code="no-causal-path",
)


_SHARING = Question(
    module="replay.causality",
    version=1,
    folder="sharing",
    what="cost of sharing a log",
    remedy="Choose an attempt that ran shorter, or a task further downstream.",
    code="no-sharing",
)


def causal_path(job: Job, task: str, attempt: int) -> Any:
    """What `python -m replay.causality` says of this attempt; Problem where it cannot say."""
    return _PATH.asked_of(job, f"--task={task}", f"--attempt={attempt}")


def sharing(job: Job, task: str, attempt: int) -> Any:
    """What `python -m replay.causality --sharing` says of it; Problem where it cannot say."""
    return _SHARING.asked_of(job, f"--task={task}", f"--attempt={attempt}", "--sharing")
