"""What the world outside counts of a recording, by the kind of its sinks; and whether they wrote as their kind does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from replay.simulation.recording import Recording

Line = dict[str, Any]


def counted(recording: Recording, tasks: Sequence[str] | None = None) -> Iterator[tuple[int, Line]]:
    """(epoch, line): of transactions those committed, of one id one write; what a rollback undid doesn't count."""
    kind = recording.manifest.protocol.sink
    committed = {one["txn"] for one in recording.events if one["type"] == "epoch-committed"}
    ids: set[str] = set()
    for task in recording.tasks_of("sink") if tasks is None else tasks:
        for attempt in range(recording.attempts(task)):
            undone = _undone_from(recording, task, attempt, kind)
            for epoch, line in recording.sink_lines(task, attempt):
                if kind == "transactional":
                    counts = line["txn"] in committed
                elif kind == "idempotent":
                    counts = line["id"] not in ids
                    ids.add(line["id"])
                else:
                    counts = undone is None or epoch < undone
                if counts:
                    yield epoch, line


def _undone_from(recording: Recording, task: str, attempt: int, kind: str) -> int | None:
    """From which epoch on what an attempt wrote was begun again: a plain sink always does, others are held back."""
    later = range(attempt + 1, recording.attempts(task))
    if kind == "determinant" and recording.manifest.protocol.logs:
        # The world can't be rolled back: only then is written again what it has already.
        later_chains = [chain for chain in recording.lineages(task) if chain[0] > attempt]
        return min((recording.restored(task, chain[0]) for chain in later_chains), default=None)
    return min((recording.restored(task, one) for one in later), default=None)


# --- transactions ---


def transactions_end_once(recording: Recording) -> Iterator[str]:
    """Each is of one attempt and epoch, is sealed before it is committed, and nobody gives it two ends."""
    if recording.manifest.protocol.sink != "transactional":
        return
    written = _written_by_transaction(recording)
    ends: dict[int, str] = {}
    sealed: set[int] = set()
    for one in recording.events:
        if not one["type"].startswith("epoch-"):
            continue
        txn, kind = one["txn"], one["type"]
        if kind == "epoch-precommitted":
            if txn in sealed:
                yield f"transaction {txn} was sealed twice"
            sealed.add(txn)
        elif ends.setdefault(txn, f"{kind} by event {one['n']}") != f"{kind} by event {one['n']}":
            yield f"transaction {txn} was {ends[txn]}, and then {kind}"
        if kind == "epoch-committed" and txn not in sealed:
            yield f"transaction {txn} was committed, and never sealed"
        if kind != "epoch-aborted" and one["records"] != len(written.get(txn, ())):
            yield f"transaction {txn}: {kind} says {one['records']} records, it has {len(written.get(txn, ()))}"
    for txn, places in written.items():
        if len(set(places)) > 1:
            yield f"transaction {txn} has writes of {sorted(set(places))}"
        task, attempt, epoch = places[0]
        is_last = attempt == recording.attempts(task) - 1
        if txn not in ends and not (is_last and epoch >= recording.completed[-1]):
            yield f"transaction {txn} of {task} attempt {attempt}, epoch {epoch}, was neither committed nor aborted"


def _written_by_transaction(recording: Recording) -> dict[int, list[tuple[str, int, int]]]:
    found: dict[int, list[tuple[str, int, int]]] = {}
    for task in recording.tasks_of("sink"):
        for attempt in range(recording.attempts(task)):
            for epoch, line in recording.sink_lines(task, attempt):
                found.setdefault(line["txn"], []).append((task, attempt, epoch))
    return found


def only_what_a_checkpoint_holds_is_made_final(recording: Recording) -> Iterator[str]:
    """A commit, or a flush, follows a completed checkpoint whose snapshot lists what was sealed."""
    if recording.manifest.protocol.sink not in ("transactional", "idempotent"):
        return
    held: set[int] = set()
    sinks = recording.tasks_of("sink")
    for one in recording.events:
        if one["type"] == "checkpoint-completed":
            for task in sinks:
                held.update(listed["txn"] for listed in recording.state(task, one["checkpoint"])["transactions"])
        elif one["type"] == "epoch-committed" and one["txn"] not in held:
            yield f"event {one['n']}: {one['task']} commits {one['txn']}, which no completed checkpoint lists"


# --- write-ahead logs ---


def an_id_stands_for_one_write(recording: Recording) -> Iterator[str]:
    """However often a log is flushed; and what is flushed is what a completed checkpoint's log holds."""
    if recording.manifest.protocol.sink != "idempotent":
        return
    for task in recording.tasks_of("sink"):
        logs = _write_ahead_logs(recording, task)
        known: dict[str, str] = {}
        flushed: dict[int, list[str]] = {}
        for attempt in range(recording.attempts(task)):
            for epoch, line in recording.sink_lines(task, attempt):
                content = str([*line["record"], line["source"]])
                if line["id"] not in known:
                    flushed.setdefault(epoch, []).append(content)
                if known.setdefault(line["id"], content) != content:
                    yield f"{task}: {line['id']} stands for {known[line['id']]} and for {content}"
                if epoch not in logs or line["t_us"] < logs[epoch][0]:
                    yield f"{task}: {line['id']} was flushed before a checkpoint held it"
        for epoch, (_, writes) in logs.items():
            if flushed.get(epoch, []) != writes:
                yield f"{task}: of epoch {epoch} {flushed.get(epoch, [])} was flushed, and its log holds {writes}"


def _write_ahead_logs(recording: Recording, task: str) -> dict[int, tuple[int, list[str]]]:
    """By epoch: since when a completed checkpoint holds the log, and its writes."""
    found: dict[int, tuple[int, list[str]]] = {}
    for one in recording.events:
        if one["type"] == "checkpoint-completed":
            for listed in recording.state(task, one["checkpoint"])["transactions"]:
                writes = [str([key, at_ms, value, names]) for key, at_ms, value, names in listed["writes"]]
                found.setdefault(listed["epoch"], (one["t_us"], writes))
    return found


CHECKS = (transactions_end_once, only_what_a_checkpoint_holds_is_made_final, an_id_stands_for_one_write)
"""What holds of a kind of sink, whatever becomes of the choices above it."""
