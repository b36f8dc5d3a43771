"""A recorded attempt taken apart into records, each with what was asked and given with it, and put together again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, cast

from clonoscope.json_values import to_json
from clonoscope.onsite.answers import Answers
from clonoscope.onsite.held import Held
from clonoscope.onsite.records import Feed, Reader
from replay.bundle.members import EVENTS, MANIFEST, member_name
from replay.bundle.members_in_memory import MembersInMemory
from replay.debugger.outcome import Missing
from replay.errors import ReplayError
from replay.log.codec import encode
from replay.log.determinants import Determinant, Take
from replay.model import MAIN, json_bytes

_TELLING = ("attempt-started", "task-failed", "checkpoint-acknowledged", "gap")


@dataclass(frozen=True, slots=True)
class Unit:
    """A run of records that were taken at once, and what followed up to the next; without records, what an epoch begins
    with. `lines` are those of its records, `outputs` what was given meanwhile; `border`: what passed to an engine."""

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
        begun: list[tuple[Take | None, list[Determinant]]] = [(None, [])]
        for _, _, one in self.held.bundle.determinants(self.held.task, self.held.attempt, MAIN, epoch):
            if isinstance(one, Take):
                begun += [(Take(one.channel, one.first_offset + n, 1), []) for n in range(one.records)]
            else:
                begun[-1][1].append(one)
        lines = iter(self._lines(epoch, [take for take, _ in begun if take is not None]))
        outputs = self.held.outputs(epoch)
        border = self.held.lines("border", epoch)
        passed = _by_rows(border)
        at_once = _taken_at_once(begun) and not _is_of_rows(border)
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
            {"offset": line["offset"], "t_us": line["t_us"], "record": to_json(one.record)}
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
        if _is_of_rows(lines):
            said = [line for line in lines if line.get("is") in ("begin", "shape")]
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


def _is_of_rows(border: Sequence[Mapping[str, Any]]) -> bool:
    """Whether each of its results is of one record: calls that are of many can't be taken apart."""
    is_of_rows = bool(border) and border[0].get("form") in ("rows", "writer")
    return is_of_rows and not any(line.get("is") == "mixed" for line in border)


def _by_rows(border: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """What passed before the first row, then for each row, then behind the last."""
    if not _is_of_rows(border):
        return
    passed = [line for line in border if line.get("is") not in ("begin", "shape")]
    opened = next((at for at, line in enumerate(passed, 1) if line.get("is") == "opened"), 0)
    yield passed[:opened]
    of_row: list[Mapping[str, Any]] = []
    for line in passed[opened:]:
        of_row.append(line)
        if line.get("is") == "give":
            yield of_row
            of_row = []
    yield of_row


def _taken_at_once(begun: Sequence[tuple[Take | None, list[Determinant]]]) -> bool:
    """Whether all records of the epoch were taken before anything was asked: then what was asked is of all of them."""
    return len(begun) > 2 and bool(begun[-1][1]) and not any(log for _, log in begun[1:-1])


def _joined(begun: Sequence[tuple[Take | None, list[Determinant]]]) -> list[tuple[Take | None, list[Determinant]]]:
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
