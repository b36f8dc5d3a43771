"""A recording as events of a Chrome trace: vertices as processes, tasks as threads, buffers as flows between them,
epochs and what tasks were doing as slices.

Of each task four threads are told, as slices of one thread have to lie within one another: what it was doing, its
epochs, the buffers that it took, and those that it sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dashboard.queries.failures import Failure
from dashboard.queries.lanes import last_event_us, state_lanes
from ingest.lake.engine import Row
from ingest.lake.readers import Lake
from replay.model import Manifest

TraceEvent = dict[str, Any]
SENDINGS_AT_ONCE = 20_000
COORDINATOR = 0
DOING, EPOCHS, TAKEN, SENT = range(4)
_THREADS = ("", " epochs", " takes", " sends")

_EPOCHS_SQL = """
SELECT task, attempt, epoch, start_us, end_us, determinants, bytes FROM epochs
WHERE thread = 'main' AND start_us IS NOT NULL ORDER BY task, start_us, attempt, epoch
"""
_CHECKPOINTS_SQL = """
SELECT checkpoint, min(triggered_us), max(coalesce(completed_us, aborted_us)), max(completed_us) IS NOT NULL
FROM checkpoints GROUP BY checkpoint HAVING min(triggered_us) IS NOT NULL ORDER BY checkpoint
"""
_COLUMNS = (
    "attempt",
    "seq",
    "sending",
    "receiver_attempt",
    "sent_us",
    "flags",
    "received_us",
    "taken_us",
    "taken_epoch",
    "record_count",
    "bytes",
    "records",
    "epoch",
)
# Repeated keys are evidence: whoever goes on says how many rows of the last key were told.
_SENDINGS_SQL = """
SELECT s.attempt, s.seq, s.sending, s.receiver_attempt, s.sent_us, s.flags, s.received_us, s.taken_us, s.taken_epoch,
       s.taken_count, b.bytes, b.records, b.epoch
FROM (
  SELECT * FROM sendings
  WHERE channel = $channel AND sent_us IS NOT NULL AND (attempt, seq, sending) >= ($attempt, $seq, $sending)
  ORDER BY attempt, seq, sending, sent_us, taken_us LIMIT $limit OFFSET $skip
) s LEFT JOIN (
  SELECT attempt, seq, any_value(bytes) AS bytes, any_value(records) AS records, any_value(epoch) AS epoch
  FROM buffers WHERE channel = $channel GROUP BY attempt, seq
) b USING (attempt, seq)
ORDER BY s.attempt, s.seq, s.sending, s.sent_us, s.taken_us
"""


@dataclass(frozen=True, slots=True)
class Threads:
    """Where each task stands in the trace."""

    processes: dict[str, int]
    subtasks: dict[str, tuple[int, int]]

    @classmethod
    def of(cls, manifest: Manifest) -> Threads:
        processes = {vertex.id: number for number, vertex in enumerate(manifest.vertices, COORDINATOR + 1)}
        subtasks: dict[str, tuple[int, int]] = {}
        for number, task in enumerate(manifest.tasks):
            subtasks[str(task.id)] = (processes[task.vertex], 1 + number * len(_THREADS))
        return cls(processes, subtasks)

    def at(self, task: str, thread: int) -> TraceEvent:
        pid, tid = self.subtasks[task]
        return {"pid": pid, "tid": tid + thread}


def trace_events(lake: Lake, *, job: str, manifest: Manifest, failures: list[Failure]) -> Iterator[TraceEvent]:
    """All of a job, one after the other: many jobs have more than would fit into memory at once."""
    threads = Threads.of(manifest)
    yield from _names(threads)
    duration_us = last_event_us(lake, job=job)
    yield from _checkpoints(lake, job)
    yield from _doing(lake, job, manifest, threads, duration_us)
    yield from _epochs(lake, job, threads)
    for failure in failures:
        if failure.failed_us is not None and failure.task in threads.subtasks:
            name = f"failure {failure.failure}"
            yield {"ph": "i", "s": "t", "name": name, "ts": failure.failed_us, **threads.at(failure.task, DOING)}
    yield from _buffers(lake, job, manifest, threads)


def _names(threads: Threads) -> Iterator[TraceEvent]:
    yield _name("process_name", "coordinator", pid=COORDINATOR)
    for vertex, pid in threads.processes.items():
        yield _name("process_name", vertex, pid=pid)
    for task in threads.subtasks:
        for number, what in enumerate(_THREADS):
            place = threads.at(task, number)
            yield _name("thread_name", f"{task}{what}", **place)
            yield {"ph": "M", "name": "thread_sort_index", "args": {"sort_index": place["tid"]}, **place}


def _name(kind: str, name: str, **place: int) -> TraceEvent:
    return {"ph": "M", "name": kind, "args": {"name": name}, **place}


def _checkpoints(lake: Lake, job: str) -> Iterator[TraceEvent]:
    for checkpoint, began_us, ended_us, completed in lake.rows(_CHECKPOINTS_SQL, job=job):
        common = {
            "cat": "checkpoint",
            "id": checkpoint,
            "name": f"checkpoint {checkpoint}",
            "pid": COORDINATOR,
            "tid": 0,
        }
        yield {"ph": "b", "ts": began_us, "args": {"completed": completed}, **common}
        if ended_us is not None:
            yield {"ph": "e", "ts": max(began_us, ended_us), **common}


def _doing(lake: Lake, job: str, manifest: Manifest, threads: Threads, duration_us: int) -> Iterator[TraceEvent]:
    observed = manifest.protocol.observed
    for lane in state_lanes(lake, job, list(threads.subtasks), duration_us, observed=observed):
        for span in lane["spans"]:
            recovering = span["state"] not in ("Running", "Failed", "Suspected")
            yield {
                **_slice(span["state"], span["startUs"], span["endUs"], threads.at(lane["task"], DOING)),
                "cat": "recovery" if recovering else "task",
                "args": {"attempt": span["attempt"]},
            }


def _epochs(lake: Lake, job: str, threads: Threads) -> Iterator[TraceEvent]:
    """One ends where the next of its task begins, also where an attempt that had failed went on unknown to anybody."""
    rows = [row for row in lake.rows(_EPOCHS_SQL, job=job) if row[0] in threads.subtasks]
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        task, attempt, epoch, start_us, end_us, determinants, size = row
        last_us = start_us if end_us is None else max(start_us, end_us)
        if following is not None and following[0] == task:
            last_us = min(last_us, following[3])
        yield {
            **_slice(f"epoch {epoch}", start_us, last_us, threads.at(task, EPOCHS)),
            "cat": "epoch",
            "args": {"attempt": attempt, "epoch": epoch, "determinants": determinants, "bytes": size},
        }


def _slice(name: str, start_us: int, end_us: int, place: TraceEvent) -> TraceEvent:
    return {"ph": "X", "name": name, "ts": start_us, "dur": end_us - start_us, **place}


def _buffers(lake: Lake, job: str, manifest: Manifest, threads: Threads) -> Iterator[TraceEvent]:
    flow = 0
    for task in manifest.tasks:
        for channel in task.inputs:
            source = str(channel).partition(">")[0]
            if source not in threads.subtasks:
                continue
            for row in _sendings(lake, job, str(channel)):
                flow += 1
                yield from _passage(flow, str(channel), row, threads.at(source, SENT), threads.at(str(task.id), TAKEN))


def _sendings(lake: Lake, job: str, channel: str) -> Iterator[Row]:
    key: tuple[Any, ...] = (-(1 << 63), -(1 << 63), -(1 << 63))
    told = 0
    while True:
        place = dict(zip(("attempt", "seq", "sending"), key, strict=True))
        asked = {"channel": channel, "limit": SENDINGS_AT_ONCE, "skip": told, **place}
        rows = lake.rows(_SENDINGS_SQL, asked, job=job)
        yield from rows
        if len(rows) < SENDINGS_AT_ONCE:
            return
        last = rows[-1][:3]
        same = sum(row[:3] == last for row in rows)
        told, key = same + (told if last == key else 0), last


def _passage(flow: int, channel: str, row: Row, sender: TraceEvent, receiver: TraceEvent) -> Iterator[TraceEvent]:
    """Moments, not spans: several buffers wait at once. The arrow between the two is the buffer's way."""
    sent = {"channel": channel, **dict(zip(_COLUMNS, row, strict=True))}
    there = {name: sent.pop(name) for name in ("taken_epoch", "record_count")}
    name, taken_us = f"{channel} #{sent['seq']}", sent["taken_us"]
    taken = taken_us is not None and taken_us >= 0
    bound = {"cat": "buffer", "bind_id": hex(flow)} if taken else {"cat": "buffer"}
    yield {**_slice(name, sent["sent_us"], sent["sent_us"], sender), **bound, "flow_out": taken, "args": sent}
    if taken:
        args = {"channel": channel, "seq": sent["seq"], **there}
        yield {**_slice(name, taken_us, taken_us, receiver), **bound, "flow_in": True, "args": args}
