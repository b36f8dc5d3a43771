"""Transactions that snapshots list, held against the events that tell of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.agreeing.lines import place_of_line
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.model import json_bytes


def check_transactions(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first number of a transaction that no event gives to that epoch of its task."""
    told: dict[tuple[str, int], set[int]] = {}
    for event in source.events():
        epoch, txn = event.get("epoch"), event.get("txn")
        if event.get("type") == "epoch-precommitted" and isinstance(epoch, int) and isinstance(txn, int):
            told.setdefault((str(event.get("task")), epoch), set()).add(txn)
    for task in dict.fromkeys(task for task, _ in told):
        if task not in source.graph:
            continue
        for attempt in source.attempts(task):
            for checkpoint in source.epochs(task, attempt, "state"):
                _check(source, task, attempt, checkpoint, told)


def check_flushed(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first write of an idempotent sink that its write-ahead log does not hold."""
    if source.manifest.protocol.sink != "idempotent":
        return
    for task in (one for one in source.graph.order if not source.graph.task(one).outputs):
        logged = _write_ahead(source, task)
        for attempt in source.attempts(task):
            for line in source.sink(task, attempt):
                _check_line(source, task, attempt, line, logged)


def check_aborted(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first transaction that was aborted with another number of writes than it has."""
    if source.manifest.protocol.sink != "transactional" or source.manifest.clock.kind != "virtual":
        return
    aborted = [one for one in source.events() if one.get("type") == "epoch-aborted"]
    written = _writes_of_transactions(source) if aborted else {}
    for event in aborted:
        of, records = (str(event.get("task")), event.get("txn")), event.get("records")
        places = written.get(of)
        if places and isinstance(records, int) and records != len(places):
            path, offset = places[-1]
            raise DivergenceFound(
                f"Event {event.get('n')} says that transaction {of[1]} of {of[0]} had {records} writes when it was "
                f"aborted, but {path} ends with the last of {len(places)} at offset {offset}.",
                member=path,
                offset=offset,
                event=event.get("n"),
                asked=records,
                logged=len(places),
            )


def _writes_of_transactions(source: RecordingSource) -> dict[tuple[str, object], list[tuple[str, int]]]:
    """By task and transaction, (member, offset) of each."""
    found: dict[tuple[str, object], list[tuple[str, int]]] = {}
    for task in (one for one in source.graph.order if not source.graph.task(one).outputs):
        for attempt in source.attempts(task):
            for epoch in source.epochs(task, attempt, "sink"):
                path = member_name(task, attempt, "sink", epoch)
                with source.members.open(path) as stream:
                    for offset, line in read_lines(stream, path):
                        if isinstance(line.get("txn"), int):
                            found.setdefault((task, line["txn"]), []).append((path, offset))
    return found


_Listed = tuple[str, list[Any]]
"""(snapshot, the writes that it lists of an epoch)."""


def _write_ahead(source: RecordingSource, task: str) -> dict[object, list[_Listed]]:
    """By epoch, what snapshots list of it: of attempts that chose otherwise, one list each."""
    found: dict[object, list[_Listed]] = {}
    for attempt in source.attempts(task):
        for checkpoint in source.epochs(task, attempt, "state"):
            listed = (source.state(task, attempt, checkpoint) or {}).get("transactions")
            for one in listed if isinstance(listed, list) else ():
                if (
                    isinstance(one, Mapping)
                    and isinstance(one.get("writes"), list)
                    and isinstance(one.get("epoch"), int)
                ):
                    member = member_name(task, attempt, "state", checkpoint)
                    found.setdefault(one.get("epoch"), []).append((member, one["writes"]))
    return found


def _check_line(
    source: RecordingSource, task: str, attempt: int, line: Mapping[str, Any], logged: Mapping[object, list[_Listed]]
) -> None:
    *of, epoch, position = ["", *str(line.get("id", "")).split("/")][-3:]
    if of != [task] or not (epoch.isdecimal() and position.isdecimal()):
        return
    made = [(one, writes[int(position)]) for one, writes in logged.get(int(epoch), []) if len(writes) > int(position)]
    record, lineage = line.get("record"), line.get("source")
    held = [*record[:3], lineage or []] if isinstance(record, list) else None
    if not made or held is None or any(isinstance(one, list) and [*one, []][:4] == held for _, one in made):
        return
    place = place_of_line(source, task, attempt, "sink", "n", line.get("n"))
    raise DivergenceFound(
        f"{place[0] if place else task} at offset {place[1] if place else 0}: write {line['id']} is not the one that "
        f"the write-ahead log of {task} holds under that name, as {made[0][0]} lists it.",
        member=place[0] if place else None,
        offset=place[1] if place else None,
        other_member=made[0][0],
        asked=json_bytes(made[0][1]).decode()[:400],
        logged=json_bytes(held).decode()[:400],
    )


def _check(
    source: RecordingSource, task: str, attempt: int, checkpoint: int, told: Mapping[tuple[str, int], set[int]]
) -> None:
    listed = (source.state(task, attempt, checkpoint) or {}).get("transactions")
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, Mapping) or not isinstance(one.get("txn"), int) or not isinstance(one.get("epoch"), int):
            continue
        known = told.get((task, one["epoch"]))
        if known and one["txn"] not in known:
            member = member_name(task, attempt, "state", checkpoint)
            raise DivergenceFound(
                f"{member} lists transaction {one['txn']} for epoch {one.get('epoch')} of {task}, but the events tell "
                f"of {', '.join(map(str, sorted(known)))} there.",
                member=member,
                asked=sorted(known),
                logged=one["txn"],
            )
