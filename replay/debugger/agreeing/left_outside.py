"""Determinants that tasks left with the world outside, held against the logs that they are of."""

from __future__ import annotations

from collections.abc import Iterator

from replay.bundle.frames import SENDING_HEAD_BYTES, SendingFrame, read_sendings
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import first_difference
from replay.log.deltas import DeltaExtent, decode_extents
from replay.model import TaskId


def check_left_outside(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first bytes left there that are those of no attempt's log."""
    for task in source.graph.order:
        for attempt in source.attempts(task):
            before: tuple[str, SendingFrame] | None = None
            for path, offset, frame in _left(source, task, attempt):
                _check_number(path, offset, frame, before)
                before = path, frame
                at = offset + SENDING_HEAD_BYTES
                layout = source.manifest.protocol.delta_layout
                for extent in decode_extents(frame.delta, source.ids, layout, path=path, at=at) if frame.delta else ():
                    _check_epoch(path, offset, frame, extent, task)
                    _check(source, path, offset, frame, extent)


def _left(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[str, int, SendingFrame]]:
    for epoch in source.epochs(task, attempt, "world"):
        path = member_name(task, attempt, "world", epoch)
        with source.members.open(path) as stream:
            yield from ((path, offset, frame) for offset, frame in read_sendings(stream, path=path))


def _check_number(path: str, offset: int, frame: SendingFrame, before: tuple[str, SendingFrame] | None) -> None:
    """One after the other; from one member to the next, where another may be gone, at least not back."""
    if before is None:
        return
    follows = before[1].seq + 1
    if frame.seq == follows or (before[0] != path and frame.seq > follows):
        return
    raise DivergenceFound(
        f"{path} at offset {offset}: what was left outside with {frame.seq} follows that with {before[1].seq}, and "
        f"each has the next number.",
        member=path,
        offset=offset,
        asked=follows,
        logged=frame.seq,
    )


def _check_epoch(path: str, offset: int, frame: SendingFrame, extent: DeltaExtent, task: TaskId) -> None:
    """A task leaves its own log there, of the epoch that it is in or of those before."""
    within = int(path.rpartition("/")[2].removesuffix(".dlt"))
    if extent.log.task != task or extent.epoch <= within:
        return
    raise DivergenceFound(
        f"{path} at offset {offset}: what was left outside with {frame.seq} has bytes of {extent.log}, epoch "
        f"{extent.epoch}, but {task} was in epoch {within} then.",
        member=path,
        offset=offset,
        asked=within,
        logged=extent.epoch,
    )


def _check(source: RecordingSource, path: str, offset: int, frame: SendingFrame, extent: DeltaExtent) -> None:
    """Of a log that is gone nothing is said."""
    of, end = extent.log, extent.offset + extent.length
    data = frame.delta[extent.at : extent.at + extent.length]
    there = [one for one in source.attempts(of.task) if extent.epoch in source.epochs(of.task, one, of.thread)]
    copies = [source.log_bytes(of.task, one, of.thread, extent.epoch)[extent.offset : end] for one in there]
    if not copies or data in copies:
        return
    logs = member_name(of.task, there[-1], of.thread, extent.epoch)
    at = extent.offset + first_difference(copies[-1], data)
    raise DivergenceFound(
        f"{path} at offset {offset}: what was left outside with {frame.seq} has {extent.length} bytes of {of}, epoch "
        f"{extent.epoch}, from offset {extent.offset} on, that are not those of that log ({logs} from offset "
        f"{at} on).",
        member=path,
        offset=offset,
        log_member=logs,
        log_offset=at,
        asked=copies[-1][:32].hex(),
        logged=data[:32].hex(),
    )
