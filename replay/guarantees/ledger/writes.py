"""What the outside holds of a sink, by its kind; and what it was to hold, by the execution that counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.ports import RecordingSource
from replay.errors import printable
from replay.guarantees.ledger.executions import Executions, Path, in_path
from replay.guarantees.ledger.flows import Counted, Origin, of_origins
from replay.guarantees.ledger.shapes import OF_A_TIMER, writes_each
from replay.guarantees.ledger.streams import name_of
from replay.guarantees.ledger.takes import Takes
from replay.model import json_bytes

MOST_LINES = 1_000_000


class Write(NamedTuple):
    """A line of `sink/`. `stays`: the execution that counts made it; `counts`: the outside counts it."""

    attempt: int
    epoch: int
    number: Any
    lineage: str | None
    origins: tuple[Origin, ...]
    key: Any
    stays: bool
    counts: bool


@dataclass(slots=True)
class Writes:
    """Of one sink task. `lost`: of the execution that counts, seen by nobody; `unknown`: (why, what is wanted)."""

    task: str
    kind: str
    outputs: int = 0
    counted: int = 0
    twice: list[Counted] = field(default_factory=list)
    lost: list[Counted] = field(default_factory=list)
    unknown: list[tuple[str, str]] = field(default_factory=list)
    unwritten: list[tuple[str, str]] = field(default_factory=list)
    """Of attempts that were undone: what may have been given out with no line to tell of it, and where that is."""
    undone: list[Counted] = field(default_factory=list)
    """Given by an execution that was undone, and by this task not again."""
    named: set[Origin] = field(default_factory=set)
    """The source records that outputs of the execution that counts name."""
    given: Counter[Origin] = field(default_factory=Counter)
    """How many outputs that count outside name each source record, but those of timers."""

    def doubt(self, why: str, wants: str) -> None:
        """Each once."""
        if (why, wants) not in self.unknown:
            self.unknown.append((why, wants))


def writes_of(source: RecordingSource, executions: Executions, task: str) -> Writes:
    """Raises where a member of it can't be read."""
    return _Sink(source, executions, task).writes()


@dataclass(slots=True)
class _Sink:
    source: RecordingSource
    executions: Executions
    task: str
    lines: list[Write] = field(default_factory=list)

    def writes(self) -> Writes:
        kind = "plain" if self.source.graph.task(self.task).outputs else self.source.manifest.protocol.sink
        found = Writes(self.task, kind)
        if kind not in _KINDS:
            found.unknown.append((f"what a sink of the kind {printable(kind)} promises is not known", "protocol.sink"))
        self.lines = list(islice(self._lines(found), MOST_LINES))
        if len(self.lines) == MOST_LINES:
            found.unknown.append(
                (f"more than {MOST_LINES:,} outputs can't be told apart at once", "a shorter recording")
            )
        found.outputs, found.counted = len(self.lines), sum(one.counts for one in self.lines)
        for one in self.lines:
            if one.counts and one.key != OF_A_TIMER:
                found.given.update(one.origins)
        if any(one.lineage is None for one in self.lines):
            self._count_without_lineage(found)
        else:
            self._count(found, *self._due(found))
            self._count_unwritten(found)
        return found

    # --- what there is ---

    def _lines(self, found: Writes) -> Iterator[Write]:
        path = self.executions.surviving(self.task)
        committed = {one.get("txn") for one in self.executions.ends if one.get("type") == "epoch-committed"}
        ids: dict[str, bytes] = {}
        for attempt in self.executions.attempts(self.task):
            undone = self._undone_from(attempt) if found.kind == "determinant" else None
            for epoch, line in self._read(attempt):
                self._hold_against_kind(found, line)
                counts, stays = True, in_path(path, attempt, epoch)
                if found.kind == "transactional":
                    counts = isinstance(line.get("txn"), int) and line["txn"] in committed
                elif found.kind == "determinant" and self.source.manifest.protocol.logs:
                    stays = undone is None or epoch < undone
                elif isinstance(line.get("id"), str):
                    what = json_bytes([line.get("record"), line.get("source")])
                    counts, stays = line["id"] not in ids, True
                    if ids.setdefault(line["id"], what) != what:
                        found.doubt(f"two writes are called {line['id']} and are not the same", "sink")
                yield _write(line, attempt, epoch, stays=stays, counts=counts)

    def _hold_against_kind(self, found: Writes, line: dict[str, Any]) -> None:
        """What says how the outside counts a write is there, and is what a sink of this kind says."""
        named = {name for name in _NAMES.values() if line.get(name) is not None}
        own = _NAMES.get(found.kind)
        if own is not None and own not in named:
            why = f"a write has no {own}, by which the outside would count what a sink of the kind {found.kind} gives"
            found.doubt(why, f"{own} in tasks/{self.task}/…/sink/")
        for name in sorted(named - {own}):
            why = f"writes have {name}, which a sink of the kind {printable(found.kind)} does not give"
            found.doubt(why, "protocol.sink")

    def _read(self, attempt: int) -> Iterator[tuple[int, dict[str, Any]]]:
        for epoch in self.source.epochs(self.task, attempt, "sink"):
            name = member_name(self.task, attempt, "sink", epoch)
            with self.source.members.open(name) as stream:
                yield from ((epoch, line) for _, line in read_lines(stream, name))

    def _undone_from(self, attempt: int) -> int | None:
        """From which epoch on what an attempt wrote was begun again by one that nothing bound to write the same."""
        story = self.executions.story
        anew = (
            one
            for one in self.executions.attempts(self.task)
            if one > attempt
            and (story.was_rolled_back_to(self.task, one) or story.recovers_without_determinants(self.task, one))
        )
        return min((story.checkpoint_of(self.task, one) for one in anew), default=None)

    # --- what was to be ---

    def _due(self, found: Writes) -> tuple[Counter[str], Counter[str]]:
        """(all that may be, all that must be outside): what the execution that counts took, or else wrote."""
        due, must = Counter[str](), Counter[str]()
        if not writes_each(self.source, self.task):
            return self._written(found.kind)
        for name in self.source.graph.task(self.task).inputs:
            taken = []
            for _, _, entry in Takes.read(self.source, self.executions, self.source.graph.channel(name)).entries():
                if entry.lineage is None:
                    return self._written(found.kind)
                taken.append((name_of(entry.lineage), entry.epoch))
            due.update(lineage for lineage, _ in taken)
            must.update(self._final(taken, found.kind))
        return due, must

    def _final(self, taken: list[tuple[str, int]], kind: str) -> Iterator[str]:
        """Of an input's records those that must be outside. What was taken last, after the last completed checkpoint,
        may be under way still."""
        completed = self.executions.last_completed
        if kind in _AT_CHECKPOINTS:
            yield from (lineage for lineage, epoch in taken if epoch < completed)
            return
        left = Counter(lineage for lineage, _ in taken) - self._own()
        end = len(taken)
        while self._goes_out_at_once(kind) and end and left[taken[end - 1][0]] and taken[end - 1][1] >= completed > 0:
            end -= 1
            left[taken[end][0]] -= 1
        yield from (lineage for lineage, _ in taken[:end])

    def _own(self) -> Counter[str]:
        """The lines of the execution that counts."""
        path = self.executions.surviving(self.task)
        return Counter(str(one.lineage) for one in self.lines if in_path(path, one.attempt, one.epoch))

    def _goes_out_at_once(self, kind: str) -> bool:
        return kind == "plain" or (kind not in _AT_CHECKPOINTS and not self.source.manifest.protocol.logs)

    def _written(self, kind: str) -> tuple[Counter[str], Counter[str]]:
        own = [one for one in self.lines if one.stays]
        final = (one for one in own if kind not in _AT_CHECKPOINTS or one.epoch < self.executions.last_completed)
        return Counter(str(one.lineage) for one in own), Counter(str(one.lineage) for one in final)

    def _count(self, found: Writes, due: Counter[str], must: Counter[str]) -> None:
        given: dict[str, list[Write]] = {}
        for one in self.lines:
            if one.counts:
                given.setdefault(str(one.lineage), []).append(one)
        for name, those in given.items():
            if due[name]:
                found.named.update(those[0].origins)
            if len(those) > due[name] > 0 or (not due[name] and len({one.attempt for one in those}) > 1):
                found.twice.append(self._counted(those))
            elif not due[name]:
                found.undone.append(self._counted(those))
        self._count_lost(found, {name for name, count in must.items() if len(given.get(name, ())) < count})
        if self._goes_out_at_once(found.kind) and writes_each(self.source, self.task):
            self._count_not_again(found, due, given)

    def _count_not_again(self, found: Writes, due: Counter[str], given: dict[str, list[Write]]) -> None:
        """Given out by an execution that was undone, and taken by the one that counts with no line to tell of it."""
        own = self._own()
        without = sorted(name for name in due - own if len(given.get(name, ())) > own[name])
        if without:
            what = of_origins(_origins(without[0]))
            why = f"{what} was taken again, and no line tells of its output then"
            found.unknown.append((why, f"tasks/{self.task}/…/sink/"))

    def _count_lost(self, found: Writes, names: set[str]) -> None:
        """Proven by a line that does not count. Where there is no line, it may be the line that is gone."""
        uncounted: dict[str, list[Write]] = {}
        for one in self.lines:
            if one.lineage in names and not one.counts:
                uncounted.setdefault(one.lineage, []).append(one)
        found.lost += [self._counted(those) for those in uncounted.values()]
        without = sorted(names - uncounted.keys())
        if without:
            what = of_origins(_origins(without[0]))
            more = f", and of {len(without) - 1:,} others" if len(without) > 1 else ""
            why = f"no line tells of an output of {what}, which it took{more}"
            found.unknown.append((why, f"tasks/{self.task}/…/sink/"))

    def _count_unwritten(self, found: Writes) -> None:
        """Of an attempt that was undone: what it took last, and may have given out as its end came, with no line."""
        if not self._goes_out_at_once(found.kind) or not writes_each(self.source, self.task):
            return
        counts = self.executions.surviving(self.task)
        for attempt in self.executions.attempts(self.task)[:-1]:
            path = self.executions.path(self.task, attempt)
            if path == counts[: len(path)]:
                continue
            taken, epochs = self._taken(path)
            left = taken - Counter(str(one.lineage) for one in self.lines if in_path(path, one.attempt, one.epoch))
            if left:
                what = of_origins(_origins(min(left)))
                why = f"attempt {attempt} took {what} before it ended, and no line tells of its output"
                found.unwritten.append((why, member_name(self.task, attempt, "sink", epochs[min(left)])))

    def _taken(self, path: Path) -> tuple[Counter[str], dict[str, int]]:
        """What was taken how often, and in which epoch last."""
        taken, epochs = Counter[str](), {}
        for name in self.source.graph.task(self.task).inputs:
            channel = self.source.graph.channel(name)
            for _, _, entry in Takes.read(self.source, self.executions, channel, path).entries():
                lineage = name_of(entry.lineage or ())
                taken[lineage] += 1
                epochs[lineage] = entry.epoch
        return taken, epochs

    def _count_without_lineage(self, found: Writes) -> None:
        """Only what an attempt that was undone gave can have gone out twice."""
        undone = [one for one in self.lines if one.counts and not one.stays]
        if undone:
            first = self._name(undone[0])
            found.unknown.append((f"outputs do not name the records that they come from, from {first} on", "source"))

    def _counted(self, those: list[Write]) -> Counted:
        return Counted(those[0].origins, tuple(self._name(one) for one in those))

    def _name(self, one: Write) -> str:
        return f"sink:{self.task}/{one.attempt}/{one.epoch}#{one.number}"


_NAMES = {"transactional": "txn", "idempotent": "id"}
"""By kind of sink, what in a line says how the outside counts it."""
_KINDS = ("plain", "transactional", "idempotent", "determinant")
_AT_CHECKPOINTS = ("transactional", "idempotent")


def _origins(lineage: str) -> tuple[Origin, ...]:
    return tuple((str(task), int(offset)) for task, offset in json.loads(lineage))


def _write(line: dict[str, Any], attempt: int, epoch: int, *, stays: bool, counts: bool) -> Write:
    pairs, record = line.get("source"), line.get("record")
    origins: list[Origin] = []
    for pair in pairs if isinstance(pairs, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) and type(pair[1]) is int:
            origins.append((pair[0], pair[1]))
    whole = isinstance(pairs, list) and len(origins) == len(pairs)
    key = record[0] if isinstance(record, list) and record else None
    lineage = name_of(tuple(origins)) if whole else None
    return Write(attempt, epoch, line.get("n"), lineage, tuple(origins), key, stays, counts)
