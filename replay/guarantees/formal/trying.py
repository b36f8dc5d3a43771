"""Runs an operator on records outside of any task: what becomes of its state, and what it gives, sets and asks.

Only operators that are registered here are run. The clock and chance stand still, so that what differs between two
runs differs by the records alone; the outside is not asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.errors import printable
from replay.jobs.registry import new_operator
from replay.model import Record, Vertex, json_bytes
from replay.runtime.operators import Context, Operator


class AsksOutside(Exception):
    """The operator called something whose answer only the recording of its task has."""


class StillClock:
    """One moment."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """Always the same."""
        return self._now_ms


class NoChance:
    """The lowest number."""

    def next_int(self, bound: int) -> int:
        """Always the same."""
        return 0


@dataclass
class Trial:
    """A context that keeps what the operator does. Which source records something came from is no part of it."""

    task: str
    options: Mapping[str, Any]
    clock: StillClock
    random: NoChance = field(default_factory=NoChance)
    origin: str = ""
    watermark_ms: int | None = None
    given: list[Record] = field(default_factory=list)
    timers: dict[str, int] = field(default_factory=dict)

    def set_timer(
        self, at_ms: int, *, name: str = "", key: Any = "", namespace: Any = "", time: str = "processing"
    ) -> None:
        """Kept; it does not fire."""
        self.timers[json_bytes([at_ms, name, key, namespace, time]).decode()] = 1

    def cancel_timer(
        self, at_ms: int, *, name: str = "", key: Any = "", namespace: Any = "", time: str = "processing"
    ) -> None:
        """Taken back."""
        self.timers.pop(json_bytes([at_ms, name, key, namespace, time]).decode(), None)

    def external(self, call: str, request: Any, *, effect: str = "read") -> Any:
        """Not asked."""
        raise AsksOutside(call)

    def emit(self, record: Record) -> None:
        """Kept."""
        self.given.append(Record(record.key, record.timestamp, record.value))

    def write(self, record: Record) -> None:
        """As `emit`."""
        self.emit(record)


@dataclass(frozen=True, slots=True)
class Came:
    """A record as a task took it: from which input, of which vertex, in which buffer of whose."""

    i: int
    origin: str
    record: Record
    evidence: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What records came to: state, timers, what was given (a multiset), or what was raised."""

    state: bytes
    given: tuple[bytes, ...]
    timers: tuple[str, ...]
    raised: str = ""


class Bench:
    """Makes operators of one vertex, and tries records on them."""

    def __init__(self, vertex: Vertex, task: str, origin_ms: int) -> None:
        self.vertex = vertex
        self.task = task
        self.origin_ms = origin_ms

    def operator(self, state: Mapping[str, Any] | None) -> tuple[Operator, Trial]:
        """A new one, with a state or from nothing; raises `UnknownOperator` where it can't be had here."""
        trial = Trial(self.task, self.vertex.options, StillClock(self.origin_ms))
        operator = new_operator(self.vertex)
        context: Context = trial
        operator.open(context)
        if state is not None:
            operator.restore(state)
        return operator, trial

    def put(self, operator: Operator, trial: Trial, came: Came) -> None:
        """One record."""
        trial.origin = came.origin
        operator.on_record(came.record, trial)

    def outcome(self, state: Mapping[str, Any], records: Iterable[Came]) -> Outcome:
        """Of some records, from a state. An edge: whatever the operator raises is an outcome."""
        operator, trial = self.operator(state)
        try:
            for one in records:
                self.put(operator, trial, one)
        except AsksOutside:
            raise
        except Exception as fault:
            return Outcome(b"", (), (), f"{type(fault).__name__}: {printable(str(fault))}")
        given = tuple(sorted(json_bytes(one.to_json()) for one in trial.given))
        return Outcome(json_bytes(operator.snapshot()), given, tuple(sorted(trial.timers)))
