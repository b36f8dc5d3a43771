"""Transactions that were written to and that no event seals or ends, though their attempt or task went on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_receipts
from replay.model import MAIN, TaskId

_Written = Mapping[int, tuple[str, int, int]]
"""By transaction, (member, offset of its last write, epoch)."""


def check_left_open(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first: an epoch that ended was sealed, and an attempt that executes has ended
    whatever those before it left behind."""
    told: dict[str, set[tuple[object, object]]] = {"epoch-precommitted": set(), "epoch-committed": set()}
    told["epoch-aborted"] = told["epoch-committed"]
    for event in source.events():
        if event.get("type") in told:
            told[str(event["type"])].add((event.get("task"), event.get("txn")))
    for task in (one for one in source.graph.order if not source.graph.task(one).outputs):
        before: dict[int, tuple[str, int, int]] = {}
        for attempt in source.attempts(task):
            written = _written(source, task, attempt)
            if before and _executed(source, task, attempt, written):
                _check_ended(task, attempt, before, told["epoch-committed"])
            _check_sealed(source, task, attempt, written, told["epoch-precommitted"])
            before |= written


def _written(source: RecordingSource, task: TaskId, attempt: int) -> _Written:
    found = {}
    for epoch in source.epochs(task, attempt, "sink"):
        path = member_name(task, attempt, "sink", epoch)
        with source.members.open(path) as stream:
            for offset, line in read_lines(stream, path):
                if isinstance(line.get("txn"), int):
                    found[line["txn"]] = path, offset, epoch
    return found


def _executed(source: RecordingSource, task: TaskId, attempt: int, written: _Written) -> bool:
    return bool(written) or any(True for _ in _taken(source, task, attempt))


def _taken(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[int]:
    """The epochs in which it took buffers."""
    for i in range(len(source.graph.task(task).inputs)):
        for _, _, receipt in placed_receipts(source, task, attempt, i):
            if receipt.taken:
                yield receipt.epoch


def _check_ended(task: TaskId, attempt: int, before: _Written, ended: set[tuple[object, object]]) -> None:
    for txn, place in before.items():
        if (task, txn) not in ended:
            why = f"which attempt {attempt} found and had to end, but no epoch-committed or epoch-aborted event does"
            raise _left(task, txn, place, why)


def _check_sealed(
    source: RecordingSource, task: TaskId, attempt: int, written: _Written, sealed: set[tuple[object, object]]
) -> None:
    if all((task, txn) in sealed for txn in written):
        return
    latest = max((*source.epochs(task, attempt, MAIN), *_taken(source, task, attempt)), default=0)
    for txn, place in written.items():
        if (task, txn) not in sealed and place[2] < latest:
            raise _left(task, txn, place, f"and attempt {attempt} came to epoch {latest}, but no event seals it")


def _left(task: TaskId, txn: int, place: tuple[str, int, int], why: str) -> DivergenceFound:
    path, offset, epoch = place
    detail: dict[str, Any] = {"member": "events.ndjson", "other_member": path, "other_offset": offset, "epoch": epoch}
    return DivergenceFound(
        f"{path} at offset {offset} is the last write of transaction {txn} of {task} in epoch {epoch}, {why}.", **detail
    )
