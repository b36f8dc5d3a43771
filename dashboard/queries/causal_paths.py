"""The causal path of one attempt."""

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


def causal_path(job: Job, task: str, attempt: int) -> Any:
    """What `python -m replay.causality` says of this attempt; Problem where it cannot say."""
    return _PATH.asked_of(job, f"--task={task}", f"--attempt={attempt}")
