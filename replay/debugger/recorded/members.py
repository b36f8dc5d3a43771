"""Frames with the member and offset where they stand: what a divergence is named by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from replay.bundle.frames import BufferFrame, ReceiptFrame, SendingFrame, read_buffers, read_receipts, read_sendings
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.errors import CorruptMember
from replay.model import read_json


class Placed(NamedTuple):
    """A buffer frame in its member."""

    path: str
    offset: int
    frame: BufferFrame


def placed_buffers(
    source: RecordingSource, task: str, attempt: int, k: int, *, from_epoch: int = 0
) -> Iterator[Placed]:
    """The buffers of an output, by epoch; a damaged member is a divergence that names it and the buffer before."""
    for epoch in source.epochs(task, attempt, f"sent-{k}"):
        path = member_name(task, attempt, f"sent-{k}", epoch, "buf")
        if epoch < from_epoch or path not in source.members:
            continue
        seq = None
        with source.members.open(path) as stream:
            try:
                for offset, frame in read_buffers(stream, epoch=epoch, path=path):
                    seq = frame.seq
                    yield Placed(path, offset, frame)
            except CorruptMember as fault:
                raise damaged(fault, path, seq) from None


def placed_sendings(
    source: RecordingSource, task: str, attempt: int, k: int
) -> Iterator[tuple[str, int, int, SendingFrame]]:
    """(member, offset, epoch, sending) of an output, by epoch."""
    for epoch in source.epochs(task, attempt, f"sent-{k}"):
        path = member_name(task, attempt, f"sent-{k}", epoch, "dlt")
        if path not in source.members:
            continue
        seq = None
        with source.members.open(path) as stream:
            try:
                for offset, frame in read_sendings(stream, path=path):
                    seq = frame.seq
                    yield path, offset, epoch, frame
            except CorruptMember as fault:
                raise damaged(fault, path, seq) from None


def placed_receipts(
    source: RecordingSource, task: str, attempt: int, i: int
) -> Iterator[tuple[str, int, ReceiptFrame]]:
    """(member, offset, receipt) of an input, by epoch."""
    for epoch in source.epochs(task, attempt, f"received-{i}"):
        path = member_name(task, attempt, f"received-{i}", epoch, "rcv")
        if path not in source.members:
            continue
        with source.members.open(path) as stream:
            try:
                for offset, frame in read_receipts(stream, path=path):
                    yield path, offset, frame
            except CorruptMember as fault:
                raise damaged(fault, path, None) from None


def damaged(fault: CorruptMember, path: str, after_seq: int | None) -> DivergenceFound:
    """A member that can't be read on, as a result."""
    after = "" if after_seq is None else f", in the frame after buffer {after_seq}"
    return DivergenceFound(
        f"{fault.path or path} is damaged at offset {fault.offset}{after}: {fault.why}.",
        member=fault.path or path,
        offset=fault.offset,
        buffer=after_seq,
        why=fault.why,
    )


def barrier_of(frame: BufferFrame) -> int | None:
    """The epoch that a buffer begins, if it is a barrier."""
    if not frame.is_event:
        return None
    try:
        event = read_json(frame.payload)
    except ValueError:
        return None
    begins = event.get("barrier") if isinstance(event, dict) else None
    return begins if isinstance(begins, int) else None
