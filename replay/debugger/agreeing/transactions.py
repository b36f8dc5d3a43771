"""Transactions that snapshots list, held against the events that tell of them."""

from __future__ import annotations

from collections.abc import Mapping

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource


def check_transactions(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first number of a transaction that no event gives to that epoch of its task."""
    told: dict[tuple[str, int], set[int]] = {}
    for event in source.events():
        if event.get("type") == "epoch-precommitted" and event.get("txn") is not None:
            told.setdefault((str(event.get("task")), event.get("epoch", -1)), set()).add(event["txn"])
    for task in dict.fromkeys(task for task, _ in told):
        if task not in source.graph:
            continue
        for attempt in source.attempts(task):
            for checkpoint in source.epochs(task, attempt, "state"):
                _check(source, task, attempt, checkpoint, told)


def _check(
    source: RecordingSource, task: str, attempt: int, checkpoint: int, told: Mapping[tuple[str, int], set[int]]
) -> None:
    listed = (source.state(task, attempt, checkpoint) or {}).get("transactions")
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, Mapping) or "txn" not in one:
            continue
        known = told.get((task, one.get("epoch", -1)))
        if known and one["txn"] not in known:
            member = member_name(task, attempt, "state", checkpoint)
            raise DivergenceFound(
                f"{member} lists transaction {one['txn']} for epoch {one.get('epoch')} of {task}, but the events tell "
                f"of {', '.join(map(str, sorted(known)))} there.",
                member=member,
                asked=sorted(known),
                logged=one["txn"],
            )
