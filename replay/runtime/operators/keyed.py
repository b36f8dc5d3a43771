"""State by key: a map that stands in snapshots as sorted pairs, and process functions over it, with timers by key."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from replay.model import Record, json_bytes
from replay.runtime.operators.base import Context, Operator, Timer

V = TypeVar("V")


class KeyedState(Generic[V]):
    """A map whose keys are JSON. Its order is that of the keys, not of their coming: equal states are equal bytes."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[Any, tuple[Any, V]] = {}

    def __contains__(self, key: Any) -> bool:
        return _hashable(key) in self._values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.items())

    def get(self, key: Any) -> V | None:
        """None where the key has none."""
        found = self._values.get(_hashable(key))
        return None if found is None else found[1]

    def put(self, key: Any, value: V | None) -> None:
        """None forgets the key."""
        if value is None:
            self._values.pop(_hashable(key), None)
        else:
            self._values[_hashable(key)] = (key, value)

    def items(self) -> list[tuple[Any, V]]:
        """By key."""
        return sorted(self._values.values(), key=lambda item: json_bytes(item[0]))

    def pairs(self) -> list[list[Any]]:
        """As in a snapshot: a copy, since a snapshot is written while the state goes on changing."""
        return [[key, copied(value)] for key, value in self.items()]

    def restore(self, pairs: Sequence[Sequence[Any]]) -> None:
        """The inverse of `pairs`."""
        self._values = {_hashable(key): (key, value) for key, value in pairs}


def copied(value: Any) -> Any:
    """JSON that shares nothing with what it was copied from."""
    if isinstance(value, list):
        return [copied(one) for one in value]
    return {name: copied(one) for name, one in value.items()} if isinstance(value, dict) else value


def _hashable(key: Any) -> Any:
    # A string is no other key's JSON: those are bytes.
    return key if isinstance(key, str) else json_bytes(key)


class KeyedProcess(Operator):
    """A process function: it is given its key's state, JSON or None, and returns what the state is then."""

    def __init__(self) -> None:
        self.state: KeyedState[Any] = KeyedState()

    @abstractmethod
    def process(self, record: Record, state: Any, context: Context) -> Any:
        """A record of the state's key."""

    def timer(self, timer: Timer, state: Any, context: Context) -> Any:
        """A timer that was set with the state's key."""
        return state

    def on_record(self, record: Record, context: Context) -> None:
        """Looks up the state of the record's key, and keeps what `process` makes of it."""
        self.state.put(record.key, self.process(record, self.state.get(record.key), context))

    def on_timer(self, timer: Timer, context: Context) -> None:
        """As `on_record`, for the timer's key."""
        self.state.put(timer.key, self.timer(timer, self.state.get(timer.key), context))

    def snapshot(self) -> dict[str, Any]:
        """The state of every key."""
        return {"by_key": self.state.pairs()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self.state.restore(state["by_key"])
