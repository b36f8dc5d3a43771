"""`churn`: an operator that uses every causal service at once, and keeps in its state what shows if one went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.model import Record
from replay.runtime.operators import Context, Operator, Timer
from replay.runtime.operators.base import EVENT, PROCESSING, Lineage
from replay.services import ExternalFault

TIMER_KEY = "timer"
"""The key of records that a timer emitted; every other key came from a source."""

_CANCEL_EVERY = 5


class Churn(Operator):
    """Passes every record on, stamped by clock, chance and the outside; sets timers that emit records of their own.

    Every option is a number of records: after so many the service is used again, 0 is never.
    """

    description = "Uses clock, random numbers, external calls, timers and watermarks, and counts what they did."

    def __init__(self) -> None:
        self.counts = dict.fromkeys(("records", "timer_records", "set", "fired", "cancelled", "wrong", "backwards"), 0)
        self.counts |= {"writes": 0, "faults": 0}
        self.watermark_ms: int | None = None
        self.by_key: dict[str, int] = {}
        self.waiting: dict[str, tuple[int, str, Lineage]] = {}

    def open(self, context: Context) -> None:
        """Reads the options."""
        self._options = context.options

    def _due(self, option: str) -> bool:
        every = int(self._options.get(option, 0))
        return bool(every) and self.counts["records"] % every == 0

    def on_record(self, record: Record, context: Context) -> None:
        """One record out for each that comes in."""
        if record.key == TIMER_KEY:
            self.counts["timer_records"] += 1
            context.emit(record)
            return
        self.counts["records"] += 1
        self.by_key[record.key] = self.by_key.get(record.key, 0) + 1
        value = dict(record.value)
        value["seen"] = self.counts["records"]
        if self._due("clock_every"):
            value["at_ms"] = context.clock.now_ms()
        if self._due("random_every"):
            value["chance"] = context.random.next_int(1000)
        if self._due("call_every"):
            value["answer"] = self._call(context, "read")
        if self._due("write_every"):
            self.counts["writes"] += 1
            value["written"] = self._call(context, "write")
        context.emit(Record(record.key, record.timestamp, value, record.lineage))
        self._set_timers(record, context)

    def _call(self, context: Context, effect: str) -> Any:
        try:
            return context.external("ledger", [context.task, self.counts["records"]], effect=effect)
        except ExternalFault as fault:
            self.counts["faults"] += 1
            return fault.type

    def _set_timers(self, record: Record, context: Context) -> None:
        for option, time in (("timer_every", PROCESSING), ("event_every", EVENT)):
            if self._due(option):
                at_ms = record.timestamp + int(self._options.get("timer_ms", 10))
                name = f"{time}:{self.counts['records']}"
                context.set_timer(at_ms, name="churn", key=record.key, namespace=name, time=time)
                self.counts["set"] += 1
                self.waiting[name] = (at_ms, record.key, record.lineage or ())
                if self.counts["set"] % _CANCEL_EVERY == 0:
                    self._cancel(next(iter(self.waiting)), context)

    def _cancel(self, name: str, context: Context) -> None:
        at_ms, key, _ = self.waiting.pop(name)
        context.cancel_timer(at_ms, name="churn", key=key, namespace=name, time=name.partition(":")[0])
        self.counts["cancelled"] += 1

    def on_timer(self, timer: Timer, context: Context) -> None:
        """A record of its own, with the lineage of the record that set the timer."""
        waited = self.waiting.pop(timer.namespace, None)
        if waited is None or waited[:2] != (timer.at_ms, timer.key):
            self.counts["wrong"] += 1
            return
        self.counts["fired"] += 1
        value = {"by": context.task, "timer": timer.namespace}
        context.emit(Record(TIMER_KEY, timer.at_ms, value, waited[2]))

    def on_watermark(self, watermark_ms: int, context: Context) -> None:
        """Event time goes on, and never back."""
        if self.watermark_ms is not None and watermark_ms <= self.watermark_ms:
            self.counts["backwards"] += 1
        self.watermark_ms = watermark_ms

    def snapshot(self) -> dict[str, Any]:
        """All counts, and the timers that it waits for."""
        return {
            **self.counts,
            "watermark_ms": self.watermark_ms,
            "by_key": [[key, self.by_key[key]] for key in sorted(self.by_key)],
            "waiting": [
                [name, [at_ms, key, [list(pair) for pair in lineage]]]
                for name, (at_ms, key, lineage) in self.waiting.items()
            ],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self.counts = {name: state[name] for name in self.counts}
        self.watermark_ms = state["watermark_ms"]
        self.by_key = dict(state["by_key"])
        self.waiting = {
            name: (at_ms, key, tuple((task, offset) for task, offset in lineage))
            for name, (at_ms, key, lineage) in state["waiting"]
        }
