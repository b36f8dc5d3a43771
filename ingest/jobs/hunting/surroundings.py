"""Clocks, chance and listings that are the same in every process, and moved one at a time.

For a process that does nothing but execute one attempt: what is put in place here stays until the process ends. It
must be done before anything else is imported, since modules keep what they import by name.
"""

from __future__ import annotations

import datetime
import os
import random
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

EPOCH_NS = 1_700_000_000_000_000_000
SHIFT_NS = 35_033_597_123_456_789
"""A good year, and not a whole number of anything: every field of a date is another one."""
_TICK_NS = 1_000_003
_SHIFTED_TICK_NS = 7_000_009


def put_in_place(moved: str) -> None:
    """`moved` names what differs from the usual: `clock`, `random`, `listing`, or nothing of these."""
    _clocks(SHIFT_NS if moved == "clock" else 0, _SHIFTED_TICK_NS if moved == "clock" else _TICK_NS)
    _chance(_SOURCE)
    _listings(backwards=moved == "listing")
    begin(moved)


def begin(moved: str) -> None:
    """Time and chance are where they were: also for another execution in the same process."""
    _CLOCK.asked = 0
    _SOURCE.seed(f"clonoscope {moved == 'random'}")
    random.seed(_SOURCE.getrandbits(128))
    setattr(uuid, "_node", _SOURCE.getrandbits(48))  # noqa: B010


# --- clocks ---


class _Clock:
    """One for all that tell the time: it goes on by a little whenever it is asked."""

    def __init__(self) -> None:
        self.begin_ns = EPOCH_NS
        self.tick_ns = _TICK_NS
        self.asked = 0

    def now_ns(self, *_: object) -> int:
        self.asked += 1
        return self.begin_ns + self.asked * self.tick_ns

    def now_s(self, *_: object) -> float:
        return self.now_ns() / 1e9


_CLOCK = _Clock()
_REAL_DATETIME, _REAL_DATE = datetime.datetime, datetime.date


class _Alike(type):
    """What was made by the real class counts as of this one too."""

    def __instancecheck__(cls, one: object) -> bool:
        return isinstance(one, cls.__mro__[1])

    def __subclasscheck__(cls, one: type) -> bool:
        return one is cls or cls.__mro__[1] in getattr(one, "__mro__", ())


class _Datetime(datetime.datetime, metaclass=_Alike):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return _REAL_DATETIME.fromtimestamp(_CLOCK.now_s(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return _REAL_DATETIME.fromtimestamp(_CLOCK.now_s(), datetime.UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        return _REAL_DATETIME.fromtimestamp(_CLOCK.now_s())


class _Date(datetime.date, metaclass=_Alike):
    @classmethod
    def today(cls) -> Any:
        return _REAL_DATE.fromtimestamp(_CLOCK.now_s())


def _clocks(shift_ns: int, tick_ns: int) -> None:
    _CLOCK.begin_ns, _CLOCK.tick_ns = EPOCH_NS + shift_ns, tick_ns
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, _CLOCK.now_s)
        setattr(time, f"{name}_ns", _CLOCK.now_ns)
    time.clock_gettime, time.clock_gettime_ns = _CLOCK.now_s, _CLOCK.now_ns
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, _of_now(getattr(time, name)))
    _formats(time.asctime, time.strftime, time.localtime)
    for shown, name in ((_Datetime, "datetime"), (_Date, "date")):
        shown.__name__ = shown.__qualname__ = name
        shown.__module__ = "datetime"
        setattr(datetime, name, shown)


def _of_now(real: Callable[..., Any]) -> Callable[..., Any]:
    return lambda secs=None: real(_CLOCK.now_s() if secs is None else secs)


def _formats(asctime: Callable[..., Any], strftime: Callable[..., Any], localtime: Callable[..., Any]) -> None:
    setattr(time, "asctime", lambda of=None: asctime(localtime() if of is None else of))  # noqa: B010
    setattr(time, "strftime", lambda how, of=None: strftime(how, localtime() if of is None else of))  # noqa: B010


# --- chance ---

_SOURCE = random.Random()


def _chance(source: random.Random) -> None:
    def some_bytes(size: int, flags: int = 0) -> bytes:
        return source.randbytes(size)

    os.urandom = some_bytes
    if hasattr(os, "getrandom"):
        os.getrandom = some_bytes
    random._urandom = some_bytes  # type: ignore[attr-defined]
    seed = random.Random.seed

    def seeded(self: random.Random, a: Any = None, version: int = 2) -> None:
        seed(self, source.getrandbits(128) if a is None else a, version)

    random.Random.seed = seeded  # type: ignore[method-assign]
    # A time-based id then asks the clock, and draws its sequence.
    setattr(uuid, "_generate_time_safe", None)  # noqa: B010
    setattr(uuid, "_UuidCreate", None)  # noqa: B010


# --- listings ---


class _Listed:
    """What `os.scandir` gives, in an order of our own."""

    def __init__(self, entries: list[os.DirEntry[Any]]):
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[os.DirEntry[Any]]:
        return self._entries

    def __next__(self) -> os.DirEntry[Any]:
        return next(self._entries)

    def __enter__(self) -> _Listed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def _listings(*, backwards: bool) -> None:
    listdir, scandir = os.listdir, os.scandir

    def listed(path: Any = ".") -> list[Any]:
        return sorted(listdir(path), reverse=backwards)

    def scanned(path: Any = ".") -> _Listed:
        with scandir(path) as entries:
            return _Listed(sorted(entries, key=lambda one: one.name, reverse=backwards))

    os.listdir, os.scandir = listed, scanned  # type: ignore[assignment]
