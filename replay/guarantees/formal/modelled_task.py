"""One task of a recorded job as an operation of the model: records in, records out, and its state as JSON bytes.

Only what follows from records alone is modelled. A task that asks for time, chance or the outside, that sets timers or
follows event time, or whose edges deal records out by chance, is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn

from replay.errors import printable
from replay.jobs.registry import new_operator
from replay.model import Graph, Record, json_bytes, read_json
from replay.runtime.body.partition import EdgePartition, partitions
from replay.runtime.operators import Operator

_KNOWN_STEPS = 50_000


class NotModelled(Exception):
    """What a task does does not follow from its records alone, or they are not there; `wants` says what is needed."""

    def __init__(self, why: str, wants: str) -> None:
        super().__init__(why)
        self.why = why
        self.wants = wants


@dataclass
class _Strict:
    """A context that has nothing but records."""

    task: str
    options: Mapping[str, Any]
    origin: str = ""
    emitted: list[Record] = field(default_factory=list)
    written: list[Record] = field(default_factory=list)
    current: Record | None = None

    def _refuse(self, what: str) -> NoReturn:
        raise NotModelled(f"{self.task} {what}", "operators that follow from their records alone")

    @property
    def clock(self) -> Any:
        """Not modelled."""
        self._refuse("asks for the time")

    @property
    def watermark_ms(self) -> Any:
        """Not modelled."""
        self._refuse("follows event time")

    @property
    def random(self) -> Any:
        """Not modelled."""
        self._refuse("asks for chance")

    def set_timer(self, at_ms: int, **_: Any) -> None:
        """Not modelled."""
        self._refuse("sets timers")

    def cancel_timer(self, at_ms: int, **_: Any) -> None:
        """Not modelled."""
        self._refuse("sets timers")

    def external(self, call: str, request: Any, *, effect: str = "read") -> Any:
        """Not modelled."""
        self._refuse("asks the outside")

    def emit(self, record: Record) -> None:
        """Without a lineage of its own it has that of the current record."""
        lineage = record.lineage if record.lineage is not None or self.current is None else self.current.lineage
        self.emitted.append(record._replace(lineage=lineage))

    def write(self, record: Record) -> None:
        """To the outside."""
        self.written.append(record)


class _NoDice:
    """For edges: where a record may go either way, nothing is modelled."""

    def next_int(self, bound: int) -> int:
        """Not modelled."""
        raise NotModelled("an edge deals records out by chance", "edges that ship by hash, forward or broadcast")


Sent = tuple[bytes, ...]
"""Records."""

Given = tuple[bytes, ...]
"""Records without lineage, as JSON."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Where a task's records go."""

    partitions: tuple[EdgePartition, ...]

    def of(self, body: bytes) -> Iterator[int]:
        """The outputs that a record goes to."""
        record = Record.from_body(body)
        return (k for edge in self.partitions for k in edge.of(record))

    def begin_epoch(self) -> None:
        """Turns begin anew."""
        for edge in self.partitions:
            edge.begin_epoch()


class ModelledTask:
    """Raises `UnknownOperator` where its operator can't be had here."""

    def __init__(self, graph: Graph, task: str) -> None:
        self.task = task
        self.vertex = graph.vertex_of(task)
        self._graph = graph
        if not graph.task(task).inputs and self.vertex.options.get("time") == "ingestion":
            raise NotModelled(f"{task} stamps what it reads with the time", "sources that hand on what they read")
        made = self._operator()[0]
        # Timers are refused where they are set; a watermark comes unasked.
        if type(made).on_watermark is not Operator.on_watermark:
            raise NotModelled(f"{task} follows event time", "operators that follow from their records alone")
        self.initial = json_bytes(made.snapshot())
        self.step = lru_cache(_KNOWN_STEPS)(self._step)

    @property
    def takes_turns(self) -> bool:
        """Whether where a record goes depends on how many went before it in its epoch, and so on when that began."""
        edges = [one for one in self._graph.manifest.edges if (one.source, one.ship) == (self.vertex.id, "rebalance")]
        below = [self._graph.task(one).vertex for one in self._graph.downstream(self.task)]
        return any(below.count(edge.target) > 1 for edge in edges)

    def edges(self) -> Edges:
        """New ones, at the beginning of an epoch."""
        return Edges(partitions(self._graph, self.task, _NoDice()))

    def _operator(self) -> tuple[Operator, _Strict]:
        context = _Strict(self.task, self.vertex.options)
        operator = new_operator(self.vertex)
        operator.open(context)
        return operator, context

    def _step(self, state: bytes, origin: str, record: bytes) -> tuple[bytes, Sent, Given]:
        """From a state and a record to the state, what is sent and what is given out. An edge: operators raise."""
        operator, context = self._operator()
        try:
            operator.restore(read_json(state))
            context.origin, context.current = origin, Record.from_body(record)
            operator.on_record(context.current, context)
            sent = tuple(one.to_body() for one in context.emitted)
            return json_bytes(operator.snapshot()), sent, tuple(map(seen, context.written))
        except NotModelled:
            raise
        except Exception as fault:
            why = f"{self.task} raises {type(fault).__name__}: {printable(str(fault))}"
            raise NotModelled(why, "an operator that takes its recorded records") from fault


def seen(record: Record) -> bytes:
    """As the consumer sees it: without what it came from."""
    return json_bytes([record.key, record.timestamp, record.value])
