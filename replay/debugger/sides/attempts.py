"""Two attempts side by side, of one task or of two recordings: where they first differ, by which line, what follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from replay.debugger.attempt_replay import stepping_of
from replay.debugger.executing.bystander import Bystander
from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.verify import UNPROCESSED, operator_of, plan_of_attempt
from replay.debugger.left_out import gaps_of
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import NoSteps, RecordingSource
from replay.debugger.recorded.scene import Scene, choose
from replay.debugger.recorded.story import Story
from replay.debugger.redactions import redacted_in
from replay.debugger.sides.closure import told
from replay.debugger.sides.ledger import WRITES, Ledger, counted_of
from replay.debugger.sides.lines import LineOfChange
from replay.debugger.sides.logs_alone import note_logs
from replay.debugger.sides.trace import Difference, Item, Lockstep, Noting, Stream, Trace
from replay.debugger.sides.tracing import Tracing, TracingSink
from replay.debugger.writing.steps import Progress, StepWriter
from replay.debugger.writing.words import counted
from replay.errors import WrongSetting
from replay.model import MAIN

_NOUNS: dict[Stream, str] = {
    "determinant": "determinant",
    "input": "input",
    "state": "change of state",
    "output": "output",
}


@dataclass(slots=True)
class Side:
    """One attempt of a recording. `lacks`: why it could not be executed, so that only its logs are looked at;
    `broke`: where its execution ended before its log did."""

    source: RecordingSource
    task: str
    attempt: int
    name: str
    story: Story = field(init=False)
    scene: Scene = field(init=False)
    plan: Plan | None = None
    ledger: Ledger = field(default_factory=Ledger)
    steps: int = 0
    lacks: str = ""
    broke: str = ""

    def __post_init__(self) -> None:
        self.story = Story.read(self.source.events())
        self.scene = choose(self.source, self.story, task=self.task, failure=None, attempt=self.attempt)
        try:
            self.plan = plan_of_attempt(self.source, self.story, self.scene.task, self.attempt)
            Execution(self.source, self.plan, operator_of(self.source, self.scene.task), Bystander())
        except Missing as missing:
            self.lacks = missing.sentence
        except DivergenceFound as found:
            self.lacks = found.sentence

    def to_json(self) -> dict[str, Any]:
        """As reports hold it."""
        fields: dict[str, Any] = {"task": self.task, "attempt": self.attempt, "name": self.name, "steps": self.steps}
        fields["checkpoint"] = self.scene.checkpoint
        return fields | {name: said for name in ("lacks", "broke") if (said := getattr(self, name))}


def compare_attempts(
    first: Side, second: Side, *, progress: Progress | None = None, cancelled: Callable[[], bool] | None = None
) -> dict[str, Any]:
    """The report, as JSON. Raises `ReplayError` where what was asked for isn't in the recordings."""
    _check_comparable(first, second)
    since = max(first.scene.checkpoint, second.scene.checkpoint)
    executed = not (first.lacks or second.lacks)
    with Trace() as trace:
        run: Callable[..., object] = _executed if executed else note_logs
        run(first, trace, since, progress, cancelled)
        against = Lockstep(trace)
        run(second, against, since, progress, cancelled)
        found = against.finish()
        differences = [one for one in found if one.stream != "step"]
        counts = {"first": trace.counts, "second": against.counts}
    if executed:
        differences = [_with_line(one, first, second) for one in differences]
    else:
        differences = _of_common_epochs(differences, first, second)
    seeds = [] if executed else [one._replace(stream="determinant") for one in found if one.stream == "step"]
    if seeds and not any(one.stream == "determinant" for one in differences):
        differences, seeds = [*seeds, *differences], []
    report: dict[str, Any] = {
        "equal": not differences,
        "only_longer": _only_longer(differences),
        "first": first.to_json(),
        "second": second.to_json(),
        "since_epoch": since,
        "differences": [one.to_json() for one in differences],
        "counts": {side: {name: of[name] for name in _NOUNS} for side, of in counts.items()},
        "compared": list(_NOUNS) if executed else _compared(counts),
    }
    if executed:
        report |= _what_follows(first, second, differences)
    report["sentence"] = _sentence(first, second, differences, executed, since)
    if seeds:
        report["sentence"] += " Their generators of random numbers were seeded with other numbers too."
    return _verifiable(report, first, second)


def _verifiable(report: dict[str, Any], first: Side, second: Side) -> dict[str, Any]:
    """Redacted values were held side by side as tokens, and what stood in a gap against nothing: neither that all is
    the same nor that it differs is said."""
    for side in (first, second):
        if gaps := gaps_of(side.story, side.scene):
            left_out = "and what its recorder left out was compared with nothing. "
            said = f"Not verifiable: the log of {side.name} has {counted(gaps, 'gap')}, {left_out}"
            return _not_verifiable(report, said, gaps=gaps)
    for side in (first, second):
        where = redacted_in(side.source, side.scene.task)
        if where:
            said = f"Not verifiable: of {side.name}, {where} is redacted, and only tokens were compared. "
            return _not_verifiable(report, said, redacted=where)
    return report


def _not_verifiable(report: dict[str, Any], said: str, **why: Any) -> dict[str, Any]:
    shown = "Nothing else differs." if report["equal"] else report["sentence"]
    return {**report, "equal": False, **why, "sentence": said + shown[:1].upper() + shown[1:]}


def _compared(counts: dict[str, dict[Stream, int]]) -> list[str]:
    """What logs alone can tell of; of what was given away, only where the recording has lines of it."""
    gave = any(of["output"] for of in counts.values())
    return ["determinant", "input", *(["output"] if gave else [])]


def _of_common_epochs(differences: list[Difference], *sides: Side) -> list[Difference]:
    """That one of them went on with later epochs is a difference only where there is no other."""
    last = min(max(side.source.epochs(side.task, side.attempt, MAIN), default=-1) for side in sides)
    common = [one for one in differences if any(item and item.epoch <= last for item in (one.first, one.second))]
    return common or differences


def _check_comparable(first: Side, second: Side) -> None:
    one, other = (side.source.graph.task(side.task) for side in (first, second))
    shapes = [(len(shape.inputs), len(shape.outputs)) for shape in (one, other)]
    if shapes[0] != shapes[1]:
        raise WrongSetting(
            f"{first.name} and {second.name} can't stand side by side: the one has {shapes[0][0]} inputs and "
            f"{shapes[0][1]} outputs, the other {shapes[1][0]} and {shapes[1][1]}",
            remedy="Compare two attempts of one task, or of tasks of one shape in two recordings",
        )


def _executed(
    side: Side,
    noting: Noting,
    since: int,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    watch: Callable[[Any], Any] = lambda operator: operator,
) -> Any:
    """Executes an attempt from its own log, noting everything; returns its operator."""
    source, task, plan = side.source, side.scene.task, side.plan
    if plan is None:
        raise WrongSetting(f"{side.name} can't be executed here")
    sink = TracingSink(NoSteps(), noting)
    steps = StepWriter(sink, task, progress, cancelled)
    steps.state = "Running"
    steps.t_us, started = side.story.start_of(task, side.attempt)
    stepping = stepping_of(source, plan, steps, Comparison(source, side.story, plan))
    tracing = sink.tracing = Tracing(stepping, noting, since)
    operator = watch(operator_of(source, task))
    execution = Execution(source, plan, operator, tracing)
    try:
        stepping.begin(execution, "", started)
        tracing.attach(execution)
        execution.run()
    except Missing as missing:
        side.broke = missing.sentence
    except DivergenceFound as found:
        side.broke = found.sentence
    side.ledger, side.steps = tracing.ledger, steps.count
    return operator


# --- the line that made it ---


class _Nobody:
    """Keeps nothing."""

    def note(self, stream: Stream, item: Item) -> None:
        """Dropped."""


def _with_line(found: Difference, first: Side, second: Side) -> Difference:
    """A change of state is looked for once more, line by line; for the rest the line was noted as it was made."""
    if found.stream != "state":
        return found
    return found._replace(first=_line_of(found.first, first), second=_line_of(found.second, second))


def _line_of(item: Item | None, side: Side) -> Item | None:
    if item is None or item.call < 0:
        return item
    watched = _executed(side, _Nobody(), 0, watch=lambda operator: LineOfChange(operator, item.call, item.place))
    return item._replace(line=watched.line)


# --- what follows ---


def _what_follows(first: Side, second: Side, differences: list[Difference]) -> dict[str, Any]:
    like = first.ledger.like(second.ledger)
    outputs: dict[str, Any] = {kind: [span.to_json() for span in spans] for kind, spans in like.items()}
    found: dict[str, Any] = {"outputs": outputs}
    if not differences:
        return found
    sides = {}
    for side, which in ((first, "first"), (second, "second")):
        steps = [item.step for one in differences if (item := getattr(one, which)) is not None]
        since = min(steps, default=side.steps)
        spans = [side.ledger.since(output, since) for output in side.ledger.outputs]
        channels = {span.output: span.first for span in spans if span.output != WRITES}
        sides[which] = {
            "since_step": since,
            "may_follow": [span.to_json() for span in spans if span.size],
            "cannot_follow": side.ledger.total() - counted_of(spans),
            **told(side.source, side.scene.task, side.attempt, channels),
        }
    return found | {"follows": sides}


def _only_longer(differences: list[Difference]) -> str | None:
    """Which of the two did all that the other did, and went on; None where they differ in what both did."""
    for which, other in (("first", "second"), ("second", "first")):
        if differences and all(getattr(one, other) is None for one in differences):
            return which
    return None


def _sentence(first: Side, second: Side, differences: list[Difference], executed: bool, since: int) -> str:
    names = f"{first.name} and {second.name}"
    lacking = next((side.lacks for side in (first, second) if side.lacks), "").removeprefix(UNPROCESSED)
    within = f" from epoch {since} on" if since else ""
    if not differences:
        alike = "did the same" if executed else "have the same logs and took the same"
        return f"{names} {alike}{within}.{f' Their records were not processed again: {lacking}' if lacking else ''}"
    root, *others = differences
    if longer := _only_longer(differences):
        ended, on = (second, first) if longer == "first" else (first, second)
        item = root.first or root.second
        did = f"{ended.name} and {on.name} did the same{within} until {ended.name} ended"
        more = "" if item is None else f"; {on.name} goes on: {item.said}{_at(item)}"
        return f"{did}{more}.{f' Their records were not processed again: {lacking}' if lacking else ''}"
    sides = "; ".join(
        f"{side.name}: {'no more' if item is None else item.said}{_at(item)}"
        for side, item in ((first, root.first), (second, root.second))
    )
    said = f"{names}{within} first differ in {_NOUNS[root.stream]} {root.number:,}: {sides}."
    if others:
        said += f" After it they differ in {' and '.join(_NOUNS[one.stream] for one in others)} too."
    if executed and len(others) < len(_NOUNS) - 1:
        same = [noun for stream, noun in _NOUNS.items() if stream not in {one.stream for one in differences}]
        said += f" No difference in {' and '.join(same)}."
    if lacking:
        said += f" Their records were not processed again: {lacking}"
    return said


def _at(item: Item | None) -> str:
    if item is None:
        return ""
    by = f", by {item.line}" if item.line else ""
    return f" at {counted(item.record_count, 'record')} of epoch {item.epoch}{by}"
