"""What is so, by looking on while a world runs: which records each state took in, and what could be seen outside.

Nothing here reads a receipt, a buffer or a log: it shares nothing with what it judges.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from replay.jobs.churn import TIMER_KEY
from replay.model import Record, TaskId, Vertex, json_bytes
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.engine import Engine, Run
from replay.runtime.operators import Context, Operator
from replay.runtime.operators.surrounded import Surrounded
from replay.simulation.checks import results
from replay.simulation.checks.outside import counted
from replay.simulation.plan import Plan
from replay.simulation.recording import Recording
from replay.simulation.world import World

T = TypeVar("T")
Names = Counter[tuple[str, int]]
Fired = tuple[str, str, tuple[tuple[str, int], ...]]
"""The task whose timer it was, the kind of timer, and the record that set it."""
ONE_FOR_ONE = ("churn", "pass-through", "random-load-balance", "enrich")
"""Jobs that give one record for each: how often each must come anywhere is known."""


@dataclass
class Taken:
    """What one operator took in: records by their lineage, and what timers gave by what it says and whose it was."""

    names: Names = field(default_factory=Counter)
    fired: Counter[Fired] = field(default_factory=Counter)

    def add(self, record: Record) -> None:
        """One more."""
        if record.key == TIMER_KEY:
            kind = record.value["timer"].partition(":")[0]
            self.fired[record.value["by"], kind, tuple(record.lineage or ())] += 1
        else:
            self.names.update(record.lineage or ())

    def copy(self) -> Taken:
        """As it is now."""
        return Taken(self.names.copy(), self.fired.copy())


@dataclass
class Memory:
    """What operators had taken in when they were asked for their state; by task and what they said."""

    states: dict[tuple[str, bytes], list[Taken]] = field(default_factory=lambda: defaultdict(list))
    ambiguous: bool = False


class Watched(Surrounded):
    """Remembers each record that it is given, beside the operator's state and as it is: also through a restore."""

    def __init__(self, operator: Operator, memory: Memory):
        super().__init__(operator)
        self.memory, self.task, self.taken = memory, "", Taken()

    def called(self, method: str, action: Callable[[], T]) -> T:
        return action()

    def open(self, context: Context) -> None:
        self.task = context.task
        super().open(context)

    def on_record(self, record: Record, context: Context) -> None:
        self.taken.add(record)
        super().on_record(record, context)

    def snapshot(self) -> dict[str, Any]:
        state = super().snapshot()
        self.memory.states[self.task, json_bytes(state)].append(self.taken.copy())
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        known = self.memory.states[self.task, json_bytes(dict(state))]
        self.taken = known[-1].copy() if known else Taken()
        if any(one != self.taken for one in known):
            self.memory.ambiguous = True


class _Seen(Engine):
    """Keeps what can be seen outside."""

    def __init__(self, run: Run, members: Any):
        super().__init__(run, members)
        self.seen: list[Record] = []

    def sink_wrote(self, attempt: Attempt, record: Record, t_us: int) -> None:
        self.seen.append(record)
        super().sink_wrote(attempt, record, t_us)


class WatchedWorld(World):
    """A world whose operators remember, and whose outside is looked at."""

    def __init__(self, plan: Plan):
        super().__init__(plan)
        self.memory = Memory()

    def new_operator(self, vertex: Vertex) -> Operator:
        return Watched(super().new_operator(vertex), self.memory)

    def new_engine(self, run: Run) -> Engine:
        self.watching = _Seen(run, self.members)
        return self.watching


@dataclass
class Truth:
    """The verdicts that are right; None: nobody knows. `vertices`: of each, and `calls_again`: calls with an effect.

    `refuted`: what the outside counts are not the results of any execution in which each record counts once."""

    processing: str | None
    delivery: str | None
    vertices: dict[str, str]
    calls_again: int
    refuted: bool = False


def truth_of(world: WatchedWorld, recording: Recording) -> Truth:
    again = sum(times - 1 for times in recording.asked.writes.values())
    if world.memory.ambiguous:
        return Truth(None, None, {}, again)
    if recording.manifest.job.name in ONE_FOR_ONE:
        vertices = {one.id: _of_vertex(world, recording, one.id) for one in recording.manifest.vertices}
        return Truth(_all(vertices.values()), _outside(world, recording), vertices, again)
    if not _is_exact(recording):
        refuted = any(True for check in results.EXACT for _ in check(recording))
        return Truth(None, None, {}, again, refuted)
    extra = Counter(map(_content, seen_outside(world, recording))) - Counter(
        _line(line) for _, line in counted(recording)
    )
    return Truth("exactly once", "at least once" if extra else "exactly once", {}, again)


def _is_exact(recording: Recording) -> bool:
    protocol = recording.manifest.protocol
    if not any(one["type"] == "task-failed" for one in recording.events):
        return True
    given_up = protocol.on_lost == "continue" and bool(recording.escalated)
    return protocol.name not in ("none",) and (protocol.name != "clonos" or (protocol.logs and not given_up))


def word(twice: bool, lost: bool) -> str:
    return {(1, 1): "neither", (1, 0): "at least once", (0, 1): "at most once", (0, 0): "exactly once"}[twice, lost]


def _all(words: Any) -> str:
    found = set(words)
    return word(bool(found & {"at least once", "neither"}), bool(found & {"at most once", "neither"}))


def _due(recording: Recording, vertex: str) -> Names:
    ways = recording.ways_to(vertex)
    vertex_of = {task.id: task.vertex for task in recording.manifest.tasks}
    return Names({(task, offset): ways[vertex_of[TaskId(task)]] for task, offset in recording.source_records})


def _of_vertex(world: WatchedWorld, recording: Recording, vertex: str) -> str:
    """A record sets no more than one timer of a kind wherever it comes by; whether it does, nobody counts."""
    taken, due = Taken(), _due(recording, vertex)
    for task in recording.tasks_of(vertex):
        operator = world.watching.current[task].body.operator
        assert isinstance(operator, Watched)
        taken = Taken(taken.names + operator.taken.names, taken.fired + operator.taken.fired)
    fired = Counter[tuple[str, str, tuple[tuple[str, int], ...]]]()
    for (by, kind, lineage), times in taken.fired.items():
        fired[recording.graph.task(by).vertex, kind, lineage] += times
    ways = recording.ways_to(vertex)
    again = any(
        times > ways[above] * max(_due(recording, above)[name] for name in lineage)
        for (above, _, lineage), times in fired.items()
    )
    return word(again or bool(taken.names - due), bool(due - taken.names))


def seen_outside(world: WatchedWorld, recording: Recording) -> list[Record]:
    """Of one id one counts, and of transactions those committed, by whichever attempt."""
    if recording.manifest.protocol.sink in ("plain", "determinant"):
        return world.watching.seen
    lines = (line for _, line in counted(recording))
    return [Record.from_json([*line["record"], line["source"]]) for line in lines]


def _outside(world: WatchedWorld, recording: Recording) -> str:
    """What a timer gave is due as often as it fired, which nobody counts; but no two that fire say the same."""
    names, due, fired = Names(), _due(recording, "sink"), Counter[tuple[str, bytes]]()
    for one in seen_outside(world, recording):
        if one.key == TIMER_KEY:
            fired[recording.graph.task(one.value["by"]).vertex, _content(one)] += 1
        else:
            names.update(one.lineage or ())
    ways = recording.ways_to("sink")
    again = any(times > ways[vertex] for (vertex, _), times in fired.items())
    return word(again or bool(names - due), bool(due - names))


def _content(one: Record) -> bytes:
    return json_bytes([one.key, one.timestamp, one.value, sorted(map(list, one.lineage or ()))])


def _line(line: dict[str, Any]) -> bytes:
    return json_bytes([*line["record"], sorted(line["source"])])
