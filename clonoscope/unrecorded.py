"""Answers where no task of a recording is at work: as Python does, or into the log of what happens outside of tasks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any

from clonoscope.segments import NO_REALS, NO_WORDS

if TYPE_CHECKING:
    from clonoscope.calls import Call
    from clonoscope.services import Answering


class Unrecorded:
    """Nothing is quick here, so that every question comes by. `elsewhere` is the log for what no task asked."""

    __slots__ = (
        "adv",
        "elsewhere",
        "high",
        "high_s",
        "low",
        "low_s",
        "pos",
        "randoms",
        "reals",
        "seconds",
        "times",
        "view",
        "writes",
    )

    def __init__(self) -> None:
        self.view, self.reals = NO_WORDS, NO_REALS
        self.pos = self.adv = self.low = self.high = 0
        self.low_s = self.high_s = 0.0
        self.times = self.seconds = self.randoms = {}  # type: ignore[var-annotated]
        self.elsewhere: Answering | None = None
        self.writes: Callable[[Call, FrameType], None] | None = None

    def slow_time_ns(self, frame: FrameType, now: int) -> int:
        """The time."""
        return now if self.elsewhere is None else self.elsewhere.slow_time_ns(frame, now)

    def slow_time(self, frame: FrameType, now: float) -> float:
        """The time in seconds."""
        return now if self.elsewhere is None else self.elsewhere.slow_time(frame, now)

    def slow_random(self, frame: FrameType, steps: int) -> float:
        """A random number."""
        return steps * 2.0**-53 if self.elsewhere is None else self.elsewhere.slow_random(frame, steps)

    def give_bytes(self, frame: FrameType, kind: int, count: int) -> bytes:
        """Random bytes."""
        return os.urandom(count) if self.elsewhere is None else self.elsewhere.give_bytes(frame, kind, count)

    def answer(self, frame: FrameType, name: str, value: Any) -> Any:
        """What it was."""
        return value if self.elsewhere is None else self.elsewhere.answer(frame, name, value)

    def call(self, frame: FrameType, call: Call) -> Any:
        """A call."""
        return call.make() if self.elsewhere is None else self.elsewhere.call(frame, call)

    async def call_async(self, frame: FrameType, call: Call) -> Any:
        """An awaited call."""
        return await (call.awaited() if self.elsewhere is None else self.elsewhere.call_async(frame, call))


UNRECORDED = Unrecorded()
_WITHIN_A_CALL = Unrecorded()

current: ContextVar[Answering] = ContextVar("clonoscope.current", default=UNRECORDED)
"""Whose calls are recorded here. It follows asyncio's tasks; `start` and the tasks of a recording set it."""


@contextmanager
def within_a_call() -> Iterator[None]:
    """What a call to the outside asks on its own way is part of its answer: a replay doesn't ask for it again."""
    token = current.set(_WITHIN_A_CALL)
    try:
        yield
    finally:
        current.reset(token)
