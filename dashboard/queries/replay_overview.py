"""A replay as a whole: its states, how many steps of which kind, and the strip of them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.models import Replay
from dashboard.models.replays import Verdict
from dashboard.queries.kinds import step_kind
from dashboard.queries.written_once import once_written
from ingest.lake.step_reader import StepReader

STATES = ("Standby", "WaitingConnections", "WaitingDeterminants", "Replaying", "Running")
BINS = 720
MARKS_SHOWN = 500

_STATES_SQL = """
SELECT state, min(step), max(step), min(t_us), max(t_us) FROM steps WHERE state IS NOT NULL GROUP BY state
"""
_KINDS_SQL = "SELECT kind, count(*), min(step) FROM steps GROUP BY kind ORDER BY count(*) DESC, kind"
_BINS_SQL = """
SELECT ((step - $first) * $bins) // $span AS bin, kind, count(*) FROM steps
WHERE step >= $first AND step < $first + $span GROUP BY ALL ORDER BY ALL
"""
# Where a state is entered: other transitions stay in theirs.
ENTERED_SQL = """
SELECT step, kind, state, task FROM steps WHERE kind IN ('transition', 'diverge')
QUALIFY kind = 'diverge' OR state IS DISTINCT FROM lag(state) OVER (PARTITION BY task, kind ORDER BY step)
"""
_MARKS_SQL = f"""
WITH entered AS ({ENTERED_SQL})
SELECT step, kind, state FROM entered WHERE step >= $first AND step < $first + $span ORDER BY kind, step LIMIT $limit
"""


@dataclass(frozen=True, slots=True)
class StateSpan:
    """A state of the diagram; without a first step the replay did not (yet) enter it."""

    state: str
    first_step: int | None = None
    last_step: int | None = None
    start_us: int | None = None
    end_us: int | None = None


@dataclass(frozen=True, slots=True)
class KindCount:
    kind: str
    steps: int
    first_step: int


def state_spans(written: StepReader) -> list[StateSpan]:
    """The five states in their order, then any other that the replay names."""
    rows = once_written(written, "states", lambda: written.rows(_STATES_SQL))
    found = {row[0]: StateSpan(*row) for row in rows}
    names = [*STATES, *sorted(found.keys() - set(STATES), key=lambda name: found[name].first_step or 0)]
    spans = [found.get(name, StateSpan(name)) for name in names]
    return [_until_next(span, spans) for span in spans]


def _until_next(span: StateSpan, spans: list[StateSpan]) -> StateSpan:
    """A state lasts until the next one begins, not until its own last step."""
    if span.start_us is None or span.first_step is None:
        return span
    later = [
        one.start_us
        for one in spans
        if one.first_step is not None and one.first_step > span.first_step and one.start_us is not None
    ]
    end_us = min(later, default=span.end_us)
    return StateSpan(span.state, span.first_step, span.last_step, span.start_us, end_us)


def is_whole(replay: Replay, written: StepReader) -> bool:
    """How much there would have been is not known before a replay's end, and where the recording lacks something."""
    if not replay.readable or replay.verdict == Verdict.UNKNOWN:
        return False
    return any(one.kind == "finish" for one in kind_counts(written))


def kind_counts(written: StepReader) -> list[KindCount]:
    return [KindCount(*row) for row in once_written(written, "kinds", lambda: written.rows(_KINDS_SQL))]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of all steps, and into how many bins it is divided."""

    steps: int
    first: int
    end: int

    @property
    def span(self) -> int:
        return max(1, self.end - self.first)

    @property
    def bins(self) -> int:
        return min(BINS, self.span)

    def to_json(self) -> dict[str, int]:
        return {"steps": self.steps, "first": self.first, "end": self.end, "binCount": self.bins}


def part_of(written: StepReader, first: int, end: int | None) -> Part:
    """From `first` to `end`, exclusive; to the last where no end is said, or one behind it."""
    steps = written.steps
    first = min(first, max(0, steps - 1))
    return Part(steps, first, steps if end is None else min(max(end, first + 1), steps))


def strip(written: StepReader, first: int = 0, end: int | None = None) -> dict[str, Any]:
    """From `first` to `end`, exclusive: never more bins than a screen has room for; what falls together is added up,
    and nothing left out."""
    part = part_of(written, first, end)
    rows = written.rows(_BINS_SQL, {"bins": part.bins, "first": part.first, "span": part.span})
    marks = written.rows(_MARKS_SQL, {"limit": MARKS_SHOWN, "first": part.first, "span": part.span})
    return {
        **part.to_json(),
        "bins": [
            {"bin": n, "kind": kind, "group": step_kind(kind).colour, "steps": steps_} for n, kind, steps_ in rows
        ],
        "marks": [{"step": step, "kind": kind, "state": state} for step, kind, state in marks],
    }
