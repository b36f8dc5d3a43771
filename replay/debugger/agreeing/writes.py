"""What sinks gave to the world outside, line by line: numbered, in time, in the transactions that events tell of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.model import TaskId

Line = tuple[str, int, int, Mapping[str, Any]]
"""(member, offset, its epoch, the line)."""


def check_writes(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first write that contradicts those before it, or the events."""
    told = _told(source)
    for task in (one for one in source.graph.order if not source.graph.task(one).outputs):
        for attempt in source.attempts(task):
            _Writes(source, task, attempt, told).run()


_Told = Mapping[tuple[str, int, str], tuple[object, int, object]]
"""Of each transaction that was sealed, or write-ahead log that was flushed, (event, epoch, records), by task, attempt
and number."""


def _told(source: RecordingSource) -> _Told:
    found = {}
    tells = "epoch-committed" if source.manifest.protocol.sink == "idempotent" else "epoch-precommitted"
    for event in source.events():
        attempt, epoch = event.get("attempt"), event.get("epoch")
        if event.get("type") == tells and isinstance(attempt, int) and isinstance(epoch, int):
            key = str(event.get("task")), attempt, str(event.get("txn"))
            found[key] = event.get("n"), epoch, event.get("records")
    return found


@dataclass(slots=True)
class _Writes:
    source: RecordingSource
    task: TaskId
    attempt: int
    told: _Told
    counted: Counter[object] = field(default_factory=Counter)
    last: dict[object, Line] = field(default_factory=dict)
    flushed: int = 0
    flushed_epoch: int | None = None
    in_epoch: Counter[int] = field(default_factory=Counter)

    def run(self) -> None:
        before = None
        for expected, line in enumerate(self._lines()):
            number = line[3].get("n")
            if not isinstance(number, int) and self.source.manifest.clock.kind == "virtual":
                self._differs(line, f"has no number, where {expected} was next")
            if isinstance(number, int) and number != expected:
                self._differs_or_lacks(line, number, expected, before)
            self._check_time(line, before)
            self._check_named(line)
            self._check_transaction(line)
            before = line
        self._check_sealed()

    def _lines(self) -> Iterator[Line]:
        for epoch in self.source.epochs(self.task, self.attempt, "sink"):
            path = member_name(self.task, self.attempt, "sink", epoch)
            with self.source.members.open(path) as stream:
                yield from ((path, offset, epoch, line) for offset, line in read_lines(stream, path))

    def _differs_or_lacks(self, line: Line, number: int, expected: int, before: Line | None) -> NoReturn:
        """Where the member of an epoch between is gone, what is left contradicts nothing."""
        epoch = line[2]
        there = self.source.epochs(self.task, self.attempt, "sink")
        if line[1] == 0 and number > expected and epoch - 1 not in there and epoch > 0:
            gone = member_name(self.task, self.attempt, "sink", epoch - 1)
            raise Missing(
                f"The recording lacks {gone}, or more before it, as {line[0]} goes on with write {number} where "
                f"{expected} was next. So it can't be said whether the replay is identical.",
                lacks=gone,
            )
        self._differs(
            line,
            f"is numbered {number}, where {expected} was next: writes are missing before it, or one of them has "
            f"another number",
            asked=expected,
            logged=number,
            other_member=None if before is None else before[0],
        )

    def _check_time(self, line: Line, before: Line | None) -> None:
        t_us, earlier = line[3].get("t_us"), None if before is None else before[3].get("t_us")
        if isinstance(t_us, int) and isinstance(earlier, int) and t_us < earlier:
            self._differs(line, f"was accepted at {t_us} us, but write {before[3].get('n')} before it at {earlier} us")  # type: ignore[index]

    def _check_named(self, line: Line) -> None:
        """A name of an idempotent sink's write is its task, its epoch and its place in the write-ahead log."""
        name = line[3].get("id")
        if name is None or self.source.manifest.protocol.sink != "idempotent":
            return
        task, epoch, place = ["", "", *str(name).split("/")][-3:]
        if task != self.task or epoch != str(line[2]):
            self._differs(line, f"is called {name}, but was made by {self.task} in epoch {line[2]}")
        flushed = self.flushed if self.flushed_epoch == line[2] else 0
        if place not in ("0", str(flushed)):
            self._differs(
                line, f"is called {name}, where {flushed} was next: a write-ahead log is flushed from its beginning on"
            )
        self.flushed, self.flushed_epoch = int(place) + 1, line[2]
        self.in_epoch[line[2]] = self.flushed

    def _check_transaction(self, line: Line) -> None:
        if line[3].get("txn") is None:
            return
        txn = str(line[3]["txn"])
        self.counted[txn] += 1
        self.last[txn] = line
        sealed = self.told.get((self.task, self.attempt, txn))
        if sealed is not None and sealed[1] != line[2]:
            self._differs(
                line,
                f"is of transaction {txn}, but event {sealed[0]} says that {txn} was that of epoch {sealed[1]}",
                event=sealed[0],
            )
        first = self.last.setdefault(("epoch", line[2]), line)
        if str(first[3].get("txn")) != txn:
            self._differs(
                line,
                f"is of transaction {txn}, but the first write of that epoch of {first[3].get('txn')}: a sink has one "
                f"an epoch",
            )

    def _check_sealed(self) -> None:
        """As many writes as the event says that sealed them; where the member is gone nothing is said."""
        sink = self.source.manifest.protocol.sink
        if sink not in ("transactional", "idempotent"):
            return
        for (task, attempt, txn), (event, epoch, records) in self.told.items():
            there = self.counted[txn] if sink == "transactional" else self.in_epoch[epoch]
            if (task, attempt) != (self.task, self.attempt) or there == records:
                continue
            path = member_name(self.task, self.attempt, "sink", epoch)
            if path not in self.source.members:
                continue
            raise DivergenceFound(
                f"Event {event} says that transaction {txn} of {task} "
                f"{'was sealed with' if sink == 'transactional' else 'is flushed, with'} {records} records, but {path} "
                f"has {there} of it.",
                member=path,
                offset=self.last[txn][1] if txn in self.last else 0,
                event=event,
                asked=records,
                logged=there,
            )

    def _differs(self, line: Line, why: str, **detail: Any) -> NoReturn:
        path, offset, _, fields = line
        raise DivergenceFound(
            f"{path} at offset {offset}: write {fields.get('n')} of {self.task} {why}.",
            **{"member": path, "offset": offset, **detail},
        )
