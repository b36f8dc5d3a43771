"""Where a line of `source/` or `sink/` stands; that an offset of a source always gave the same record, in its epoch."""

from __future__ import annotations

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.model import MAIN, TaskId, json_bytes


def place_of_line(
    source: RecordingSource, task: str, attempt: int, folder: str, name: str, value: object
) -> tuple[str, int] | None:
    """(member, offset) of the first line whose field of that name has that value."""
    for epoch in source.epochs(task, attempt, folder):
        path = member_name(task, attempt, folder, epoch)
        with source.members.open(path) as stream:
            for offset, line in read_lines(stream, path):
                if line.get(name) == value:
                    return path, offset
    return None


def check_offsets(source: RecordingSource, task: TaskId) -> None:
    """Every attempt that read an offset got the same record there."""
    attempts = tuple(source.attempts(task))
    if len(attempts) < 2:
        return
    read: dict[object, tuple[int, bytes]] = {}
    for attempt in attempts:
        for line in source.source(task, attempt):
            if "record" not in line or not isinstance(line.get("offset"), int):
                continue
            data = json_bytes(line["record"])
            before = read.setdefault(line["offset"], (attempt, data))
            if before[1] != data:
                raise _gave_another(source, task, attempt, line["offset"], before, data)


def _gave_another(
    source: RecordingSource, task: TaskId, attempt: int, offset: int, before: tuple[int, bytes], data: bytes
) -> DivergenceFound:
    here = place_of_line(source, task, attempt, "source", "offset", offset)
    there = place_of_line(source, task, before[0], "source", "offset", offset)
    where, other = (f"{one[0]} at offset {one[1]}" if one else f"{task}'s source/" for one in (here, there))
    return DivergenceFound(
        f"{where}: offset {offset} of {task} gives another record than in attempt {before[0]} ({other}).",
        member=here[0] if here else None,
        offset=here[1] if here else None,
        other_member=there[0] if there else None,
        other_offset=there[1] if there else None,
        asked=before[1].decode()[:400],
        logged=data.decode()[:400],
    )


def check_epochs(source: RecordingSource) -> None:
    """An attempt of a source reads one offset after the other, and its snapshots say where one epoch ends."""
    if source.manifest.clock.kind != "virtual":
        return
    for task in (one for one in source.graph.order if not source.graph.task(one).inputs):
        for attempt in source.attempts(task):
            _check_epochs(source, task, attempt)


def _check_epochs(source: RecordingSource, task: TaskId, attempt: int) -> None:
    ends = _ends(source, task, attempt)
    before: tuple[int, int] | None = None
    there = tuple(source.epochs(task, attempt, "source"))
    for epoch in there:
        path = member_name(task, attempt, "source", epoch)
        with source.members.open(path) as stream:
            for at, line in read_lines(stream, path):
                read = line.get("offset")
                if not isinstance(read, int):
                    continue
                if before is not None and read != before[1] + 1:
                    _check_nothing_gone(source, task, attempt, before, epoch)
                    why = f"offset {read} follows offset {before[1]}: a source reads one after the other"
                    raise _misplaced(path, at, task, why)
                for checkpoint, first in ends.items():
                    if (read >= first) != (epoch >= checkpoint):
                        state = member_name(task, attempt, "state", checkpoint)
                        why = f"offset {read} is filed under epoch {epoch}, but epoch {checkpoint} begins with {first}"
                        raise _misplaced(path, at, task, f"{why} by {state}", other_member=state)
                before = epoch, read


def _ends(source: RecordingSource, task: TaskId, attempt: int) -> dict[int, int]:
    """By checkpoint, the offset that the attempt was to read next when it took it."""
    found = {}
    for checkpoint in source.epochs(task, attempt, "state"):
        read = (source.state(task, attempt, checkpoint) or {}).get("source")
        if isinstance(read, dict) and isinstance(read.get("offset"), int):
            found[checkpoint] = read["offset"]
    return found


def _check_nothing_gone(
    source: RecordingSource, task: TaskId, attempt: int, before: tuple[int, int], epoch: int
) -> None:
    """Between two epochs there may have been another, whose member is gone."""
    passed = {*source.epochs(task, attempt, "state"), *source.epochs(task, attempt, MAIN)}
    gone = sorted(one for one in passed if before[0] < one < epoch)
    if gone:
        member = member_name(task, attempt, "source", gone[0])
        raise Missing(
            f"The recording lacks {member}, as {task} read on after offset {before[1]} and goes on in epoch {epoch} "
            f"with a later one. So it can't be said whether the replay is identical.",
            lacks=member,
        )


def _misplaced(path: str, at: int, task: TaskId, why: str, **detail: str) -> DivergenceFound:
    return DivergenceFound(f"{path} at offset {at}: of {task} {why}.", member=path, offset=at, **detail)
