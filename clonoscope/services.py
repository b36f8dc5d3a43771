"""What a job asks of the world, recorded: clocks, random numbers, calls outside. Without a recording, just answers.

The clock's and the random number's way is written out where it is called, as every call and look-up on it costs a
tenth of what it may take. What is not as it mostly is goes to the log's slow ways.
"""

from __future__ import annotations

import inspect
import os
import random as _random
import sys
import time as _time
import uuid as _uuid
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any, Protocol, TypeVar

from clonoscope import words as w
from clonoscope.calls import Call
from clonoscope.segmented_log import Quick, QuickSeconds, QuickTimes
from clonoscope.unrecorded import current

__all__ = [
    "current",
    "epoch_hooks",
    "external",
    "random",
    "time",
    "time_ns",
    "urandom",
    "uuid4",
]
T = TypeVar("T")
_STEP = 2.0**-53
_ADVANCES = w.ADVANCES
_ADVANCES_S = w.REAL_ADVANCES_S


class Answering(Protocol):
    """Who answers what is asked in a context: a log that records, a recording that is replayed, or nobody."""

    view: memoryview
    reals: memoryview[float]
    pos: int
    adv: int
    low: int
    high: int
    low_s: float
    high_s: float
    times: QuickTimes
    seconds: QuickSeconds
    randoms: Quick
    writes: Callable[[Call, FrameType], None] | None

    def slow_time_ns(self, frame: FrameType, now: int) -> int:
        """A clock's answer."""

    def slow_time(self, frame: FrameType, now: float) -> float:
        """The same in seconds."""

    def slow_random(self, frame: FrameType, steps: int) -> float:
        """A number in [0, 1), of which 53 random bits are given."""

    def give_bytes(self, frame: FrameType, kind: int, count: int) -> bytes:
        """Random bytes; `kind` says whether they are those of a UUID."""

    def answer(self, frame: FrameType, name: str, value: Any) -> Any:
        """What another clock, or another source of chance, gives: JSON."""

    def call(self, frame: FrameType, call: Call) -> Any:
        """A call to the outside."""

    async def call_async(self, frame: FrameType, call: Call) -> Any:
        """A call to the outside that is awaited."""


epoch_hooks: list[Callable[[Answering], None]] = []
"""Who is told that an epoch begins, in the context of the task."""

_answering = current.get
_bits = _random.Random().getrandbits


def _new_numbers() -> None:
    """A child that was forked must not draw the numbers of its parent."""
    global _bits
    _bits = _random.Random().getrandbits


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_numbers)


def time_ns(
    _answering: Callable[[], Answering] = _answering,
    _frame: Callable[[int], FrameType] = sys._getframe,
    _clock: Callable[[], int] = _time.time_ns,
) -> int:
    """As `time.time_ns`."""
    log = _answering()
    frame = _frame(1)
    now = _clock()
    try:
        code, before, before_one = log.times[frame.f_lasti]
        if code is frame.f_code and log.low < now < log.high:
            # Nothing is called from here on: no other thread comes between.
            pos, adv = log.pos, log.adv
            if adv:  # mostly one: who asks does so once for each record
                log.view[pos] = now - before_one if adv == 1 else now - before + _ADVANCES[adv]
                log.adv = 0
            else:  # asked more than once for one record
                log.view[pos] = now - before
            log.pos = pos + 1
            return now
    except LookupError:  # the first time here, or the segment is full
        pass
    return log.slow_time_ns(frame, now)


def time(
    _answering: Callable[[], Answering] = _answering,
    _frame: Callable[[int], FrameType] = sys._getframe,
    _clock: Callable[[], float] = _time.time,
) -> float:
    """As `time.time`."""
    log = _answering()
    frame = _frame(1)
    now = _clock()
    try:
        code, before, before_one = log.seconds[frame.f_lasti]
        if code is frame.f_code and log.low_s < now < log.high_s:
            pos, adv = log.pos, log.adv
            if adv:  # as above; what is stored are floats, as to make an integer of one takes a while
                log.reals[pos] = now - before_one if adv == 1 else now - before + _ADVANCES_S[adv]
                log.adv = 0
            else:
                log.reals[pos] = now - before
            log.pos = pos + 1
            return now
    except LookupError:  # as above, or more records than such a word can tell of
        pass
    return log.slow_time(frame, now)


def random() -> float:
    """As `random.random`, of a generator of its own."""
    log = _answering()
    frame = sys._getframe(1)
    steps = _bits(53)
    try:
        code, tag = log.randoms[frame.f_lasti]
        if code is frame.f_code:
            pos = log.pos
            log.view[pos] = tag + steps + _ADVANCES[log.adv]
            log.pos = pos + 1
            log.adv = 0
            return steps * _STEP
    except LookupError:
        pass
    return log.slow_random(frame, steps)


def uuid4() -> _uuid.UUID:
    """As `uuid.uuid4`."""
    return _uuid.UUID(bytes=_answering().give_bytes(sys._getframe(1), w.UUID, 16), version=4)


def urandom(size: int) -> bytes:
    """As `os.urandom`."""
    return _answering().give_bytes(sys._getframe(1), w.BYTES, size)


def external(
    function: Callable[..., T],
    *arguments: Any,
    effect: str = "read",
    name: str | None = None,
    raises: tuple[type[Exception], ...] = (),
    encode: Callable[[T], Any] | None = None,
    decode: Callable[[Any], T] | None = None,
    **keywords: Any,
) -> T:
    """Calls `function`, and records what it gave or raised; of a coroutine function, what is to be awaited.

    `effect` says whether the call changes something outside. What isn't JSON goes through `encode` and `decode`;
    `raises` are exceptions that a replay may raise again, beside those that are built in.
    """
    call = Call(function, arguments, keywords, effect=effect, name=name, raises=raises, encode=encode, decode=decode)
    log, frame = _answering(), sys._getframe(1)
    if effect == "write" and log.writes is not None:
        log.writes(call, frame)
    if inspect.iscoroutinefunction(function):
        awaited: Awaitable[T] = log.call_async(frame, call)
        return awaited  # type: ignore[return-value]
    given: T = log.call(frame, call)
    return given
