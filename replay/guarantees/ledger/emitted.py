"""What a source gave away, held against what it is recorded to have read."""

from __future__ import annotations

from collections.abc import Mapping

from replay.bundle.members import member_name
from replay.debugger.outcome import Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import Placed, placed_buffers
from replay.errors import ReplayError
from replay.guarantees.ledger.executions import Executions
from replay.guarantees.ledger.shapes import hands_on
from replay.model import Record, TaskId
from replay.runtime.body.records import RecordReader


def check_emitted(source: RecordingSource, executions: Executions, task: TaskId, attempt: int) -> None:
    """Raises `Missing` at the first record that it gave away and is not recorded to have read."""
    lines = (line.get("offset") for line in source.source(task, attempt))
    read = {offset for offset in lines if type(offset) is int}
    begins = _begins(source, executions, task, attempt)
    for k, output in enumerate(source.graph.task(task).outputs):
        reader, whole, placed = RecordReader(output.channel), set[int](), None
        for placed in placed_buffers(source, task, attempt, k):
            for record in [] if placed.frame.is_event else reader.feed(placed.frame.payload):
                own = [offset for of, offset in record.lineage or () if of == task]
                whole.update(own)
                gone = [offset for offset in own if begins <= offset not in read]
                if gone:
                    raise _unread(
                        task,
                        placed,
                        f"has what came of record {gone[0]} of {task}, which attempt {attempt} is not recorded to have "
                        "read",
                    )
        if placed is None or not reader.partial:
            continue
        if whole and read <= whole:
            raise _unread(
                task,
                placed,
                f"ends within a record, and every record that attempt {attempt} of {task} is recorded to have read "
                "went out whole before it",
            )
        if _is_as_read(source, task) and not _may_be_of(source, task, attempt, whole, reader.partial):
            raise _unread(
                task,
                placed,
                f"ends within a record which is none of those that attempt {attempt} of {task} is recorded to have "
                "read and that did not go out whole before it",
            )


def _begins(source: RecordingSource, executions: Executions, task: TaskId, attempt: int) -> int:
    """The first offset that it had to read itself."""
    path = executions.path(task, attempt)
    state = (source.state(task, path[-2].attempt, path[-1].begins) or {}) if len(path) > 1 else {}
    listed = state.get("source")
    found = listed.get("offset") if isinstance(listed, Mapping) else None
    return found if type(found) is int else 0


def _is_as_read(source: RecordingSource, task: TaskId) -> bool:
    """Whether the bytes of what it gives are those of what it reads."""
    return hands_on(source, task) and not source.manifest.raw.get("redactions")


def _may_be_of(source: RecordingSource, task: TaskId, attempt: int, whole: set[int], partial: bytes) -> bool:
    """Whether that is how a record begins that it read, and that did not go out whole; where one is not there itself,
    it may be anything."""
    for line in source.source(task, attempt):
        offset = line.get("offset")
        if type(offset) is not int:
            return True
        if offset in whole:
            continue
        try:
            read = Record.from_json(line.get("record"))
            bodies = [Record(*read[:3], lineage).to_bytes() for lineage in (None, ((task, offset),))]
        except (ReplayError, ValueError):  # a reference, or a text that no bytes are of
            return True
        if any(one.startswith(partial) for one in bodies):
            return True
    return False


def _unread(task: TaskId, placed: Placed, why: str) -> Missing:
    member = member_name(task, int(placed.path.split("/")[2]), "source", placed.frame.epoch, "ndjson")
    return Missing(f"{placed.path} at offset {placed.offset} {why} ({member}).", lacks=member, other_member=placed.path)
