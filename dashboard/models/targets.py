"""What work is done for, by the letter that its id begins with: a job, a replay or an audit."""

from __future__ import annotations

from dashboard.models.audits import JobAudit, job_of_audit
from dashboard.models.jobs import Job
from dashboard.models.replays import Replay

Target = Job | Replay | JobAudit
_MODELS: dict[str, type[Target]] = {"j_": Job, "r_": Replay, "a_": JobAudit}


def model_of(target: str) -> type[Target] | None:
    """None where it has no row of its own, as the demo."""
    return _MODELS.get(target[:2])


def job_behind(target: str) -> str | None:
    """The job that it is about; None where there is none, or not any more."""
    match target[:2]:
        case "j_":
            return target
        case "a_":
            return job_of_audit(target)
        case "r_":
            return Replay.objects.filter(id=target).values_list("job", flat=True).first()
    return None
