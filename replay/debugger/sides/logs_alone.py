"""What can be held side by side where records can't be processed again: what was taken, and what was logged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from replay.bundle.lines import read_lines
from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.inputs import Payloads
from replay.debugger.recorded.members import placed_receipts
from replay.debugger.sides.trace import Item, Noting, digest, shown
from replay.debugger.writing import words
from replay.debugger.writing.steps import Progress
from replay.errors import CorruptMember
from replay.log.determinants import Determinant, Serializable, Take
from replay.model import MAIN, json_bytes
from replay.services.external import call_fields

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
    sites = _sites(side)
    seeded = side.source.graph.vertex_of(side.task).seeds_random
    for epoch in side.source.epochs(side.task, side.attempt, MAIN):
        if epoch < since:
            continue
        data = side.source.log_bytes(side.task, side.attempt, MAIN, epoch)
        records = 0
        for offset, length, determinant in side.source.determinants(side.task, side.attempt, MAIN, epoch):
            asked, line = _asked(determinant, sites)
            what = (epoch, data[offset : offset + length] if asked is None else asked)
            said = shown(words.said(determinant, seeded=seeded))
            noting.note("determinant", Item(number, epoch, records, what, said, f"main, epoch {epoch}", line))
            number += 1
            records += determinant.records if isinstance(determinant, Take) else 0


def _sites(side: Side) -> dict[int, str]:
    """Where the calls of an attempt stand, by number: processes give numbers in the order in which they come by."""
    name = f"tasks/{side.task}/{side.attempt}/sites.ndjson"
    if name not in side.source.members:
        return {}
    with side.source.members.open(name) as stream:
        found = [line for _, line in read_lines(stream, name)]
    return {one["site"]: _line(one) for one in found if type(one.get("site")) is int}


def _line(site: Mapping[str, Any]) -> str:
    text = site.get("text")
    return f"{PurePosixPath(str(site.get('file'))).name}:{site.get('line')}" + (f" `{text}`" if text else "")


def _asked(determinant: Determinant, sites: Mapping[int, str]) -> tuple[bytes | None, str]:
    """A call as it can be compared with that of another process, and the line that it stands at."""
    fields = call_fields(determinant) if isinstance(determinant, Serializable) else None
    site = None if fields is None else fields.get("site")
    line = sites.get(site, "") if type(site) is int else ""
    if fields is None or not line:
        return None, line
    return json_bytes({**fields, "site": line}), line


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
