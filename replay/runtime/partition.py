"""Which output channels a record goes to."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from replay.errors import ReplayError
from replay.model import Graph, Record, json_bytes

Choose = Callable[[Record, Sequence[int], int], Iterable[int]]


def hash_of_key(key: object, salt: int = 0) -> int:
    """The same on every machine and in every run, unlike Python's own hash."""
    return zlib.crc32(key.encode() if isinstance(key, str) else json_bytes(key), salt)


def _forward(record: Record, outputs: Sequence[int], salt: int) -> Iterable[int]:
    return outputs[:1]


def _hash(record: Record, outputs: Sequence[int], salt: int) -> Iterable[int]:
    return (outputs[hash_of_key(record.key, salt) % len(outputs)],)


def _broadcast(record: Record, outputs: Sequence[int], salt: int) -> Iterable[int]:
    return outputs


SHIPS: dict[str, Choose] = {"forward": _forward, "hash": _hash, "broadcast": _broadcast}


@dataclass(frozen=True, slots=True)
class EdgePartition:
    """One outgoing edge of a task: its output indexes, in the order of the target's subtasks, and how to choose.

    The salt is the target's: edges into one vertex agree on where a key goes, and edges of one parallelism that follow
    one another don't send all of a task's records to one and the same subtask.
    """

    outputs: tuple[int, ...]
    choose: Choose
    salt: int

    def of(self, record: Record) -> Iterable[int]:
        """The outputs that this record goes to."""
        return self.choose(record, self.outputs, self.salt)


def partitions(graph: Graph, task: str) -> tuple[EdgePartition, ...]:
    """One per outgoing edge of the task's vertex."""
    vertex = graph.task(task).vertex
    found = []
    for edge in graph.manifest.edges:
        if edge.source != vertex:
            continue
        if edge.ship not in SHIPS:
            raise ReplayError(
                f"the edge {edge.source} to {edge.target} ships by {edge.ship!r}",
                remedy=f"This version runs {', '.join(SHIPS)}",
            )
        outputs = tuple(k for k, one in enumerate(graph.downstream(task)) if graph.task(one).vertex == edge.target)
        found.append(EdgePartition(outputs, SHIPS[edge.ship], zlib.crc32(edge.target.encode())))
    return tuple(found)
