"""A job that leaves to chance whatever a task can: timers, watermarks, seeds, random edges, calls to the outside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from replay.jobs.graphs import ORIGIN_MS, manifest_of
from replay.jobs.registry import OPERATORS
from replay.model import Edge, Graph, Job, Manifest, Protocol, Record, Vertex
from replay.protocols import PROTOCOLS
from replay.runtime.costs import Costs
from replay.runtime.engine import Engine, Run
from replay.runtime.failing.kills import Blow
from replay.runtime.operators import Context, ExternalFault, Operator, Timer, merged_lineage
from replay.runtime.outside.partition_log import SteadyPartition
from replay.runtime.recorder import MemoryMembers
from tests.replay.debugger.worlds import MemoryMembers as Recorded


class Source(Operator):
    """Now and then two records for one, and something of its own by timer."""

    def __init__(self) -> None:
        self.records = 0

    def on_record(self, record: Record, context: Context) -> None:
        self.records += 1
        context.emit(record)
        if self.records % 5 == 0:
            context.emit(Record(record.key, record.timestamp, {"again": self.records}, record.lineage))

    def snapshot(self) -> dict[str, Any]:
        return {"records": self.records}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.records = state["records"]


class Eventful(Operator):
    """Every record sets timers, draws, looks at the clock and asks the outside; timers and watermarks emit too."""

    def __init__(self) -> None:
        self.seen: list[Any] = [0, 0, 0, 0]
        self.held: dict[str, list[Any]] = {}

    def on_record(self, record: Record, context: Context) -> None:
        self.seen[0] += 1
        drawn = context.random.next_int(1000)
        self.held[record.key] = [list(pair) for pair in merged_lineage(record.lineage)]
        if drawn % 3 == 0:
            context.set_timer(context.clock.now_ms() + drawn % 7, name="soon", key=record.key)
        if drawn % 4 == 0:
            context.set_timer(record.timestamp + 5, name="late", key=record.key, namespace=[1, drawn], time="event")
        if drawn % 11 == 0:
            context.cancel_timer(record.timestamp + 5, name="late", key=record.key, namespace=[1, drawn], time="event")
        value = {"drawn": drawn, "from": context.origin, "at": context.watermark_ms}
        if drawn % 5 == 0:
            value["told"] = self._ask(drawn, context)
        context.emit(Record(record.key, record.timestamp, value))

    def _ask(self, drawn: int, context: Context) -> Any:
        try:
            return context.external("lookup", {"of": drawn % 20}, effect="write" if drawn % 2 else "read")
        except ExternalFault as fault:
            self.seen[3] += 1
            return fault.message

    def on_timer(self, timer: Timer, context: Context) -> None:
        self.seen[1] += 1
        lineage = tuple((task, offset) for task, offset in self.held.get(timer.key, ()))
        value = {"timer": timer.name, "drawn": context.random.next_int(10), "from": context.origin}
        context.emit(Record(timer.key, timer.at_ms, value, lineage))
        if value["drawn"] == 0:
            context.set_timer(timer.at_ms + 1, name=timer.name, key=timer.key, time=timer.time)

    def on_watermark(self, watermark_ms: int, context: Context) -> None:
        self.seen[2] += 1
        context.emit(Record("watermark", watermark_ms, {"nth": self.seen[2]}, ()))

    def snapshot(self) -> dict[str, Any]:
        return {"seen": list(self.seen), "held": [[key, self.held[key]] for key in sorted(self.held)]}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.seen = list(state["seen"])
        self.held = dict(state["held"])


class Sink(Operator):
    """Writes everything, and counts it."""

    def __init__(self) -> None:
        self.records = 0

    def on_record(self, record: Record, context: Context) -> None:
        self.records += 1
        context.write(record)

    def snapshot(self) -> dict[str, Any]:
        return {"records": self.records}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.records = state["records"]


NAMES = {one: f"{one.__module__}:{one.__qualname__}" for one in (Source, Eventful, Sink)}


@contextmanager
def registered() -> Iterator[None]:
    """The debugger can execute these operators, too."""
    with mock.patch.dict(OPERATORS, {name: one for one, name in NAMES.items()}):
        yield


WATERMARKS = {"every_ms": 4, "out_of_order_ms": 3, "idle_after_ms": 12}


def manifest(
    *,
    services: Mapping[str, str] | None = None,
    ships: Sequence[str] = ("rebalance", "random", "hash"),
    watermarks: Mapping[str, int] | None = None,
    source_options: Mapping[str, Any] | None = None,
    parallelism: int = 2,
    interval_ms: int = 30,
    buffer_bytes: int = 300,
    sharing_depth: int | None = None,
) -> Manifest:
    """`source`, `one`, `two`, `sink`."""
    options = {"watermarks": dict(WATERMARKS if watermarks is None else watermarks), **(source_options or {})}
    asked = {"time": "periodic:2", "random": "seed"} if services is None else dict(services)
    vertices = [
        Vertex("source", "source", NAMES[Source], options, parallelism, asked),
        Vertex("one", "operator", NAMES[Eventful], {}, parallelism, asked),
        Vertex("two", "operator", NAMES[Eventful], {}, parallelism, asked),
        Vertex("sink", "sink", NAMES[Sink], {}, parallelism, {}),
    ]
    names = [one.id for one in vertices]
    edges = [Edge(a, b, ship) for a, b, ship in zip(names, names[1:], ships, strict=False)]
    protocol = Protocol(
        "clonos",
        sharing_depth=sharing_depth,
        standby=1,
        checkpoint_interval_ms=interval_ms,
        buffer_bytes=buffer_bytes,
    )
    return manifest_of(Job("eventful", seed=1), protocol, vertices, edges)


def operator_of(vertex: Vertex) -> Operator:
    """By the name that the manifest gives."""
    return next(one for one, name in NAMES.items() if name == vertex.operator)()


def record_at(offset: int, arrival_us: int) -> Record:
    """Event time goes on with the arrivals, but not in their order."""
    behind_ms = (offset * 7919) % 6
    return Record(f"k{offset % 5}", ORIGIN_MS + arrival_us // 1000 - behind_ms, {"n": offset})


COSTS = Costs(
    record_us=30,
    cut_us=10,
    flush_us=800,
    rtt_us=100,
    rpc_us=100,
    connect_us=400,
    loss_notice_us=300,
    heartbeat_us=5_000,
    heartbeat_timeout_us=20_000,
    snapshot_us=300,
    restore_us=500,
    deploy_us=10_000,
    metric_us=10_000_000,
    batch_records=8,
)


def engine_of(
    one: Manifest,
    *,
    seed: int,
    blows: Sequence[Blow] = (),
    records: int = 120,
    operator: Callable[[Vertex], Operator] = operator_of,
    costs: Costs = COSTS,
) -> tuple[Engine, MemoryMembers]:
    """Ready to run, and where it is recorded."""
    graph = Graph(one)
    partitions = {task.id: SteadyPartition(records, 1200.0, record_at) for task in graph.tasks if not task.inputs}
    run = Run(
        manifest=one,
        protocol=PROTOCOLS["clonos"](),
        operator=operator,
        partitions=partitions,
        seed=seed,
        costs=costs,
        jitter=0.8,
        blows=blows,
    )
    members = MemoryMembers()
    return Engine(run, members), members


def recording_of(engine: Engine, members: MemoryMembers) -> Recorded:
    """Runs it to its end."""
    engine.run()
    members.append("job.json", engine.graph.manifest.to_bytes())
    return Recorded({name: bytes(data) for name, data in members.members.items()})
