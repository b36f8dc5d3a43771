"""Joins of two streams by key: of all that ever came, and of what came in one window."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from replay.errors import ReplayError
from replay.model import Record
from replay.runtime.operators.base import EVENT, Context, Lineage, Operator, Timer, merged_lineage
from replay.runtime.operators.keyed import KeyedState
from replay.runtime.operators.panes import Window
from replay.runtime.operators.windows import WindowOperator

LEFT, RIGHT = 0, 1
_TIMER = "waited"


def _sides(options: Mapping[str, Any]) -> dict[str, int]:
    if not (isinstance(options.get("left"), str) and isinstance(options.get("right"), str)):
        raise ReplayError("a join doesn't say what it joins", remedy="Name two vertices in the options left and right")
    return {options["left"]: LEFT, options["right"]: RIGHT}


def _side(sides: Mapping[str, int], context: Context) -> int:
    if context.origin not in sides:
        raise ReplayError(
            f"{context.task} joins {' and '.join(sides)}, and has a record of {context.origin!r}",
            remedy="Its edges must come from the vertices that its options left and right name",
        )
    return sides[context.origin]


class StreamingJoin(Operator):
    """Each record meets all of the other side that came before it. Options: `left` and `right`, the vertices above.

    `waits_ms`, if given: how long, in event time, a record of the right waits for its left; it is forgotten then.
    """

    left_is_unique = False
    """Whether there is at most one left a key: then a right that has met it is kept no longer."""

    def __init__(self) -> None:
        self.expired = 0
        self._held: KeyedState[list[list[Any]]] = KeyedState()

    @abstractmethod
    def join(self, left: Mapping[str, Any], right: Mapping[str, Any]) -> Any:
        """The value that two of one key make together."""

    def open(self, context: Context) -> None:
        """Reads the options."""
        self._sides = _sides(context.options)
        self._waits_ms = context.options.get("waits_ms")

    def on_record(self, record: Record, context: Context) -> None:
        """Meets what is held of the other side, and is held itself."""
        side = _side(self._sides, context)
        held = self._held.get(record.key) or [[], []]
        mine = [record.value, record.timestamp, [list(pair) for pair in record.lineage or ()]]
        for other in held[1 - side]:
            left, right = (mine, other) if side == LEFT else (other, mine)
            context.emit(self._joined(record.key, left, right))
        if side == LEFT:
            held[LEFT].append(mine)
            if self.left_is_unique:
                for waited in held[RIGHT]:
                    self._wait(record.key, waited, context, no_longer=True)
                held[RIGHT] = []
        elif not (self.left_is_unique and held[LEFT]):
            held[RIGHT].append(mine)
            self._wait(record.key, mine, context)
        self._held.put(record.key, held)

    def _joined(self, key: Any, left: list[Any], right: list[Any]) -> Record:
        lineage = merged_lineage(_pairs(left[2]), _pairs(right[2]))
        return Record(key, max(left[1], right[1]), self.join(left[0], right[0]), lineage)

    def _wait(self, key: Any, right: list[Any], context: Context, *, no_longer: bool = False) -> None:
        if self._waits_ms is not None:
            change = context.cancel_timer if no_longer else context.set_timer
            change(right[1] + self._waits_ms, name=_TIMER, key=key, namespace=right[2], time=EVENT)

    def on_timer(self, timer: Timer, context: Context) -> None:
        """What has waited long enough is forgotten."""
        held = self._held.get(timer.key)
        if held is None:
            return
        kept = [one for one in held[RIGHT] if one[2] != timer.namespace]
        self.expired += len(held[RIGHT]) - len(kept)
        held[RIGHT] = kept
        self._held.put(timer.key, held if held[LEFT] or kept else None)

    def snapshot(self) -> dict[str, Any]:
        """What is held by key, left and right, each with timestamp and lineage."""
        return {"by_key": self._held.pairs(), "expired": self.expired}

    def changed(self) -> Mapping[str, Any] | None:
        """The keys of which records or timers came; an operator with more in its snapshot says so itself."""
        touched = self._held.touched() if type(self).snapshot is StreamingJoin.snapshot else None
        return None if touched is None else {"by_key": touched, "expired": self.expired}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self._held.restore(state["by_key"])
        self.expired = state["expired"]


def _pairs(lineage: list[list[Any]]) -> Lineage:
    return tuple((task, offset) for task, offset in lineage)


class WindowedJoin(WindowOperator):
    """Each record meets all of the other side in its window, when that is over. `left` and `right` are options."""

    @abstractmethod
    def join(self, left: Mapping[str, Any], right: Mapping[str, Any]) -> Any:
        """The value that two of one key make together."""

    def open(self, context: Context) -> None:
        """Reads the options."""
        super().open(context)
        self._sides = _sides(context.options)

    def empty(self) -> Any:
        """Left and right."""
        return [[], []]

    def names(self, record: Record) -> Lineage:
        """None: each pair names its own two."""
        return ()

    def add(self, held: Any, record: Record, context: Context) -> Any:
        """Held with its lineage."""
        held[_side(self._sides, context)].append([record.value, [list(pair) for pair in record.lineage or ()]])
        return held

    def merge(self, one: Any, other: Any) -> Any:
        """Side by side."""
        return [one[LEFT] + other[LEFT], one[RIGHT] + other[RIGHT]]

    def results(self, key: Any, window: Window, held: Any, lineage: Lineage) -> Iterable[Record]:
        """Every left with every right, in the order in which they came."""
        for left, its in held[LEFT]:
            for right, others in held[RIGHT]:
                names = merged_lineage(_pairs(its), _pairs(others))
                yield Record(key, window.last_ms, self.join(left, right), names)
