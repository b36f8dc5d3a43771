"""How far event time has come: the least of what the inputs say, and what a source says of its own records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replay.errors import ReplayError
from replay.model import ChannelId

NO_WATERMARK = -(1 << 63)
"""Event time has not begun: said by whoever was idle before its first watermark, and is not any more."""

IDLE = (1 << 63) - 1
"""Whoever is idle holds nobody back: it says so with the largest watermark of all, until it sends another."""

END_OF_TIME = (1 << 53) - 1
"""The watermark of an input that has ended: nothing comes after it. No browser rounds it."""

PERIODIC_CALLBACK, INGESTION_CALLBACK, IDLE_CALLBACK = "periodic-watermark-extractor", "watermark", "idle"

OPTIONS = {"every_ms": 1, "every_records": 1, "out_of_order_ms": 0, "idle_after_ms": 1}
"""Of a source's watermarks, with the least that each may be."""


def watermark_event(watermark_ms: int | None) -> dict[str, object]:
    """As it travels."""
    return {"watermark": NO_WATERMARK if watermark_ms is None else watermark_ms}


class InputWatermarks:
    """One watermark per input. Idle inputs are not waited for; where all are idle, the furthest of them counts."""

    def __init__(self, channels: Sequence[ChannelId]):
        self._channels = tuple(channels)
        self._marks = [NO_WATERMARK for _ in channels]
        self._idle = [False for _ in channels]

    def take(self, i: int, watermark_ms: int) -> None:
        """What input `i` says. One that comes back from being idle has nothing to say of what has passed."""
        idle = watermark_ms == IDLE
        if not idle:
            floor = self._combined() if self._idle[i] else NO_WATERMARK
            self._marks[i] = max(self._marks[i], watermark_ms, floor)
        self._idle[i] = idle

    @property
    def current_ms(self) -> int | None:
        """The task's watermark: it never goes back."""
        combined = self._combined()
        return None if combined == NO_WATERMARK else combined

    @property
    def idle(self) -> bool:
        """Whether every input is."""
        return bool(self._idle) and all(self._idle)

    def _combined(self) -> int:
        active = [mark for mark, idle in zip(self._marks, self._idle, strict=True) if not idle]
        return min(active) if active else max(self._marks, default=NO_WATERMARK)

    def snapshot(self) -> tuple[dict[str, int], dict[str, bool]]:
        """(watermarks, idle) by channel, where there is one and where it is."""
        pairs = zip(self._channels, self._marks, strict=True)
        marks = {str(channel): mark for channel, mark in pairs if mark != NO_WATERMARK}
        return marks, {str(channel): True for channel, idle in zip(self._channels, self._idle, strict=True) if idle}

    def restore(self, marks: Mapping[str, Any], idle: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self._marks = [int(marks.get(channel, NO_WATERMARK)) for channel in self._channels]
        self._idle = [bool(idle.get(channel, False)) for channel in self._channels]


class SourceWatermarks:
    """What a source's options say of its watermarks, and how far its records have come."""

    def __init__(self, options: Mapping[str, Any], *, ingestion: bool):
        unknown = ", ".join(repr(one) for one in options if one not in OPTIONS)
        if unknown:
            raise ReplayError(f"a source's watermarks have no option {unknown}", remedy=f"Known: {', '.join(OPTIONS)}")
        for name, value in options.items():
            if type(value) is not int or value < OPTIONS[name]:
                raise ReplayError(
                    f"the option {name} of a source's watermarks is {value!r}",
                    remedy=f"It must be a whole number from {OPTIONS[name]} on",
                )
        self.every_ms: int = options.get("every_ms", 0)
        self.every_records: int = options.get("every_records", 0)
        self.idle_after_ms: int = options.get("idle_after_ms", 0)
        self.callback = INGESTION_CALLBACK if ingestion else PERIODIC_CALLBACK
        self._behind_ms: int = options.get("out_of_order_ms", 0) + 1
        self._furthest_ms = NO_WATERMARK
        self._sent_ms = NO_WATERMARK
        self._read_then = 0
        self.idle = False

    @property
    def current_ms(self) -> int | None:
        """What was sent last."""
        return None if self._sent_ms == NO_WATERMARK else self._sent_ms

    def reached(self, time_ms: int) -> None:
        """A record has that time, or no later one can have an earlier."""
        if time_ms > self._furthest_ms:
            self._furthest_ms = time_ms

    def next(self) -> int | None:
        """The watermark to be sent now; None where it would say nothing new. What is as old as it would be late."""
        mark = self._furthest_ms - self._behind_ms
        if self.idle or self._furthest_ms == NO_WATERMARK or mark <= self._sent_ms:
            return None
        self._sent_ms = mark
        return mark

    @property
    def ended(self) -> bool:
        """Whether event time is over."""
        return self._sent_ms == END_OF_TIME

    def end(self) -> None:
        """There are no more records: event time is over."""
        self._furthest_ms = self._sent_ms = END_OF_TIME

    def falls_idle(self, records_read: int) -> bool:
        """Looked at once in a while: whether nothing was read since it was looked at last, and it was not idle yet."""
        falls = records_read == self._read_then and not self.idle
        self._read_then = records_read
        self.idle = self.idle or falls
        return falls

    def snapshot(self) -> dict[str, Any]:
        """As it stands in the source's part of a snapshot."""
        return {
            "furthest_ms": self._furthest_ms,
            "sent_ms": self._sent_ms,
            "read_then": self._read_then,
            "idle": self.idle,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self._furthest_ms, self._sent_ms = int(state["furthest_ms"]), int(state["sent_ms"])
        self._read_then, self.idle = int(state["read_then"]), bool(state["idle"])
