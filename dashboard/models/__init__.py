"""What the database holds: people, jobs, replays and work; never log rows."""

from dashboard.models.audit import AuditEntry
from dashboard.models.audits import JobAudit
from dashboard.models.breakpoints import Breakpoint
from dashboard.models.jobs import Job, JobShare, new_job_id
from dashboard.models.keeping import LegalHold, PayloadLook, Tombstone
from dashboard.models.notes import Note
from dashboard.models.people import ApiToken, LoginFailure, OneTimeLink, Quota
from dashboard.models.replays import Replay, new_replay_id
from dashboard.models.status import Status
from dashboard.models.tags import JobTag
from dashboard.models.uploads import Upload, new_upload_id
from dashboard.models.work import Work

__all__ = [
    "ApiToken",
    "AuditEntry",
    "Breakpoint",
    "Job",
    "JobAudit",
    "JobShare",
    "JobTag",
    "LegalHold",
    "LoginFailure",
    "Note",
    "OneTimeLink",
    "PayloadLook",
    "Quota",
    "Replay",
    "Status",
    "Tombstone",
    "Upload",
    "Work",
    "new_job_id",
    "new_replay_id",
    "new_upload_id",
]
