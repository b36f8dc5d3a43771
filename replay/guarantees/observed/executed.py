"""Which attempts executed which epochs of a task, how they ended, and what the recording lacks of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.ports import RecordingSource
from replay.errors import printable
from replay.guarantees.observed.writes import Write, write_of
from replay.log.determinants import Serializable, Take
from replay.model import MAIN
from replay.services.external import call_fields

_Execution = tuple[str, int]


@dataclass(slots=True)
class Ends:
    """What events tell: how attempts began and ended, up to which checkpoint, and where something was left out.

    `completed` is the last checkpoint that a coordinator completed; `sent`, how many outputs of what an attempt handed
    over are known to have left.
    """

    failed: set[_Execution] = field(default_factory=set)
    began: dict[_Execution, int] = field(default_factory=dict)
    acknowledged: dict[_Execution, int] = field(default_factory=dict)
    sent: dict[_Execution, int] = field(default_factory=dict)
    completed: int = 0
    gaps: Counter[str] = field(default_factory=Counter)
    at_work: bool = False

    @classmethod
    def read(cls, source: RecordingSource) -> Ends:
        """All events, once."""
        found = cls(at_work=_may_go_on(source.manifest.complete, source.manifest.raw.get("processes")))
        for event in source.events():
            task, attempt, checkpoint = event.get("task"), event.get("attempt"), event.get("checkpoint")
            if not isinstance(task, str) or task not in source.graph:
                task = "a task that the manifest does not list"
            if event["type"] == "gap":
                found.gaps[task] += 1
            if event["type"] == "checkpoint-completed" and type(checkpoint) is int:
                found.completed = max(found.completed, checkpoint)
            if type(attempt) is int:
                found._note(event["type"], (task, attempt), checkpoint)
                if event["type"] == "outputs-sent" and type(outputs := event.get("outputs")) is int:
                    found.sent[task, attempt] = max(found.sent.get((task, attempt), 0), outputs)
        return found

    def _note(self, kind: str, execution: _Execution, checkpoint: Any) -> None:
        if kind == "task-failed":
            self.failed.add(execution)
        elif kind == "attempt-started" and type(checkpoint) is int:
            self.began[execution] = checkpoint
        elif kind == "checkpoint-acknowledged" and type(checkpoint) is int:
            self.acknowledged[execution] = max(self.acknowledged.get(execution, 0), checkpoint)

    def missing(self) -> Iterator[str]:
        """Of the recording as a whole."""
        if self.at_work:
            yield "the recording is not complete: a process may still have been at work"
        for task, count in self.gaps.items():
            yield f"{printable(task)} has {count} gap{'' if count == 1 else 's'}, where something was left out"


def _may_go_on(complete: bool, processes: Any) -> bool:
    """A process that was killed leaves what it had recorded; one that is at work will record more."""
    if complete:
        return False
    return not isinstance(processes, Mapping) or processes.get("alive") != 0 or type(processes["alive"]) is not int


def reached(ends: Ends, task: str, attempt: int, epoch: int) -> bool:
    """Whether an attempt came to an epoch's end."""
    return ends.acknowledged.get((task, attempt), 0) > epoch


@dataclass(slots=True)
class Given:
    """What an attempt gave to the outside: read once, while `again` is iterated. What it only handed over counts as
    given where `sent` says that so many outputs have left."""

    source: RecordingSource
    task: OfTask
    attempt: int
    sent: int = 0
    lines: int = 0
    missing: list[str] = field(default_factory=list)

    def again(self) -> Iterator[Write]:
        """Its writes in epochs that other attempts executed too."""
        without = bound = misnumbered = handed = 0
        for epoch in self.task.sink_epochs[self.attempt]:
            again = epoch in self.task.again
            name = member_name(self.task.id, self.attempt, "sink", epoch)
            with self.source.members.open(name) as stream:
                for offset, line in read_lines(stream, name):
                    misnumbered += line.get("n") != self.lines
                    bound += line.get("txn") is not None
                    left = not line.get("topic") or self.lines < self.sent
                    write = write_of(line, epoch, self.attempt, self.lines, offset) if again and left else None
                    self.lines += 1
                    handed += not left
                    without += again and left and write is None
                    if write is not None:
                        yield write
        where = f"attempt {self.attempt} of {printable(self.task.id)}"
        if handed:
            self.missing.append(
                f"{where} handed {handed:,} output{'' if handed == 1 else 's'} over to be sent, and nobody recorded "
                f"that {'it was' if handed == 1 else 'they were'}: what the outside holds would tell"
            )
        self.missing += [
            why
            for count, why in (
                (without, f"of outputs of {where} nobody knows which records they come from"),
                (bound, f"outputs of {where} are bound to transactions"),
                (misnumbered, f"outputs of {where} are not numbered without gaps"),
            )
            if count
        ]


@dataclass(slots=True)
class OfTask:
    """The attempts of a task. `again`: epochs that more than one executed, with those, the last one last."""

    id: str
    attempts: tuple[int, ...]
    epochs: dict[int, tuple[int, ...]]
    sink_epochs: dict[int, tuple[int, ...]]
    again: dict[int, tuple[int, ...]]

    @classmethod
    def of(cls, source: RecordingSource, task: str) -> OfTask:
        """By the members that there are."""
        attempts = tuple(source.attempts(task))
        sinks = {attempt: tuple(source.epochs(task, attempt, "sink")) for attempt in attempts}
        epochs = {
            attempt: tuple(sorted({*source.epochs(task, attempt, MAIN), *sinks[attempt]})) for attempt in attempts
        }
        holders: dict[int, list[int]] = {}
        for attempt in attempts:
            for epoch in epochs[attempt]:
                holders.setdefault(epoch, []).append(attempt)
        again = {epoch: tuple(those) for epoch, those in holders.items() if len(those) > 1}
        return cls(task, attempts, epochs, sinks, again)

    @property
    def alone(self) -> set[int]:
        """Epochs that one attempt executed."""
        return {epoch for its in self.epochs.values() for epoch in its} - set(self.again)

    @property
    def gives(self) -> bool:
        """Whether anything is recorded that it gave to the outside."""
        return any(self.sink_epochs.values())

    def given(self, source: RecordingSource, attempt: int, ends: Ends) -> Given:
        """What an attempt gave, to be read."""
        return Given(source, self, attempt, ends.sent.get((self.id, attempt), 0))


def executed(source: RecordingSource, task: OfTask, ends: Ends) -> Iterator[str]:
    """What keeps it open whether each record of the task was processed once: attempts, positions, writes of calls."""
    name = printable(task.id)
    if task.attempts != tuple(range(len(task.attempts))):
        yield f"of {name} attempts are missing"
    before = -1
    for attempt in task.attempts:
        its = task.epochs[attempt]
        if its and its[0] <= before and its[0] not in task.again:
            yield f"attempt {attempt} of {name} begins at epoch {its[0]}, of which the attempts before hold nothing"
        before = max(before, *its, -1)
        if (task.id, attempt) in ends.failed and not _redone(task, attempt):
            yield f"attempt {attempt} of {name} failed, and nothing executed its last epoch again"
    if len(task.attempts) > 1:
        yield from _positions(source, task)


def _redone(task: OfTask, attempt: int) -> bool:
    its = task.epochs[attempt]
    return bool(its) and task.again.get(its[-1], (attempt,))[-1] > attempt


def _positions(source: RecordingSource, task: OfTask) -> Iterator[str]:
    """Whether records were taken in one epoch and then in another one, and calls that changed something made again.

    Where an attempt's own epochs begin anew at the same offsets, these say nothing across epochs.
    """
    ranges: dict[int, dict[int, tuple[int, int]]] = {}
    anew = writes = False
    for attempt in task.attempts:
        own: dict[int, dict[int, tuple[int, int]]] = {}
        for epoch in task.epochs[attempt]:
            for _, _, one in source.determinants(task.id, attempt, MAIN, epoch):
                if isinstance(one, Take):
                    for kept in (own, ranges):
                        _widen(kept.setdefault(one.channel, {}), epoch, one)
                elif epoch in task.again and isinstance(one, Serializable):
                    writes = writes or (call_fields(one) or {}).get("effect") == "write"
        anew = anew or any(_overlap(of) for of in own.values())
    if writes:
        yield f"external calls of {printable(task.id)} that change something were made in epochs that ran again"
    if not anew and any(_overlap(of) for of in ranges.values()):
        yield f"records of {printable(task.id)} were taken in one epoch first, and again in another"


def _widen(of: dict[int, tuple[int, int]], epoch: int, one: Take) -> None:
    first, until = of.get(epoch, (one.first_offset, one.first_offset))
    of[epoch] = min(first, one.first_offset), max(until, one.first_offset + one.records)


def _overlap(ranges: Mapping[int, tuple[int, int]]) -> bool:
    """Of different epochs."""
    reached = None
    for first, until in sorted(one for one in ranges.values() if one[0] < one[1]):
        if reached is not None and first < reached:
            return True
        reached = until if reached is None else max(reached, until)
    return False
