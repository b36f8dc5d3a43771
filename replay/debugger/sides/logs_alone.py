"""What can be held side by side where records can't be processed again: what was taken, and what was logged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.inputs import Payloads
from replay.debugger.recorded.members import placed_receipts
from replay.debugger.sides.trace import Item, Noting, digest, shown
from replay.debugger.writing import words
from replay.debugger.writing.steps import Progress
from replay.errors import CorruptMember
from replay.model import MAIN

if TYPE_CHECKING:
    from replay.debugger.sides.attempts import Side


def note_logs(
    side: Side,
    noting: Noting,
    since: int,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> None:
    """The determinants of the main log, epoch by epoch, and the buffers in the order of their takes."""
    try:
        _determinants(side, noting, since)
        _inputs(side, noting, since)
    except (CorruptMember, DivergenceFound) as fault:
        side.broke = str(fault)


def _determinants(side: Side, noting: Noting, since: int) -> None:
    number = 0
    seeded = side.source.graph.vertex_of(side.task).seeds_random
    for epoch in side.source.epochs(side.task, side.attempt, MAIN):
        if epoch < since:
            continue
        data = side.source.log_bytes(side.task, side.attempt, MAIN, epoch)
        for offset, length, determinant in side.source.determinants(side.task, side.attempt, MAIN, epoch):
            what = (epoch, data[offset : offset + length])
            said = shown(words.said(determinant, seeded=seeded))
            noting.note("determinant", Item(number, epoch, 0, what, said, f"main, epoch {epoch}"))
            number += 1


def _inputs(side: Side, noting: Noting, since: int) -> None:
    shape, source = side.source.graph.task(side.task), side.source
    takes = sorted(
        (receipt.taken_us, receipt.epoch, receipt.offset, i, receipt.seq, receipt)
        for i in range(len(shape.inputs))
        for _, _, receipt in placed_receipts(source, side.task, side.attempt, i)
        if receipt.taken and receipt.epoch >= since
    )
    payloads = [Payloads(source, source.graph.channel(channel)) for channel in shape.inputs]
    for number, (*_, i, seq, receipt) in enumerate(takes):
        placed = payloads[i].find(receipt.sender_attempt, seq)
        what = (shape.inputs[i], seq, b"" if placed is None else digest(placed.frame.payload))
        said = f"buffer {seq} of {shape.inputs[i]}"
        noting.note("input", Item(number, receipt.epoch, receipt.record_count, what, said, shape.inputs[i]))
