"""A recorded attempt taken apart into records, each with what was asked and given with it, and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, cast

from clonoscope.json_values import to_json
from clonoscope.onsite.answers import Answers
from clonoscope.onsite.held import Held
from clonoscope.onsite.passages import OF_ALL, Line, by_calls, by_rows, is_of_calls, is_of_rows
from clonoscope.onsite.records import Feed, Reader
from clonoscope.shapes import of_record
from replay.bundle.members import EVENTS, MANIFEST, member_name
from replay.bundle.members_in_memory import MembersInMemory
from replay.debugger.outcome import Missing
from replay.errors import ReplayError
from replay.log.codec import encode
from replay.log.determinants import Determinant, Take
from replay.model import MAIN, json_bytes

Begun = tuple[Take | None, list[Determinant]]
"""A record, and what was asked up to the next."""
_TELLING = ("attempt-started", "task-failed", "checkpoint-acknowledged", "gap")


@dataclass(frozen=True, slots=True)
class Unit:
    """A run of records that were taken at once, and what followed up to the next; without records, what an epoch begins
    with. Or a call of an engine's, with all that it took in its `log`. `lines` are those of its records, `outputs` what
    was given meanwhile; `border`: what passed to an engine."""

    epoch: int
    take: Take | None
    log: tuple[Determinant, ...] = ()
    lines: tuple[Mapping[str, Any], ...] = ()
    outputs: tuple[Mapping[str, Any], ...] = ()
    border: tuple[Mapping[str, Any], ...] = ()


@dataclass(slots=True)
class Units:
    """Of one attempt. An excerpt is made of some of them."""

    held: Held
    reader: Reader | None = None
    units: list[Unit] = field(default_factory=list)

    @classmethod
    def of(cls, held: Held, reader: Reader | None = None) -> Units:
        """All of them, in order. Records that a reader gives become a part of them, as no hash is of some of them."""
        found = cls(held, reader)
        try:
            for epoch in held.epochs:
                found._of_epoch(epoch)
        except Missing as missing:
            raise ReplayError(missing.sentence.rstrip(".")) from missing
        return found

    def _of_epoch(self, epoch: int) -> None:
        begun: list[Begun] = [(None, [])]
        for _, _, one in self.held.bundle.determinants(self.held.task, self.held.attempt, MAIN, epoch):
            if isinstance(one, Take):
                begun += [(Take(one.channel, one.first_offset + n, 1), []) for n in range(one.records)]
            else:
                begun[-1][1].append(one)
        lines = iter(self._lines(epoch, [take for take, _ in begun if take is not None]))
        outputs = self.held.outputs(epoch)
        border = self.held.lines("border", epoch)
        if is_of_calls(border):
            self._of_calls(epoch, begun, lines, by_calls(border))
            return
        passed = by_rows(border)
        at_once = _taken_at_once(begun) and not is_of_rows(border)
        for number, (take, log) in enumerate(_joined(begun) if at_once else begun):
            own = tuple(next(lines, {}) for _ in range(take.records if take else 0))
            groups = islice(passed, len(own) if take else 1)
            told = tuple(line for group in groups for line in group)
            self.units.append(Unit(epoch, take, tuple(log), own, _given(outputs, own, number), told))
        left_of_border = tuple(line for group in passed for line in group)
        self.units[-1] = replace(self.units[-1], border=self.units[-1].border + left_of_border)
        claimed = {id(line) for unit in self.units for line in unit.outputs}
        left = tuple(line for line in outputs if id(line) not in claimed)
        if left:
            self.units[-1] = replace(self.units[-1], outputs=self.units[-1].outputs + left)

    def _of_calls(
        self, epoch: int, begun: list[Begun], lines: Iterator[dict[str, Any]], calls: Sequence[tuple[list[Line], int]]
    ) -> None:
        """A call is a unit, with all that it took; one of none has its answers in the one before it."""
        before, left = begun[0][1], begun[1:]
        if len(calls) > 1:
            self.units.append(Unit(epoch, None, tuple(before)))
            before = []
        for number, (told, records) in enumerate(calls, 1):
            taken, left = (left, []) if number == len(calls) else (left[:records], left[records:])
            log = [*before, *(one for take, asked in taken for one in (take, *asked) if one is not None)]
            before = []
            own = tuple(next(lines, {}) for _ in taken)
            self.units.append(Unit(epoch, None, tuple(log), own, (), tuple(told)))
        self._claim(epoch)

    def _claim(self, epoch: int) -> None:
        """Outputs go with the records that they came of; those of which that is not known, with the last call."""
        first = next(at for at, unit in enumerate(self.units) if unit.epoch == epoch)
        left = list(self.held.outputs(epoch))
        for at in range(first, len(self.units)):
            unit, is_last = self.units[at], at == len(self.units) - 1
            own = tuple(left) if is_last else _given(left, unit.lines, 1)
            left = [line for line in left if not any(line is one for one in own)]
            self.units[at] = replace(unit, outputs=own)

    def _lines(self, epoch: int, takes: Sequence[Take]) -> list[dict[str, Any]]:
        lines = self.held.lines("source", epoch)
        if self.reader is None or all("record" in line for line in lines):
            return lines
        answers = Answers.of(self.held.bundle, self.held.task, self.held.attempt)
        places = [place for take in takes for place in cast(Answers, answers).places(self.held, take)]
        feed = Feed(self.held, self.reader)
        feed.begin(epoch, places)
        fed = [feed.next(place) for place in places]
        return [
            {"offset": line["offset"], "t_us": line["t_us"], **of_record(to_json(one.record))}
            for line, one in zip(lines, fed, strict=True)
        ]

    def excerpt(self, kept: Sequence[Unit], of: Mapping[str, Any]) -> MembersInMemory:
        """A bundle of those alone. Records, outputs and events are numbered anew."""
        held = self.held
        written: dict[str, bytearray] = {}
        numbers: dict[Any, int] = {}
        lines = {"source": 0, "sink": 0}

        def put(folder: str, epoch: int, data: bytes) -> None:
            name = member_name(held.task, held.attempt, folder, epoch)
            written.setdefault(name, bytearray()).extend(data)

        for epoch in sorted({unit.epoch for unit in kept}):
            self._put_border(written, epoch, [line for unit in kept if unit.epoch == epoch for line in unit.border])
        for unit in kept:
            put(MAIN, unit.epoch, b"".join(map(encode, (*([unit.take] if unit.take else []), *unit.log))))
            for line in unit.lines:
                numbers[line.get("offset")] = lines["source"]
                put("source", unit.epoch, json_bytes({**line, "offset": lines["source"]}) + b"\n")
                lines["source"] += 1
            for line in unit.outputs:
                put("sink", unit.epoch, json_bytes(self._renumbered(line, lines["sink"], numbers)) + b"\n")
                lines["sink"] += 1
        members = {name: bytes(data) for name, data in written.items()}
        return MembersInMemory(members | self._beside({unit.epoch for unit in kept}) | self._manifest(of))

    def _put_border(self, written: dict[str, bytearray], epoch: int, results: Sequence[Mapping[str, Any]]) -> None:
        """With what is said of all of them: how the function is called, of what shape its rows are."""
        lines = self.held.lines("border", epoch)
        if is_of_rows(lines) or is_of_calls(lines):
            said = [line for line in lines if line.get("is") in OF_ALL]
            name = f"tasks/{self.held.task}/{self.held.attempt}/border/{epoch}.ndjson"
            written[name] = bytearray(b"".join(json_bytes(line) + b"\n" for line in (*said, *results)))

    def _renumbered(self, line: Mapping[str, Any], n: int, numbers: Mapping[Any, int]) -> dict[str, Any]:
        source = [[task, numbers.get(number, number)] for task, number in line.get("source", ())]
        return {**line, "n": n} | ({"source": source} if "source" in line else {})

    def _beside(self, epochs: set[int]) -> dict[str, bytes]:
        """The state that the attempt began with, its sites, and the events that tell of it."""
        held, found = self.held, {}
        first = held.epochs[0]
        for attempt in held.bundle.attempts(held.task):
            for name in (
                member_name(held.task, attempt, "state", first),
                *([f"tasks/{held.task}/{attempt}/sites.ndjson"] if attempt == held.attempt else []),
            ):
                if name in held.bundle.members and attempt <= held.attempt:
                    found[name] = held.bundle.members.read(name)
        told, numbers = b"", 0
        for event in held.bundle.events():
            own = (event.get("task"), event.get("attempt")) == (held.task, held.attempt)
            ended = event["type"] != "checkpoint-acknowledged" or event.get("checkpoint", 0) - 1 in epochs
            if own and event["type"] in _TELLING and ended:
                event = {**event, "n": numbers}
                if "failure" in event:
                    event["failure"] = 0
                if event["type"] == "attempt-started":
                    event.pop("failure", None)  # of an attempt before it, which is not there
                told += json_bytes(event) + b"\n"
                numbers += 1
        return found | {EVENTS: told}

    def _manifest(self, of: Mapping[str, Any]) -> dict[str, bytes]:
        whole = self.held.bundle.manifest
        task = self.held.bundle.graph.task(self.held.task)
        vertex = self.held.bundle.graph.vertex_of(self.held.task)
        raw = {name: value for name, value in whole.raw.items() if name in ("code", "redactions")}
        made = replace(whole, vertices=(vertex,), edges=(), tasks=(task,), raw={**raw, "excerpt": dict(of)})
        return {MANIFEST: made.to_bytes()}


def _taken_at_once(begun: Sequence[Begun]) -> bool:
    """Whether all records of the epoch were taken before anything was asked: then what was asked is of all of them."""
    return len(begun) > 2 and bool(begun[-1][1]) and not any(log for _, log in begun[1:-1])


def _joined(begun: Sequence[Begun]) -> list[Begun]:
    """One unit of the first, and one of each run of records: the last has all that was asked."""
    runs: list[Take] = []
    for take, _ in begun[1:]:
        last = runs[-1] if runs else None
        if take is None:
            continue
        if last and (last.channel, last.first_offset + last.records) == (take.channel, take.first_offset):
            runs[-1] = Take(last.channel, last.first_offset, last.records + 1)
        else:
            runs.append(take)
    return [begun[0], *((one, []) for one in runs[:-1]), (runs[-1], begun[-1][1])]


def _given(
    outputs: Sequence[Mapping[str, Any]], own: Sequence[Mapping[str, Any]], number: int
) -> tuple[Mapping[str, Any], ...]:
    """What came of these records, as its lineage says."""
    taken = {line.get("offset") for line in own}
    if not own:
        return tuple(line for line in outputs if not line.get("source")) if number == 0 else ()
    return tuple(line for line in outputs if line.get("source") and line["source"][-1][1] in taken)
