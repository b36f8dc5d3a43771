"""Windows over a stream: what came in a stretch of time is held, with its lineage, until that time is over.

In event and ingestion time a window is over when the watermark reaches its last millisecond; a record that comes after
that is late: it is dropped, and counted in the state. In processing time the window is over when a timer says so, and
nothing is late. When the input ends, so do all windows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.errors import ReplayError
from replay.model import Record
from replay.runtime.body.watermarks import END_OF_TIME
from replay.runtime.operators.base import EVENT, PROCESSING, Context, Lineage, Operator, Timer, merged_lineage
from replay.runtime.operators.keyed import KeyedState, copied
from replay.runtime.operators.panes import Sessions, Window, assigner_of

_TIMES = (PROCESSING, EVENT, "ingestion")
_TIMER = "window"


@dataclass(slots=True)
class Pane:
    """What one window holds of one key."""

    held: Any
    lineage: list[tuple[str, int]] = field(default_factory=list)

    def to_json(self) -> list[Any]:
        """As in a snapshot."""
        return [copied(self.held), [list(pair) for pair in self.lineage]]

    @classmethod
    def from_json(cls, fields: list[Any]) -> Pane:
        """The inverse of `to_json`."""
        return cls(fields[0], [(task, offset) for task, offset in fields[1]])


class WindowOperator(Operator):
    """Options: `size_ms` and `slide_ms`, or `gap_ms` for sessions; `time`; `keyed` false: one window for all keys."""

    def __init__(self) -> None:
        self.late = 0
        self._over_ms: int | None = None
        self._windows: dict[Window, KeyedState[Pane]] = {}
        self._sessions: KeyedState[list[Window]] = KeyedState()

    # --- what a kind of window says ---

    def empty(self) -> Any:
        """What a window begins with: JSON."""
        return []

    @abstractmethod
    def add(self, held: Any, record: Record, context: Context) -> Any:
        """What it holds with one more record."""

    def merge(self, one: Any, other: Any) -> Any:
        """What two sessions hold that have become one; `one` began earlier."""
        return one + other

    @abstractmethod
    def results(self, key: Any, window: Window, held: Any, lineage: Lineage) -> Iterable[Record]:
        """What it emits when it is over."""

    # --- records ---

    def open(self, context: Context) -> None:
        """Reads the options."""
        options = context.options
        time = options.get("time", EVENT)
        if time not in _TIMES:
            raise ReplayError(f"a window's time is {time!r}", remedy=f"It must be one of {', '.join(_TIMES)}")
        self.time = PROCESSING if time == PROCESSING else EVENT
        self.keyed = bool(options.get("keyed", True))
        self.assigner = assigner_of(options)

    def on_record(self, record: Record, context: Context) -> None:
        """Puts it into its windows, but for those that are over."""
        at_ms = record.timestamp if self.time == EVENT else self._now_ms(context)
        key = record.key if self.keyed else ""
        taken = False
        for window in self.assigner.of(at_ms):
            if isinstance(self.assigner, Sessions):
                window = self._grown(key, window, context)
            if self._is_over(window, context):
                continue
            taken = True
            pane = self._pane(key, window, context)
            pane.held = self.add(pane.held, record, context)
            pane.lineage.extend(self.names(record))
        if not taken:
            self.late += 1

    def names(self, record: Record) -> Lineage:
        """What a result has to name because of this record; empty where `add` keeps that itself."""
        return record.lineage or ()

    def _now_ms(self, context: Context) -> int:
        # A clock that is read once a period may be behind the timers: what is over must not begin again.
        now_ms = context.clock.now_ms()
        return now_ms if self._over_ms is None else max(now_ms, self._over_ms)

    def _is_over(self, window: Window, context: Context) -> bool:
        return self.time == EVENT and context.watermark_ms is not None and window.last_ms <= context.watermark_ms

    def _pane(self, key: Any, window: Window, context: Context) -> Pane:
        panes = self._windows.get(window)
        if panes is None:
            panes = self._windows[window] = KeyedState()
            context.set_timer(self._ends_ms(window), name=_TIMER, namespace=list(window), time=self.time)
        pane = panes.get(key)
        if pane is None:
            pane = Pane(self.empty())
            panes.put(key, pane)
            if isinstance(self.assigner, Sessions):
                self._sessions.put(key, [*(self._sessions.get(key) or ()), window])
        return pane

    def _ends_ms(self, window: Window) -> int:
        return window.last_ms if self.time == EVENT else window.end_ms

    def _grown(self, key: Any, session: Window, context: Context) -> Window:
        """The session of the key that this one belongs to, grown around it, and around others that it now touches."""
        touched = sorted(one for one in self._sessions.get(key) or () if one.touches(session))
        if not touched:
            return session
        start_ms = min(session.start_ms, touched[0].start_ms)
        whole = Window(start_ms, max(session.end_ms, *(one.end_ms for one in touched)))
        if touched == [whole]:
            return whole
        panes = [self._taken_out(one, key, context) for one in touched]
        grown = self._pane(key, whole, context)
        for pane in panes:
            grown.held = self.merge(grown.held, pane.held)
            grown.lineage.extend(pane.lineage)
        return whole

    def _taken_out(self, window: Window, key: Any, context: Context) -> Pane:
        panes = self._windows[window]
        pane = panes.get(key)
        panes.put(key, None)
        self._forget_session(key, window)
        if not len(panes):
            del self._windows[window]
            context.cancel_timer(self._ends_ms(window), name=_TIMER, namespace=list(window), time=self.time)
        return pane or Pane(self.empty())

    def _forget_session(self, key: Any, window: Window) -> None:
        self._sessions.put(key, [one for one in self._sessions.get(key) or () if one != window] or None)

    # --- time ---

    def on_timer(self, timer: Timer, context: Context) -> None:
        """A window is over."""
        self._end(Window(*timer.namespace), context)

    def on_watermark(self, watermark_ms: int, context: Context) -> None:
        """The end of the input ends what the wall clock has not."""
        if watermark_ms == END_OF_TIME and self.time == PROCESSING:
            for window in sorted(self._windows, key=lambda one: (one.end_ms, one.start_ms)):
                context.cancel_timer(self._ends_ms(window), name=_TIMER, namespace=list(window), time=self.time)
                self._end(window, context)

    def _end(self, window: Window, context: Context) -> None:
        if self.time == PROCESSING:
            self._over_ms = window.end_ms if self._over_ms is None else max(self._over_ms, window.end_ms)
        # By key, not in the order of coming: a restored state no longer knows that order.
        for key, pane in self._windows.pop(window).items():
            self._forget_session(key, window)
            for result in self.results(key, window, pane.held, merged_lineage(tuple(pane.lineage))):
                context.emit(result)

    # --- state ---

    def snapshot(self) -> dict[str, Any]:
        """Every window with what it holds by key, and how many records were late."""
        windows = [
            [list(window), [[key, pane.to_json()] for key, pane in panes.items()]]
            for window, panes in sorted(self._windows.items())
        ]
        return {"windows": windows, "late": self.late, "over_ms": self._over_ms}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self.late, self._over_ms = state["late"], state["over_ms"]
        self._windows = {}
        for (start_ms, end_ms), panes in state["windows"]:
            held = self._windows[Window(start_ms, end_ms)] = KeyedState()
            held.restore([[key, Pane.from_json(fields)] for key, fields in panes])
            if isinstance(self.assigner, Sessions):
                for key in held:
                    self._sessions.put(key, [*(self._sessions.get(key) or ()), Window(start_ms, end_ms)])
