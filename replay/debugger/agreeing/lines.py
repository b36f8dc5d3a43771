"""Where a line of `source/` or `sink/` stands; and that one offset of a source always gave the same record."""

from __future__ import annotations

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.model import TaskId, json_bytes


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
