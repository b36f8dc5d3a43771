"""`events.ndjson` as rows, and what belongs together joined: checkpoints by task, failures with their recovery."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ingest.lake.schema import CHECKPOINTS, EVENTS, FAILURES
from ingest.transforms.lines import Fields, read_lines
from ingest.transforms.places import LogKey, Reject, Times
from replay.errors import CorruptMember
from replay.model import MAIN

Row = tuple[Any, ...]
Event = dict[str, Any]

_TEXT = {f.name for f in EVENTS.schema if str(f.type) == "string"} - {"type", "logs", "more"}
_FLAGS = {f.name for f in EVENTS.schema if str(f.type) == "bool"}
_NAMES = tuple(EVENTS.schema.names)


@dataclass(slots=True)
class EventReader:
    """Reads the events once, emits a row each, and keeps what is joined of them."""

    emit: Callable[[Row], None]
    emit_metric: Callable[[Row], None]
    # Of an engine that was only observed: nobody tells in which states it recovers, a new attempt is at work at once.
    observed: bool = False
    rejects: list[Reject] = field(default_factory=list)
    times: Times = field(default_factory=Times)
    last_us: int = 0
    events: int = 0
    _checkpoints: dict[int, Event] = field(default_factory=dict)
    _by_task: dict[tuple[int, str], Event] = field(default_factory=dict)
    _failures: dict[int, Event] = field(default_factory=dict)
    _last_failure: dict[str, int] = field(default_factory=dict)

    def read(self, stream: BinaryIO, path: str) -> None:
        try:
            for fields in read_lines(stream, path):
                event = _event(fields)
                self._check_number(event, fields)
                self.emit(tuple(event[name] for name in _NAMES))
                self.events += 1
                self.last_us = max(self.last_us, event["t_us"])
                join = _JOINS.get(event["type"])
                if join is not None:
                    join(self, event)
        except CorruptMember as fault:
            self.rejects.append(Reject.of(fault, path))

    def checkpoints(self) -> list[Row]:
        """One row per checkpoint and task that had to do with it; one without a task where none had."""
        parts: dict[int, list[Event]] = {}
        for (number, _), part in sorted(self._by_task.items()):
            parts.setdefault(number, []).append(part)
        return [
            _row(CHECKPOINTS.schema.names, {"checkpoint": number, **whole, **part})
            for number, whole in sorted(self._checkpoints.items())
            for part in parts.get(number, [{}])
        ]

    def failures(self) -> list[Row]:
        return [_row(FAILURES.schema.names, self._failures[number]) for number in sorted(self._failures)]

    def failure_facts(self) -> list[Event]:
        """What the job page shows of each failure."""
        return [dict(zip(FAILURES.schema.names, row, strict=True)) for row in self.failures()]

    def _check_number(self, event: Event, fields: Fields) -> None:
        if event["n"] == self.events:
            return
        if not any(reject.why.startswith(_NUMBERING) for reject in self.rejects):
            why = f"{_NUMBERING}: {event['n']} stands where {self.events} is due. All events are kept."
            self.rejects.append(Reject(fields.path, fields.offset, why))

    # --- joins ---

    def _failure(self, event: Event) -> Event | None:
        number = event["failure"]
        if number is None:
            number = self._last_failure.get(event["task"] or "")
        return None if number is None else self._failures.setdefault(number, {"failure": number})

    def _task_failed(self, event: Event) -> None:
        if event["failure"] is None:
            return
        failure = self._failures.setdefault(event["failure"], {"failure": event["failure"]})
        failure |= {name: event[name] for name in ("task", "attempt", "host", "cause", "together")}
        failure["failed_us"] = event["t_us"]
        self._last_failure[event["task"] or ""] = event["failure"]

    def _failure_detected(self, event: Event) -> None:
        self._first(event, {"detected_us": event["t_us"], "detected_by": event["by"]})

    def _action(self, event: Event) -> None:
        self._first(event, {"action": event["type"], "action_us": event["t_us"], "action_host": event["host"]})

    def _attempt_started(self, event: Event) -> None:
        task, attempt = event["task"], event["attempt"]
        if event["failure"] is not None:
            started = {"next_attempt": attempt, "started_us": event["t_us"], "checkpoint": event["checkpoint"]}
            started |= {"running_us": event["t_us"]} if self.observed else {}
            self._first(event, started)
        if task is not None and attempt is not None:
            self.times.note(LogKey(task, attempt, MAIN, event["checkpoint"] or 0), event["t_us"])

    def _recovery_state(self, event: Event) -> None:
        if event["to"] == "Running":
            self._first(event, {"running_us": event["t_us"]})

    def _escalated(self, event: Event) -> None:
        self._first(event, {"escalated_us": event["t_us"], "escalated_why": event["why"]})

    def _rollback(self, event: Event) -> None:
        self._first(event, {"rollback_us": event["t_us"]})

    def _first(self, event: Event, columns: Event) -> None:
        """The first of several counts."""
        failure = self._failure(event)
        if failure is not None and not any(failure.get(name) is not None for name in columns):
            failure |= columns

    def _checkpoint(self, event: Event) -> None:
        self._note_epoch(event)
        number = event["checkpoint"]
        if number is None:
            return
        whole = self._checkpoints.setdefault(number, {})
        column = _CHECKPOINT_TIMES[event["type"]]
        if event["type"] in _OF_THE_WHOLE:
            whole.setdefault(column, event["t_us"])
            return
        task = event["task"] or event["at"]
        if task is None:
            return
        part = self._by_task.setdefault((number, task), {"task": task})
        part.setdefault(column, event["t_us"])
        for name in ("attempt", "bytes"):
            if event[name] is not None:
                part.setdefault(name, event[name])

    def _note_epoch(self, event: Event) -> None:
        """Of an engine that was only observed: a task that triggers a checkpoint is in the epoch that it ends."""
        at, attempt, checkpoint = event["at"], event["attempt"], event["checkpoint"]
        known = at is not None and attempt is not None and checkpoint is not None and checkpoint > 0
        if self.observed and known and event["type"] == "checkpoint-triggered":
            self.times.note(LogKey(at, attempt, MAIN, checkpoint - 1), event["t_us"])

    def _metric(self, event: Event) -> None:
        names = ("n", "t_us", "task", "attempt", "records_in", "records_out", "latency_p50_us", "latency_p99_us")
        self.emit_metric(tuple(event[name] for name in names))


_NUMBERING = "the events' numbers do not count from 0 without gaps"
_CHECKPOINT_TIMES = {
    "checkpoint-triggered": "triggered_us",
    "checkpoint-completed": "completed_us",
    "checkpoint-aborted": "aborted_us",
    "checkpoint-acknowledged": "acknowledged_us",
    "checkpoint-notified": "notified_us",
    "checkpoint-ignored": "ignored_us",
}
_OF_THE_WHOLE = frozenset(("checkpoint-triggered", "checkpoint-completed", "checkpoint-aborted"))
_JOINS: Mapping[str, Callable[[EventReader, Event], None]] = {
    "task-failed": EventReader._task_failed,
    "failure-detected": EventReader._failure_detected,
    "standby-activated": EventReader._action,
    "task-rescheduled": EventReader._action,
    "attempt-started": EventReader._attempt_started,
    "recovery-state": EventReader._recovery_state,
    "escalated": EventReader._escalated,
    "global-rollback": EventReader._rollback,
    "metric": EventReader._metric,
    **dict.fromkeys(_CHECKPOINT_TIMES, EventReader._checkpoint),
}


def _event(fields: Fields) -> Event:
    event: Event = {"n": fields.needed_number("n"), "t_us": fields.needed_number("t_us"), "type": fields.text("type")}
    if event["type"] is None:
        raise fields.fault("the field type is missing")
    for name in _NAMES:
        if name in event:
            continue
        if name == "logs":
            event[name] = fields.json(name)
        elif name == "more":
            event[name] = fields.rest()
        elif name in _TEXT:
            event[name] = fields.text(name)
        elif name in _FLAGS:
            event[name] = fields.flag(name)
        else:
            event[name] = fields.number(name)
    return event


def _row(names: list[str], columns: Event) -> Row:
    return tuple(columns.get(name) for name in names)
