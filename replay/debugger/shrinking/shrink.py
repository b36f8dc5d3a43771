"""Takes away whatever a divergence does not need: units, inputs and outputs of its task, until nothing more can go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from replay.bundle.content import content_id
from replay.bundle.members import MANIFEST
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.bundle.writer import BundleWriter
from replay.debugger.diverging.probe import Again, executed_again
from replay.debugger.diverging.side_by_side import beside
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.verify import plan_of_attempt
from replay.debugger.outcome import DivergenceFound, Missing, Outcome
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_buffers
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.debugger.shrinking.cutting import Cutting
from replay.debugger.shrinking.excerpt import Kept, attempt_of, excerpt
from replay.debugger.shrinking.units import Gathered, Unit, gathered
from replay.errors import ReplayError, WrongSetting
from replay.log.codec import decode_at
from replay.log.determinants import is_async
from replay.model import MAIN, Manifest, json_bytes, read_json

_HELD_BYTES = 1 << 20
_NO_SHRINK = "Replay it as it is; it stays a regression test as a whole"
MOST_BYTES = 512 << 20
"""So much of a recording is held in memory while members are left out of it."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The excerpt, how its replay (`asked`) diverges, and of how many units, or members, how many are left.

    `smallest`: nothing more can go; else there was more to try than may be.
    """

    members: MembersInMemory
    outcome: Outcome
    asked: Mapping[str, Any]
    of_what: Literal["units", "members"]
    left: int
    of: int
    tried: int
    smallest: bool = True

    @property
    def size_bytes(self) -> int:
        """Of all members together."""
        return sum(map(len, self.members.members.values()))

    def write(self, writer: BundleWriter) -> dict[str, Any]:
        """Publishes it as a bundle, and says what came of it: as `replay --shrink --json` ends its output."""
        for name, data in self.members.members.items():
            if name != MANIFEST:
                writer.append(name, data)
        writer.close(Manifest.from_json(self.members.read(MANIFEST)))
        return {
            **self.outcome.to_json(),
            "out": str(writer.out),
            self.of_what: self.left,
            f"of_{self.of_what}": self.of,
            "bytes": self.size_bytes,
            "replay_with": {name: value for name, value in self.asked.items() if value is not None},
            "tried": self.tried,
            "smallest": self.smallest,
        }


Signature = tuple[Any, ...]
OnTry = Callable[[int, int], None]


def shrink(
    source: RecordingSource,
    *,
    task: str | None = None,
    failure: int | None = None,
    attempt: int | None = None,
    on_try: OnTry = lambda tried, left: None,
) -> Shrunk:
    """Of the replay that these name, which must diverge; raises `ReplayError` where it does not.

    By what its task was given, where that is enough for it to diverge in the same way; else by members.
    """
    asked: dict[str, Any] = {"task": task, "failure": failure, "attempt": attempt}
    outcome = replay(source, **asked)
    if outcome.verdict != "diverged":
        raise WrongSetting(
            f"the replay of {outcome.task} is {outcome.verdict}: there is nothing to shrink",
            remedy="Name the failure or the attempt whose replay diverges",
        )
    if failure is None and attempt is None:
        asked["failure"] = outcome.failure
    made = _by_units(source, outcome, on_try) if "records" in outcome.detail else None
    return made or _by_members(source, asked, on_try)


def _by_units(source: RecordingSource, outcome: Outcome, on_try: OnTry) -> Shrunk | None:
    """None where no attempt diverges so when it is executed from its own log alone."""
    detail = outcome.detail
    of = str(detail["task"])
    there = str(detail.get("member", "")).split("/")
    cut_by = [int(there[2])] if there[:2] == ["tasks", of] else []  # whose buffer it is that differs
    attempts = [one for one in dict.fromkeys((int(detail["attempt"]), *cut_by)) if one in source.attempts(of)]
    for one in attempts:
        try:
            shrinking = _Shrinking(source, of, one, on_try)
            whole = gathered(source, shrinking.story, shrinking.plan)
        except (Missing, ReplayError):
            continue
        if whole is not None and (made := shrinking.run(whole)) is not None:
            return made
    return None


def _by_members(source: RecordingSource, asked: Mapping[str, Any], on_try: OnTry) -> Shrunk:
    names = list(source.members.names())
    size = sum(source.members.size(name) for name in names)
    if size > MOST_BYTES:
        raise WrongSetting(
            f"the recording has {size:,} bytes, and how it diverges can only be shown by leaving members out of it, "
            f"for which it may have {MOST_BYTES:,}",
            remedy=_NO_SHRINK,
        )
    cutting = Cutting({name: source.members.read(name) for name in names}, asked, {"of": content_id(source), **asked})
    cutting.on_try = on_try
    members, outcome = cutting.run()
    left = len(members.members)
    return Shrunk(members, outcome, asked, "members", left, len(names), cutting.tried, cutting.is_smallest)


@dataclass(slots=True)
class _Shrinking:
    source: RecordingSource
    task: str
    attempt: int
    on_try: OnTry
    story: Story = field(init=False)
    plan: Plan = field(init=False)
    of: dict[str, Any] = field(default_factory=dict)
    wanted: Signature = ()
    varies: bool = False
    tried: int = 0

    def __post_init__(self) -> None:
        self.story = Story.read(self.source.events())
        self.plan = plan_of_attempt(self.source, self.story, self.source.graph.task(self.task).id, self.attempt)
        self.of = {"of": content_id(self.source), "task": self.task, "attempt": self.attempt}

    def run(self, whole: Gathered) -> Shrunk | None:
        """The smallest that was found; None where the divergence does not come again in what ends with it."""
        first, last = _up_to(self.source, self.plan, whole)
        kept = Kept((*first, last))
        self.wanted = self._signature(kept)
        self.varies = self._signature(kept) != self.wanted
        if not self.wanted or not self._diverges(kept) or not _is_same_write(whole.found, self.wanted):
            return None
        kept = self._fewer_units(kept)
        kept = self._fewer_vertices(kept)
        of = {**self.of, "units": len(kept.units), "of_units": len(first) + 1}
        members = excerpt(self.source, self.plan, kept, of)
        asked = {"task": self.task, "attempt": attempt_of(self.plan)}
        outcome = replay(Bundle(members), **asked)  # type: ignore[arg-type]
        if outcome.verdict != "diverged":
            return None
        return Shrunk(members, outcome, asked, "units", len(kept.units), len(first) + 1, self.tried)

    def _signature(self, kept: Kept) -> Signature:
        """How a candidate diverges; empty where it does not, or is none at all."""
        self.tried += 1
        self.on_try(self.tried, len(kept.units))
        try:
            bundle = Bundle(excerpt(self.source, self.plan, kept, self.of))
            story = Story.read(bundle.events())
            plan = plan_of_attempt(bundle, story, self.plan.task, attempt_of(self.plan))
            again = executed_again(bundle, story, plan)
        except (ReplayError, DivergenceFound, Missing):
            return ()
        return _signature(bundle, self.task, attempt_of(self.plan), again)

    def _diverges(self, kept: Kept) -> bool:
        """As the whole does; where no two executions make the same, over what the recording holds."""
        found = self._signature(kept)
        return bool(found) and (found == self.wanted or (self.varies and _but_asked(found) == _but_asked(self.wanted)))

    def _fewer_units(self, kept: Kept) -> Kept:
        """Delta debugging: halves, quarters, …, single units, until no single one can go."""
        units, size = list(kept.units[1:-1]), max(1, len(kept.units) // 2)
        ends = kept.units[0], kept.units[-1]
        while units:
            at, less = 0, False
            while at < len(units):
                candidate = units[:at] + units[at + size :]
                if _closed(units[at : at + size], candidate) and self._diverges(
                    replace(kept, units=(ends[0], *candidate, ends[1]))
                ):
                    units, less = candidate, True
                else:
                    at += size
            if size == 1 and not less:
                break
            size = max(1, size // 2) if not less or size > 1 else 1
        return replace(kept, units=(ends[0], *units, ends[1]))

    def _fewer_vertices(self, kept: Kept) -> Kept:
        """Leaves out the vertices around the task that the divergence does not need."""
        own = self.source.graph.vertex_of(self.task).id
        edges = self.source.manifest.edges
        around = [one.source for one in edges if one.target == own] + [one.target for one in edges if one.source == own]
        shape = self.source.graph.task(self.task)
        for vertex in dict.fromkeys(around):
            used = {shape.inputs[unit.i] for unit in kept.units if unit.i is not None}
            if any(self.source.graph.task(self.source.graph.channel(one).source).vertex == vertex for one in used):
                continue
            candidate = replace(kept, left_out=kept.left_out | {vertex})
            if self._diverges(candidate):
                kept = candidate
        return kept


def _closed(gone: Sequence[Unit], kept: Sequence[Unit]) -> bool:
    """Barriers of one checkpoint stand or fall together."""
    barriers = {unit.data for unit in gone if unit.kind == "event" and b'"barrier"' in unit.data}
    return not any(unit.data in barriers for unit in kept if unit.kind == "event")


def _signature(source: RecordingSource, task: str, attempt: int, again: Again) -> Signature:
    if again.found is None:
        return ()
    detail = again.found.detail
    asked, logged = detail.get("asked"), detail.get("logged")
    line, byte = again.probe.code.line_raised(again.found), detail.get("byte")
    if isinstance(byte, int):
        line = again.line_that_wrote(byte)
        sides = beside(source, task, attempt, again, byte, int(detail["buffer"]))
        if sides is not None:
            asked, logged = json_bytes(sides.made), None if sides.held is None else json_bytes(sides.held)
    kind = "write" if "sink/" in str(detail.get("member")) else "asked" if byte is None else "byte"
    return kind, asked, logged, None if line is None else str(line)


def _is_same_write(found: DivergenceFound, signature: Signature) -> bool:
    """Of a write to the outside world, an excerpt holds the record: where it is another thing that differs, as its
    lineage, or that a write is there at all, what the excerpt shows is something else."""
    detail = found.detail
    if "sink/" not in str(detail.get("member")):
        return True
    return signature[:3] == ("write", detail.get("asked"), detail.get("logged"))


def _but_asked(signature: Signature) -> Signature:
    return signature[:1] + signature[2:]


# --- up to where it diverged ---


def _up_to(source: RecordingSource, plan: Plan, whole: Gathered) -> tuple[list[Unit], Unit]:
    """The units before the one that diverges, and that one with what the recording holds of it."""
    detail = whole.found.detail
    if isinstance(detail.get("byte"), int):
        return _up_to_byte(source, plan, whole, detail["byte"])
    units = whole.units
    last = replace(units[-1], chose=list(units[-1].chose), wrote={}, gave=list(units[-1].gave))
    if "sink/" in str(detail.get("member")):
        held = _json_of(str(detail.get("logged")))
        last = replace(last, gave=[*last.gave[:-1], held[:3] if isinstance(held, list) else []])
        return units[:-1], last
    execution = whole.found.execution
    if detail.get("thread") == MAIN and isinstance(execution, Execution):
        log = plan.logs.get(MAIN, {}).get(detail["epoch"], b"")
        if detail["offset"] < len(log):
            logged, end = decode_at(log, detail["offset"])
            if not is_async(logged):
                last.chose.append(log[detail["offset"] : end])
        else:
            last = replace(last, wrote=_next_record(source, plan, whole))
    elif "sink/" not in str(detail.get("member")):
        last = replace(last, wrote=_next_record(source, plan, whole))
    return units[:-1], last


def _next_record(source: RecordingSource, plan: Plan, whole: Gathered) -> dict[int, list[tuple[bytes, bool]]]:
    """What the recording holds next on some output: that the first execution went on is why a replay does."""
    for k, ended in enumerate(whole.gathering.ends):
        start = 0
        for placed in placed_buffers(source, plan.task, plan.take_from[0], k):
            size = len(placed.frame.payload)
            if start + size > ended and not placed.frame.is_event:
                stream = _held_from(source, plan, k, placed.frame.seq, ended - start)
                return {k: [(stream[: _end_of_record(stream, 0)], False)]}
            start += size
    return {}


def _json_of(text: str) -> Any:
    try:
        return read_json(text.encode())
    except ValueError:
        return None


def _up_to_byte(source: RecordingSource, plan: Plan, whole: Gathered, byte: int) -> tuple[list[Unit], Unit]:
    """The unit that wrote the byte that differs, with the bytes that the recording holds from there on."""
    k = whole.gathering.cut_last[0] if whole.gathering.cut_last is not None else 0
    at = whole.gathering.starts[k] + byte
    start = 0
    before: list[Unit] = []
    for unit in whole.units:
        if start + unit.size(k) > at:
            break
        start += unit.size(k)
        before.append(unit)
    else:
        return whole.units[:-1], whole.units[-1]
    made = b"".join(data for data, _ in unit.wrote[k])
    into = at - start
    held = made[:into] + _held_from(source, plan, k, int(whole.found.detail["buffer"]), byte)
    size = max(_end_of_record(held, into), into + 1)
    return before, replace(unit, wrote={k: [(held[:size], False)]}, made={k: made}, gave=[])


def _held_from(source: RecordingSource, plan: Plan, k: int, buffer: int, byte: int) -> bytes:
    found = b""
    for placed in placed_buffers(source, plan.task, plan.take_from[0], k):
        frame = placed.frame
        if frame.seq == buffer:
            found = frame.payload[byte:]
        elif frame.seq > buffer:
            if frame.is_event or len(found) > _HELD_BYTES:
                break
            found += frame.payload
    return found


def _end_of_record(stream: bytes, into: int) -> int:
    """Where the record ends that covers that byte."""
    at = 0
    while at + 4 <= len(stream):
        size = int.from_bytes(stream[at : at + 4], "big", signed=True)
        if size < 0:
            return len(stream)
        at += 4 + size
        if at > into:
            return at
    return len(stream)
