"""What a log says that calls to the outside gave."""

from __future__ import annotations

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.log.determinants import Serializable
from replay.model import MAIN, TaskId
from replay.services.external import call_fields

_RAISED = b'"raised"'


def check_calls(source: RecordingSource, task: TaskId, attempt: int) -> None:
    """Raises `DivergenceFound` at the first call that gave a value and raised as well: none does both."""
    for epoch in source.epochs(task, attempt, MAIN):
        if _RAISED not in source.log_bytes(task, attempt, MAIN, epoch):
            continue
        for offset, _, one in source.determinants(task, attempt, MAIN, epoch):
            fields = (call_fields(one) or {}) if isinstance(one, Serializable) else {}
            if "raised" in fields and "value" in fields:
                path = member_name(task, attempt, MAIN, epoch)
                raise DivergenceFound(
                    f"{path} at offset {offset}: the log says of a call that it gave a value and that it raised, and "
                    f"none does both.",
                    member=path,
                    thread=MAIN,
                    epoch=epoch,
                    offset=offset,
                )
