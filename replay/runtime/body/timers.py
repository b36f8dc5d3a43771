"""The timers of a task: which are set, which is next, and how they stand in a snapshot; not who fires them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import Any

from replay.errors import InvariantError
from replay.log.determinants import INTERNAL_PREFIX
from replay.model import json_bytes
from replay.runtime.operators import Timer
from replay.runtime.operators.base import EVENT, PROCESSING

CLOCK_CALLBACK = f"{INTERNAL_PREFIX}time"
EVENT_QUEUE = "event"
_EVENT_PREFIX = f"{EVENT_QUEUE}:"
_MANY_CANCELLED = 64

Identity = tuple[str, int, Any, Any]


def callback_of(timer: Timer) -> str:
    """What a determinant and a snapshot call an operator's timer; all event times wait in one queue, by watermark."""
    if timer.time == EVENT:
        return _EVENT_PREFIX + timer.name
    if timer.time != PROCESSING:
        raise InvariantError(f"a timer's time is {PROCESSING} or {EVENT}, not {timer.time!r}")
    callback = INTERNAL_PREFIX + timer.name
    if callback == CLOCK_CALLBACK:
        raise InvariantError("a timer named 'time' is the periodic clock's own")
    return callback


def _queue_of(callback: str) -> str:
    return EVENT_QUEUE if callback.startswith(_EVENT_PREFIX) else callback


def _identity(callback: str, timer: Timer) -> Identity:
    return callback, timer.at_ms, _hashable(timer.key), _hashable(timer.namespace)


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str) else json_bytes(value)


class _Set:
    """One timer that is set, until it fires or is cancelled."""

    __slots__ = ("callback", "order", "period_ms", "stands", "timer")

    def __init__(self, timer: Timer, callback: str, period_ms: int, order: int):
        self.timer = timer
        self.callback = callback
        self.period_ms = period_ms
        self.order = order
        self.stands = True


class _Queue:
    """Timers that fire together, by time and then in the order set; cancelled ones are passed over."""

    __slots__ = ("_cancelled", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, _Set]] = []
        self._cancelled = 0

    def add(self, one: _Set) -> bool:
        """Whether it is the next one now."""
        heappush(self._heap, (one.timer.at_ms, one.order, one))
        return self._heap[0][2] is one

    def cancelled(self) -> None:
        """One of them no longer stands."""
        self._cancelled += 1
        if self._cancelled > _MANY_CANCELLED and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].stands]
            heapify(self._heap)
            self._cancelled = 0

    def next(self) -> _Set | None:
        """The next one, left where it is."""
        heap = self._heap
        while heap and not heap[0][2].stands:
            heappop(heap)
            self._cancelled -= 1
        return heap[0][2] if heap else None

    def pop(self) -> None:
        """Takes the next one out."""
        heappop(self._heap)


class Timers:
    """A queue per callback; what is due is taken in the order of time, and of setting where times are equal."""

    def __init__(self, changed: Callable[[str, int], None]):
        """`changed` is told when a timer was set that comes before all others of its callback."""
        self._changed = changed
        self._set: dict[Identity, _Set] = {}
        self._queues: dict[str, _Queue] = {}
        self._order = 0

    def __len__(self) -> int:
        return len(self._set)

    def set(self, timer: Timer, *, callback: str | None = None, period_ms: int = 0) -> None:
        """Sets it; an equal one that is set already stays. The runtime's own timers come with their callback."""
        callback = callback_of(timer) if callback is None else callback
        identity = _identity(callback, timer)
        if identity in self._set:
            return
        one = self._set[identity] = _Set(timer, callback, period_ms, self._order)
        self._order += 1
        queue = _queue_of(callback)
        if queue not in self._queues:
            self._queues[queue] = _Queue()
        if self._queues[queue].add(one) and queue != EVENT_QUEUE:
            self._changed(callback, timer.at_ms)

    def cancel(self, timer: Timer) -> None:
        """Takes it back, if it is set."""
        callback = callback_of(timer)
        one = self._set.pop(_identity(callback, timer), None)
        if one is not None:
            one.stands = False
            self._queues[_queue_of(callback)].cancelled()

    def next_ms(self, callback: str) -> int | None:
        """When the next timer of that callback is due."""
        queue = self._queues.get(callback)
        one = None if queue is None else queue.next()
        return None if one is None else one.timer.at_ms

    def take_due(self, callback: str, upto_ms: int) -> Timer | None:
        """The next timer of that callback, if it is due at that time; it is no longer set."""
        queue = self._queues.get(callback)
        one = None if queue is None else queue.next()
        if queue is None or one is None or one.timer.at_ms > upto_ms:
            return None
        queue.pop()
        del self._set[_identity(one.callback, one.timer)]
        return one.timer

    def awaiting(self) -> list[tuple[str, int]]:
        """Every callback by wall clock that has a timer, with when its next one is due."""
        found = ((callback, self.next_ms(callback)) for callback in self._queues if callback != EVENT_QUEUE)
        return [(callback, at_ms) for callback, at_ms in found if at_ms is not None]

    # --- snapshots ---

    def snapshot(self) -> list[dict[str, Any]]:
        """In the order set, numbered anew: so it does not tell how many were set and fired before."""
        standing = sorted(self._set.values(), key=lambda one: one.order)
        return [
            {
                "at_ms": one.timer.at_ms,
                "callback": one.callback,
                "name": one.timer.name,
                "key": one.timer.key,
                "namespace": one.timer.namespace,
                "period_ms": one.period_ms,
                "order": order,
            }
            for order, one in enumerate(standing)
        ]

    def restore(self, timers: Iterable[Mapping[str, Any]]) -> None:
        """The inverse of `snapshot`."""
        for fields in sorted(timers, key=lambda one: int(one["order"])):
            callback = str(fields["callback"])
            time = EVENT if callback.startswith(_EVENT_PREFIX) else PROCESSING
            timer = Timer(int(fields["at_ms"]), str(fields["name"]), fields["key"], fields["namespace"], time)
            self.set(timer, callback=callback, period_ms=int(fields["period_ms"]))
