"""Members that are gone of what an attempt gave to the world outside, as those that are left show."""

from __future__ import annotations

from collections.abc import Iterator

from replay.bundle.frames import read_sendings
from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import extents_of
from replay.log.deltas import DeltaExtent, decode_extents
from replay.model import MAIN, LogId, TaskId


def writes_gone(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[str, str]]:
    """(member, what shows it): writes are numbered, so that those of an epoch between are missed."""
    expected, last = 0, None
    for epoch in source.epochs(task, attempt, "sink"):
        path = member_name(task, attempt, "sink", epoch)
        with source.members.open(path) as stream:
            for _, line in read_lines(stream, path):
                number = line.get("n")
                if not isinstance(number, int):
                    continue
                gone = member_name(task, attempt, "sink", epoch - 1) if epoch else ""
                if number > expected and epoch != last and gone and gone not in source.members:
                    yield gone, f"{path} goes on with write {number} where {expected} was next"
                expected, last = number + 1, epoch


_TELLS_OF_WRITES = {"transactional": "epoch-precommitted", "idempotent": "epoch-committed"}
"""By kind of sink: the event by which all writes of an epoch are outside."""


def told_gone(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[str, str]]:
    """The same by the events that say how many there are."""
    tells = _TELLS_OF_WRITES.get(source.manifest.protocol.sink)
    if tells is None or source.graph.task(task).outputs:
        return
    for event in source.events():
        epoch, records = event.get("epoch"), event.get("records")
        if (event.get("type"), event.get("task"), event.get("attempt")) != (tells, task, attempt):
            continue
        if isinstance(epoch, int) and isinstance(records, int) and records > 0:
            gone = member_name(task, attempt, "sink", epoch)
            if gone not in source.members:
                yield gone, f"event {event.get('n')} ({tells}) tells of {records} records of that epoch"


def written_gone(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[str, str]]:
    """The same of a sink that leaves determinants outside: each of them went there with a write."""
    protocol = source.manifest.protocol
    if protocol.sink != "determinant" or protocol.in_storage or source.graph.task(task).outputs:
        return
    left = source.epochs(task, attempt, "world")
    for epoch in source.epochs(task, attempt, "sink") if protocol.logs else ():
        if epoch not in left:
            path, gone = (member_name(task, attempt, folder, epoch) for folder in ("sink", "world"))
            yield gone, f"{path} has writes, and determinants go outside with them"
    for epoch in source.epochs(task, attempt, "world"):
        path, gone = (member_name(task, attempt, folder, epoch) for folder in ("world", "sink"))
        if gone in source.members or path not in source.members:
            continue
        with source.members.open(path) as stream:
            number = next((frame.seq for _, frame in read_sendings(stream, path=path)), None)
        if number is not None:
            yield gone, f"{path} has what went outside with write {number}"


def left_outside_gone(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[str, str]]:
    """The same of determinants that it left outside: a delta goes on from where those before it ended, be they of an
    attempt before."""
    known: dict[tuple[LogId, int], int] = {}
    for before in sorted(one for one in source.attempts(task) if one < attempt):
        for _, _, extent in _left_outside(source, task, before):
            log = extent.log, extent.epoch
            known[log] = max(known.get(log, 0), extent.offset + extent.length)
    for path, epoch, extent in _left_outside(source, task, attempt):
        log = extent.log, extent.epoch
        if extent.offset > known.get(log, 0):
            shows = f"{path} goes on at offset {extent.offset} of {extent.log}, epoch {extent.epoch}"
            yield from ((gone, shows) for gone in _absent(source, task, attempt, extent.epoch, epoch))
        known[log] = extent.offset + extent.length


def returned_gone(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[str, str]]:
    """The same of what a stable storage returned of the task's logs, and nothing is there that left it."""
    attempts = tuple(source.attempts(task))
    if not source.manifest.protocol.in_storage or attempts[:1] != (attempt,):
        return
    known: dict[tuple[LogId, int], int] = {}
    for one in attempts:
        for _, _, extent in _left_outside(source, task, one):
            log = extent.log, extent.epoch
            known[log] = max(known.get(log, 0), extent.offset + extent.length)
    for event in source.events():
        if event.get("type") != "determinants-returned" or event.get("of") != task:
            continue
        for of, thread, epoch, upto in extents_of(event):
            if upto > known.get((LogId(TaskId(of), thread), epoch), 0):
                shows = (
                    f"event {event.get('n')} says that {upto} bytes of {thread}, epoch {epoch}, came back from there"
                )
                for one in attempts:
                    there = source.epochs(task, one, "world")
                    logged = {each for at in source.graph.task(task).threads for each in source.epochs(task, one, at)}
                    lacking = sorted(each for each in logged if each >= epoch and each not in there)
                    yield from ((member_name(task, one, "world", each), shows) for each in lacking)


def _absent(source: RecordingSource, task: TaskId, attempt: int, since: int, epoch: int) -> Iterator[str]:
    """The members that the beginning of a log may have been in: of epochs before, or of an attempt before."""
    for one in sorted(one for one in source.attempts(task) if one <= attempt):
        there = source.epochs(task, one, "world")
        logged = source.epochs(task, one, MAIN)
        between = range(since, epoch) if one == attempt else [each for each in logged if each >= since]
        yield from (member_name(task, one, "world", each) for each in between if each not in there)


def _left_outside(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[str, int, DeltaExtent]]:
    """(member, its epoch, what a delta in it carries)."""
    layout = source.manifest.protocol.delta_layout
    for epoch in source.epochs(task, attempt, "world"):
        path = member_name(task, attempt, "world", epoch)
        if path not in source.members:
            continue
        with source.members.open(path) as stream:
            for _, frame in read_sendings(stream, path=path):
                for extent in decode_extents(frame.delta, source.ids, layout) if frame.delta else ():
                    yield path, epoch, extent
