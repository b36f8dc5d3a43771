"""Which output channels a record goes to."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Protocol

from replay.errors import ReplayError
from replay.model import Graph, Record, json_bytes
from replay.runtime.operators import RandomNumbers

_KNOWN_KEYS = 1 << 14


def hash_of_key(key: object, salt: int = 0) -> int:
    """The same on every machine and in every run, unlike Python's own hash."""
    return zlib.crc32(key.encode() if isinstance(key, str) else json_bytes(key), salt)


class EdgePartition(Protocol):
    """One outgoing edge of a task; its outputs are in the order of the target's subtasks."""

    def of(self, record: Record) -> Iterable[int]:
        """The outputs that this record goes to."""

    def begin_epoch(self) -> None:
        """Whoever restores this epoch's checkpoint must choose as whoever passed its barrier."""


class _Forward:
    def __init__(self, outputs: Sequence[int], salt: int, random: RandomNumbers):
        self._outputs = tuple(outputs[:1])

    def of(self, record: Record) -> Iterable[int]:
        return self._outputs

    def begin_epoch(self) -> None:
        """Nothing to begin."""


class _Broadcast(_Forward):
    def __init__(self, outputs: Sequence[int], salt: int, random: RandomNumbers):
        self._outputs = tuple(outputs)


class _Hash(_Forward):
    """The salt is the target's: edges into one vertex agree on where a key goes, and edges of one parallelism that
    follow one another don't send all of a task's records to one and the same subtask."""

    def __init__(self, outputs: Sequence[int], salt: int, random: RandomNumbers):
        self._outputs = tuple(outputs)
        self._salt = salt
        self._known: dict[str | int, tuple[int]] = {}

    def of(self, record: Record) -> Iterable[int]:
        key = record[0]
        # Of these only: 1.0 and true are one and the same key of a dict as 1 is.
        if type(key) is not str and type(key) is not int:
            return self._chosen(key)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KNOWN_KEYS:
                self._known.clear()
            found = self._known[key] = self._chosen(key)
        return found

    def _chosen(self, key: object) -> tuple[int]:
        return (self._outputs[hash_of_key(key, self._salt) % len(self._outputs)],)


class _Rebalance(_Forward):
    """One after the other, from the first one on in every epoch."""

    def __init__(self, outputs: Sequence[int], salt: int, random: RandomNumbers):
        self._outputs = tuple(outputs)
        self._position = 0

    def of(self, record: Record) -> Iterable[int]:
        at = self._position
        self._position = (at + 1) % len(self._outputs)
        return (self._outputs[at],)

    def begin_epoch(self) -> None:
        self._position = 0


class _Random(_Forward):
    """Through the random service, so that it is logged; where there is no choice, nothing is."""

    def __init__(self, outputs: Sequence[int], salt: int, random: RandomNumbers):
        self._outputs = tuple(outputs)
        self._random = random

    def of(self, record: Record) -> Iterable[int]:
        outputs = self._outputs
        return (outputs[self._random.next_int(len(outputs))],) if len(outputs) > 1 else outputs


SHIPS = {"forward": _Forward, "hash": _Hash, "broadcast": _Broadcast, "rebalance": _Rebalance, "random": _Random}


def partitions(graph: Graph, task: str, random: RandomNumbers) -> tuple[EdgePartition, ...]:
    """One per outgoing edge of the task's vertex."""
    vertex = graph.task(task).vertex
    found: list[EdgePartition] = []
    for edge in graph.manifest.edges:
        if edge.source != vertex:
            continue
        if edge.ship not in SHIPS:
            raise ReplayError(
                f"the edge {edge.source} to {edge.target} ships by {edge.ship!r}",
                remedy=f"This version runs {', '.join(SHIPS)}",
            )
        outputs = tuple(k for k, one in enumerate(graph.downstream(task)) if graph.task(one).vertex == edge.target)
        found.append(SHIPS[edge.ship](outputs, zlib.crc32(edge.target.encode()), random))
    return tuple(found)
