"""Event time in a task: watermarks are taken or made, what they release runs, and they go on to all outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from replay.runtime.body.timers import EVENT_QUEUE
from replay.runtime.body.watermarks import IDLE, IDLE_CALLBACK, InputWatermarks, SourceWatermarks, watermark_event
from replay.runtime.operators import Clock, Timer

if TYPE_CHECKING:
    from replay.runtime.body.task import TaskBody

INGESTION = "ingestion"
"""The option `time` of a source that stamps its records with its own clock."""


class EventTime:
    """Of a task with inputs: the least of their watermarks."""

    def __init__(self, body: TaskBody):
        self._body = body
        self._inputs = InputWatermarks(body.shape.inputs)
        self.watermark_ms: int | None = None

    def take(self, i: int, watermark_ms: int) -> None:
        """An input brought a watermark: an element, as a record is."""
        was_idle = self._inputs.idle
        self._inputs.take(i, watermark_ms)
        idle = self._inputs.idle
        self.advance(self._inputs.current_ms, again=was_idle and not idle)
        if idle and not was_idle:
            self._body.forward(watermark_event(IDLE))

    def advance(self, watermark_ms: int | None, *, again: bool = False) -> None:
        """Event time goes on: first what was set for it, then the operator, then everyone below hears of it.

        `again`: they hear of it even if it is where it was.
        """
        body = self._body
        if watermark_ms is not None and watermark_ms != self.watermark_ms:
            again = True
            self.watermark_ms = watermark_ms
            body.run_timers(EVENT_QUEUE, watermark_ms)
            body.run_watermark(watermark_ms)
        if again:
            body.forward(watermark_event(watermark_ms))

    def snapshot(self) -> tuple[dict[str, int], dict[str, bool]]:
        """(watermarks, idle) by channel."""
        return self._inputs.snapshot()

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self._inputs.restore(state.get("watermarks", {}), state.get("idle", {}))
        self.watermark_ms = self._inputs.current_ms


class SourceTime:
    """Of a source: what its records say, by count and by timer; with ingestion time, what the clock says."""

    def __init__(self, body: TaskBody, clock: Clock, event_time: EventTime):
        options = body.options.get("watermarks")
        self.ingestion = body.options.get("time") == INGESTION
        self.marks = None if options is None else SourceWatermarks(options, ingestion=self.ingestion)
        # A source that knows how many records there are ends event time with the last one.
        records = body.options.get("records")
        self._records = records[body.shape.subtask] if records is not None else None
        self.plain = self.marks is None and not self.ingestion
        self._body = body
        self._clock = clock
        self._event_time = event_time

    def start(self) -> None:
        """Sets the timers that no snapshot has brought."""
        for callback, period_ms in self._periods():
            if self._body.timers.next_ms(callback) is None:
                self._set(callback, period_ms)
        if self._records == 0:
            self._end()

    def _periods(self) -> list[tuple[str, int]]:
        if self.marks is None:
            return []
        periods = ((self.marks.callback, self.marks.every_ms), (IDLE_CALLBACK, self.marks.idle_after_ms))
        return [(callback, period_ms) for callback, period_ms in periods if period_ms]

    def _set(self, callback: str, period_ms: int, fired_ms: int = 0) -> None:
        # A clock that is read only once in a while may stand still for many periods.
        timer = Timer(max(self._clock.now_ms(), fired_ms) + period_ms)
        self._body.timers.set(timer, callback=callback, period_ms=period_ms)

    def fires(self, callback: str, at_ms: int) -> bool:
        """One of the source's own timers; False where it is not."""
        period_ms = dict(self._periods()).get(callback)
        if period_ms is None or self.marks is None:
            return False
        self._body.timers.take_due(callback, at_ms)
        if callback == IDLE_CALLBACK:
            if self.marks.falls_idle(self._body.source_offset):
                self._body.record_count += 1
                self._body.forward(watermark_event(IDLE))
        else:
            if self.ingestion:
                self.marks.reached(self._clock.now_ms())
            self._emit_news()
        self._set(callback, period_ms, at_ms)
        return True

    def stamp(self, timestamp: int) -> int:
        """The timestamp of a record that is about to be processed; whoever is idle is not any more."""
        if self.ingestion:
            timestamp = self._clock.now_ms()
        marks = self.marks
        if marks is not None:
            if marks.idle:
                marks.idle = False
                self._emit()
            marks.reached(timestamp)
        return timestamp

    def processed(self) -> None:
        """A record was processed."""
        every = 0 if self.marks is None else self.marks.every_records
        if self._body.source_offset == self._records:
            self._end()
        elif every and self._body.source_offset % every == 0:
            self._emit_news()

    def _end(self) -> None:
        if self.marks is not None and not self.marks.ended:
            self.marks.end()
            self._emit()

    def _emit_news(self) -> None:
        if self.marks is not None and self.marks.next() is not None:
            self._emit()

    def _emit(self) -> None:
        if self.marks is not None:
            self._body.record_count += 1
            self._event_time.advance(self.marks.current_ms, again=True)

    def snapshot(self) -> dict[str, Any]:
        """What stands beside the offset; nothing where there are no watermarks."""
        return {} if self.marks is None else {"watermarks": self.marks.snapshot()}

    def restore(self, source: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        if self.marks is not None and "watermarks" in source:
            self.marks.restore(source["watermarks"])
            self._event_time.watermark_ms = self.marks.current_ms
