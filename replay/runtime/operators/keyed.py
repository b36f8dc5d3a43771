"""State by key: a map that stands in snapshots as sorted pairs, and process functions over it, with timers by key."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from replay.model import Record, json_bytes
from replay.runtime.operators.base import Context, Operator, Timer

V = TypeVar("V")


class Pairs(NamedTuple):
    """Of a map, only what may have changed: pairs that are there, and keys that are not."""

    put: list[tuple[Any, Any]]
    gone: list[Any]


class KeyedState(Generic[V]):
    """A map whose keys are JSON. Its order is that of the keys, not of their coming: equal states are equal bytes."""

    __slots__ = ("_touched", "_values")

    def __init__(self) -> None:
        self._values: dict[Any, tuple[Any, V]] = {}
        # None where nobody asks.
        self._touched: dict[Any, Any] | None = None

    def __contains__(self, key: Any) -> bool:
        return _hashable(key) in self._values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._sorted())

    def get(self, key: Any) -> V | None:
        """None where the key has none."""
        at = _hashable(key)
        if self._touched is not None:
            self._touched[at] = key  # what is held by a key may be a list that grows in its place
        found = self._values.get(at)
        return None if found is None else found[1]

    def put(self, key: Any, value: V | None) -> None:
        """None forgets the key."""
        at = _hashable(key)
        if self._touched is not None:
            self._touched[at] = key
        if value is None:
            self._values.pop(at, None)
        else:
            self._values[at] = (key, value)

    def items(self) -> list[tuple[Any, V]]:
        """By key."""
        if self._touched is not None:
            self._touched |= {at: key for at, (key, _) in self._values.items()}
        return self._sorted()

    def _sorted(self) -> list[tuple[Any, V]]:
        return sorted(self._values.values(), key=lambda item: json_bytes(item[0]))

    def pairs(self) -> list[list[Any]]:
        """As in a snapshot: a copy, since a snapshot is written while the state goes on changing."""
        return [[key, copied(value)] for key, value in self._sorted()]

    def touched(self) -> Pairs | None:
        """What was looked up, put or forgotten since this was asked last; None where it was not asked before."""
        touched, self._touched = self._touched, {}
        if touched is None:
            return None
        there = [(key, copied(self._values[at][1])) for at, key in touched.items() if at in self._values]
        return Pairs(there, [key for at, key in touched.items() if at not in self._values])

    def restore(self, pairs: Sequence[Sequence[Any]]) -> None:
        """The inverse of `pairs`."""
        self._touched = None
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

    def changed(self) -> Mapping[str, Any] | None:
        """The keys that were given to `process`; an operator with more in its snapshot says so itself."""
        touched = self.state.touched() if type(self).snapshot is KeyedProcess.snapshot else None
        return None if touched is None else {"by_key": touched}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self.state.restore(state["by_key"])
