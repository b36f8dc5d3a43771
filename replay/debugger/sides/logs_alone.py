"""What can be held side by side where records can't be processed again: what was taken, logged and given away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.inputs import Payloads
from replay.debugger.recorded.members import placed_receipts
from replay.debugger.sides.trace import Difference, Item, Lockstep, Noting, Trace, digest, shown
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
    """The determinants of the main log, epoch by epoch, what was taken, and what left for the outside.

    Nothing is executed: in place of steps, the records that were taken before are counted.
    """
    try:
        epochs = side.source.epochs(side.task, side.attempt, MAIN)
        taken = _determinants(side, noting, [epoch for epoch in epochs if epoch >= since])
        _inputs(side, noting, since)
        _lines(side, noting, taken)
    except (CorruptMember, DivergenceFound) as fault:
        side.broke = str(fault)


@dataclass(slots=True)
class _Log:
    """The main log of one epoch of an attempt."""

    source: RecordingSource
    task: str
    attempt: int


def differing_choice(source: RecordingSource, task: str, attempts: tuple[int, int], epoch: int) -> Difference | None:
    """The first determinant of an epoch that two attempts of a task do not share."""
    logs = [_Log(source, task, attempt) for attempt in attempts]
    with Trace() as trace:
        _determinants(logs[0], trace, [epoch])
        against = Lockstep(trace)
        _determinants(logs[1], against, [epoch])
        return next((one for one in against.finish() if one.stream == "determinant"), None)


def _determinants(side: Side | _Log, noting: Noting, epochs: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Gives the records that were taken: of each epoch the first, counted since the first of them, and how many."""
    before = 0
    found: dict[int, tuple[int, int]] = {}
    seeded, sites = side.source.graph.vertex_of(side.task).seeds_random, _sites(side)
    for epoch in epochs:
        data, records = side.source.log_bytes(side.task, side.attempt, MAIN, epoch), 0
        for offset, length, determinant in side.source.determinants(side.task, side.attempt, MAIN, epoch):
            asked, line = _asked(determinant, sites)
            what = data[offset : offset + length] if asked is None else asked
            said = shown(words.said(determinant, seeded=seeded))
            item = Item(before + records, epoch, records, (epoch, what), said, f"main, epoch {epoch}", line)
            if _is_seed(determinant):
                # Two executions never have the same, and nobody can tell whether a number was drawn.
                noting.note("step", item)
                item = item._replace(what=(epoch, line))
            noting.note("determinant", item)
            records += determinant.records if isinstance(determinant, Take) else 0
        found[epoch] = before, records
        before += records
    return found


def _sites(side: Side | _Log) -> dict[int, str]:
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


def _is_seed(determinant: Determinant) -> bool:
    fields = call_fields(determinant) if isinstance(determinant, Serializable) else None
    return fields is not None and fields.get("call") == "seed"


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


def _lines(side: Side, noting: Noting, taken: dict[int, tuple[int, int]]) -> None:
    """Records that a source read, or the references to them, and those that were given to the outside."""
    first_of_all: int | None = None
    for epoch, (before, records) in taken.items():
        for number, line in enumerate(_of_epoch(side, "source", epoch)):
            if number == 0 and first_of_all is None and isinstance(line.get("offset"), int):
                first_of_all = line["offset"] - before
            kept = {name: line[name] for name in ("record", "ref") if name in line}
            item = Item(
                before + number, epoch, number, (epoch, json_bytes(kept)), _said(kept), f"source, epoch {epoch}"
            )
            noting.note("input", item)
        for line in _of_epoch(side, "sink", epoch):
            kept = {name: line[name] for name in ("record", "id") if name in line}
            at = _taken_before(line, side.task, first_of_all, before, records)
            item = Item(at, epoch, at - before, (epoch, json_bytes(kept)), _said(kept), f"sink, epoch {epoch}")
            noting.note("output", item)


def _of_epoch(side: Side, folder: str, epoch: int) -> Iterator[dict[str, Any]]:
    name = member_name(side.task, side.attempt, folder, epoch)
    if name in side.source.members:
        with side.source.members.open(name) as stream:
            yield from (line for _, line in read_lines(stream, name))


def _taken_before(line: dict[str, Any], task: str, first: int | None, before: int, records: int) -> int:
    """How many records were taken when this one left: those up to its own, where it says which that is."""
    source = line.get("source")
    own = [
        one[1] + 1 - (first or 0)
        for one in (source if isinstance(source, list) else ())
        if isinstance(one, list) and len(one) == 2 and one[0] == task and type(one[1]) is int
    ]
    at = max(own, default=before + records)
    return min(max(at, before), before + records)


def _said(kept: dict[str, Any]) -> str:
    record = kept.get("record", kept.get("ref"))
    named = f" as {words.shortened(kept['id'])}" if "id" in kept else ""
    return shown(f"the record {words.shortened(json_bytes(record).decode())}{named}")
