"""Whether an operator's records commute, tried on those that its tasks really took: pairs in both orders.

A pair that does not commute refutes it. That none was found proves nothing but that: how many were tried is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import ReplayError, printable
from replay.guarantees.formal.taken_records import NotRecorded, state_at_the_beginning, taken_records
from replay.guarantees.formal.trying import AsksOutside, Bench, Came, Outcome
from replay.jobs.registry import UnknownOperator
from replay.model import Vertex

MOST_RECORDS = 1_500
MOST_PAIRS = 120
"""Of one task, of each kind: of two channels or one, with one key or two."""
MOST_TASKS = 4
"""Of one vertex."""
_AHEAD = 40


@dataclass(frozen=True, slots=True)
class Pair:
    """Two records that do not commute, from the state after so many of its task's records."""

    task: str
    attempt: int
    after: int
    x: Came
    y: Came
    differs: str

    @property
    def across(self) -> bool:
        """Whether they came from two channels, so that their order was nobody's but chance's."""
        return self.x.i != self.y.i


@dataclass(slots=True)
class Commuting:
    """Of one vertex. `wants`: what is missing where it can't be known."""

    vertex: str
    operator: str
    tried_across: int = 0
    tried_within: int = 0
    pair: Pair | None = None
    within: Pair | None = None
    unknown: str = ""
    wants: str = ""

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.pair is not None:
            return "does not commute"
        if self.unknown:
            return "unknown"
        return "no counterexample" if self.tried_across else "one channel"

    def to_json(self) -> dict[str, Any]:
        """As among the numbers of a section."""
        return {
            "vertex": self.vertex,
            "operator": self.operator,
            "verdict": self.verdict,
            "tried_across": self.tried_across,
            "tried_within": self.tried_within,
            "in_order_only": self.within is not None,
        }


def commutativity(source: RecordingSource) -> list[Commuting]:
    """Of every vertex, in the manifest's order."""
    story = Story.read(source.events())
    return [_of_vertex(source, story, vertex) for vertex in source.manifest.vertices]


def _of_vertex(source: RecordingSource, story: Story, vertex: Vertex) -> Commuting:
    found = Commuting(vertex.id, vertex.operator)
    tasks = [task.id for task in source.manifest.tasks if task.vertex == vertex.id]
    for task in tasks[:MOST_TASKS]:
        try:
            _of_task(source, story, vertex, task, found)
        except UnknownOperator:
            found.unknown = "the operator is not installed here"
            found.wants = f"the operator {printable(vertex.operator) or 'of ' + printable(vertex.id)}"
        except AsksOutside as asked:
            found.unknown = f"it asks the outside ({printable(str(asked))})"
            found.wants = "an operator that asks nothing outside"
        except NotRecorded as fault:
            found.unknown, found.wants = "what it took is not recorded", fault.wants
        except (ReplayError, DivergenceFound) as fault:
            found.unknown, found.wants = "what it took can't be read", printable(str(fault))
        except Exception as fault:  # an edge: what operators do with their own state
            found.unknown = f"it raises {type(fault).__name__}: {printable(str(fault))}"
            found.wants = "an operator that takes its recorded records"
        if found.pair is not None or found.unknown:
            break
    return found


def _of_task(source: RecordingSource, story: Story, vertex: Vertex, task: str, found: Commuting) -> None:
    attempt = min(source.attempts(task), default=0)
    bench = Bench(vertex, task, source.manifest.clock.origin_ms)
    state = state_at_the_beginning(source, task, attempt, story.checkpoint_of(task, attempt))
    operator, trial = bench.operator(state)
    records = list(taken_records(source, task, attempt, MOST_RECORDS))
    budget = _Budget()
    for at, one in enumerate(records):
        partners = [records[m] for m in _partners(records, at) if budget.takes(one, records[m])]
        snapshot = operator.snapshot() if partners else {}
        for other in partners:
            across = one.i != other.i
            found.tried_across += across
            found.tried_within += not across
            differs = _differ(bench.outcome(snapshot, (one, other)), bench.outcome(snapshot, (other, one)))
            if differs and across:
                found.pair = Pair(task, attempt, at, one, other, differs)
                return
            if differs and found.within is None:
                found.within = Pair(task, attempt, at, one, other, differs)
        bench.put(operator, trial, one)
        trial.given.clear()


@dataclass(slots=True)
class _Budget:
    spent: Counter[tuple[bool, bool]] = field(default_factory=Counter)

    def takes(self, one: Came, other: Came) -> bool:
        kind = (one.i != other.i, one.record.key == other.record.key)
        self.spent[kind] += 1
        return self.spent[kind] <= MOST_PAIRS


def _partners(records: list[Came], at: int) -> Iterator[int]:
    """The next record, and the next ones of its key from another channel and from the same: they might have waited
    together."""
    one, last = records[at], min(len(records), at + _AHEAD)
    found = set(range(at + 1, min(at + 2, last)))
    for across in (True, False):
        those = (m for m in range(at + 1, last) if records[m].record.key == one.record.key)
        found.update(next(([m] for m in those if (records[m].i != one.i) == across), []))
    yield from sorted(found)


def _differ(first: Outcome, second: Outcome) -> str:
    """In which way."""
    if first.raised or second.raised:
        return "" if first.raised == second.raised else "what is raised"
    parts = [("state", first.state != second.state), ("what is given", first.given != second.given)]
    parts.append(("the timers that are set", first.timers != second.timers))
    return " and ".join(name for name, differs in parts if differs)
