"""For code that can't be edited: records what it asks of `time`, `datetime`, `random`, `uuid`, `os`, numpy, pandas.

Nothing is taken over but while a task is at work, and of code outside of the standard library. Generators of random
numbers are seeded anew at every epoch, with a seed that is recorded: their numbers then cost nothing.
"""

from __future__ import annotations

import datetime as _datetime
import os
import random
import secrets
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from clonoscope import services
from clonoscope import words as w
from clonoscope.task_log import TaskLog
from clonoscope.unrecorded import Unrecorded

if TYPE_CHECKING:
    from clonoscope.services import Answering

CLOCKS = ("monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
# Of engines, what they do around a job is not the job's.
_OURS = ("clonoscope", "replay", "pyspark", "py4j")
# Between a job and `os.urandom`.
_PASSED_ON = ("random", "secrets", "uuid")
_SEED_BITS = 64
_SHARES = "is at work at the same time, and draws from the same generators of random numbers"


class Interception:
    """What was put in place of what; `undo` puts it back."""

    def __init__(self, only: Sequence[str] = ()):
        """`only`: packages whose code is meant; all outside of the standard library, where none is named."""
        self._only = tuple(only)
        self._chosen: dict[CodeType, bool] = {}
        self._put: list[tuple[Any, str, Any]] = []
        self._replaced: dict[int, Any] = {}
        self._kept: list[Any] = []
        self._modules_seen = 0
        self._numpy_seen = False
        self._logs: dict[str, TaskLog] = {}

    # --- whose calls ---

    def _log(self, frame: FrameType) -> Answering | None:
        """Who answers a call from there; None where Python itself does."""
        log = services.current.get()
        if isinstance(log, Unrecorded):
            return None
        code = frame.f_code
        chosen = self._chosen.get(code)
        if chosen is None:
            chosen = self._chosen[code] = self._is_meant(str(frame.f_globals.get("__name__", "")))
        return log if chosen else None

    def _is_meant(self, module: str) -> bool:
        if self._only:
            return any(module == one or module.startswith(f"{one}.") for one in self._only)
        top = module.partition(".")[0]
        return (top not in sys.stdlib_module_names and top not in _OURS) or module == "__main__"

    # --- putting and putting back ---

    def begin(self) -> None:
        """Takes over what is there now; `look_again` what is imported later."""
        self._replace(time, "time_ns", self._time_ns())
        self._replace(time, "time", self._time())
        for name in CLOCKS:
            self._replace(time, name, self._clock(name))
        self._replace(os, "urandom", self._urandom())
        self._replace(uuid, "uuid4", self._uuid4())
        self._replace(uuid, "uuid1", self._uuid1())
        self._replace(random, "seed", self._seed())
        self._put_at(random, "_urandom", self._replaced[id(_REAL_URANDOM)])
        for made in (_Datetime(self), _Date(self), _DatetimeModule(self)):
            self._replaced[id(made._real)] = made
        self.look_again()

    def _replace(self, module: ModuleType, name: str, made: Any) -> None:
        real = getattr(module, name)
        self._replaced[id(real)] = made
        self._kept.append(real)
        self._put_at(module, name, made)

    def _put_at(self, holder: Any, name: str, made: Any) -> None:
        self._put.append((holder, name, getattr(holder, name)))
        setattr(holder, name, made)

    def look_again(self) -> None:
        """Modules that hold what was taken over under a name of their own, as after `from time import time`."""
        if self._modules_seen == len(sys.modules):
            return
        self._modules_seen = len(sys.modules)
        for name, module in list(sys.modules.items()):
            if isinstance(module, ModuleType) and self._is_meant(name):
                for key, value in list(vars(module).items()):
                    made = self._replaced.get(id(value))
                    if made is not None and value is not made:
                        self._put_at(module, key, made)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None and not self._numpy_seen:
            self._numpy_seen = True
            self._replace(numpy, "default_rng", self._default_rng(numpy))

    def undo(self) -> None:
        """Everything is as it was."""
        while self._put:
            holder, name, real = self._put.pop()
            setattr(holder, name, real)
        self._replaced.clear()

    # --- epochs ---

    def epoch_began(self, log: Answering) -> None:
        """Seeds the generators that everybody draws from."""
        self.look_again()
        if isinstance(log, TaskLog):
            self._tell_of_sharing(log)
        seed = int(log.answer(sys._getframe(1), "seed", secrets.randbits(_SEED_BITS)))
        _REAL_SEED(seed)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            numpy.seed(seed & 0xFFFFFFFF)

    def _tell_of_sharing(self, log: TaskLog) -> None:
        """The generators are the process': tasks at work at the same time draw from them in an order nobody records."""
        for other in self._logs.values():
            if other is not log and other.in_epoch:
                other.gap(f"{log.task} {_SHARES}")
                log.gap(f"{other.task} {_SHARES}")
        self._logs[log.task] = log

    # --- what stands in place of what ---

    def _time_ns(self) -> Callable[[], int]:
        real = time.time_ns

        def time_ns() -> int:
            frame = sys._getframe(1)
            log = self._log(frame)
            return real() if log is None else log.slow_time_ns(frame, real())

        return time_ns

    def _time(self) -> Callable[[], float]:
        real = time.time

        def now() -> float:
            frame = sys._getframe(1)
            log = self._log(frame)
            return real() if log is None else log.slow_time(frame, real())

        return now

    def _clock(self, name: str) -> Callable[[], Any]:
        real = getattr(time, name)

        def clock() -> Any:
            frame = sys._getframe(1)
            log = self._log(frame)
            return real() if log is None else log.answer(frame, name, real())

        return clock

    def _urandom(self) -> Callable[[int], bytes]:
        def urandom(size: int, /) -> bytes:
            frame = sys._getframe(1)
            while frame.f_back is not None and frame.f_globals.get("__name__") in _PASSED_ON:
                frame = frame.f_back
            log = self._log(frame)
            return _REAL_URANDOM(size) if log is None else log.give_bytes(frame, w.BYTES, size)

        return urandom

    def _uuid4(self) -> Callable[[], uuid.UUID]:
        real = uuid.uuid4

        def uuid4() -> uuid.UUID:
            frame = sys._getframe(1)
            log = self._log(frame)
            return real() if log is None else uuid.UUID(bytes=log.give_bytes(frame, w.UUID, 16), version=4)

        return uuid4

    def _uuid1(self) -> Callable[..., uuid.UUID]:
        real = uuid.uuid1

        def uuid1(node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
            frame, made = sys._getframe(1), real(node, clock_seq)
            log = self._log(frame)
            return made if log is None else uuid.UUID(str(log.answer(frame, "uuid1", str(made))))

        return uuid1

    def _seed(self) -> Callable[..., None]:
        real = random.seed

        def seed(a: Any = None, version: int = 2) -> None:
            frame = sys._getframe(1)
            log = self._log(frame) if a is None else None
            real(a, version) if log is None else real(int(log.answer(frame, "seed", secrets.randbits(_SEED_BITS))))

        return seed

    def _default_rng(self, numpy: Any) -> Callable[..., Any]:
        real = numpy.default_rng

        def default_rng(seed: Any = None) -> Any:
            frame = sys._getframe(1)
            log = self._log(frame) if seed is None else None
            if log is None:
                return real(seed)
            return real(int(log.answer(frame, "numpy.default_rng", secrets.randbits(_SEED_BITS))))

        return default_rng

    def now(self, frame: FrameType, zone: _datetime.tzinfo | None, *, utc: bool = False) -> _datetime.datetime:
        """The time as `datetime` gives it, to the microsecond."""
        log = self._log(frame)
        real_ns = _REAL_TIME_NS()
        now_us = (real_ns if log is None else log.slow_time_ns(frame, real_ns)) // 1000
        seconds, micros = divmod(now_us, 1_000_000)
        if utc:
            made = _datetime.datetime.fromtimestamp(seconds, _datetime.UTC).replace(tzinfo=None)
        else:
            made = _datetime.datetime.fromtimestamp(seconds, zone)
        return made.replace(microsecond=micros)


_REAL_URANDOM, _REAL_SEED = os.urandom, random.seed
_REAL_TIME_NS = time.time_ns


class _Stand:
    """Stands for a class, or a module, in the modules that name it; all but what is overridden is the real one's.

    The real one stays where it is: pickles find classes by their module and name.
    """

    _real: Any

    def __init__(self, interception: Interception):
        self._interception = interception

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._real(*arguments, **keywords)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._real)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self._real)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._real,)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._real

    def __hash__(self) -> int:
        return hash(self._real)

    def __or__(self, other: Any) -> Any:
        return self._real | other

    def __ror__(self, other: Any) -> Any:
        return other | self._real

    def __repr__(self) -> str:
        return repr(self._real)


class _Datetime(_Stand):
    _real = _datetime.datetime

    def now(self, tz: _datetime.tzinfo | None = None) -> _datetime.datetime:
        return self._interception.now(sys._getframe(1), tz)

    def utcnow(self) -> _datetime.datetime:
        return self._interception.now(sys._getframe(1), None, utc=True)

    def today(self) -> _datetime.datetime:
        return self._interception.now(sys._getframe(1), None)


class _Date(_Stand):
    _real = _datetime.date

    def today(self) -> _datetime.date:
        return self._interception.now(sys._getframe(1), None).date()


class _DatetimeModule(_Stand):
    _real = _datetime

    def __init__(self, interception: Interception):
        super().__init__(interception)
        self.datetime, self.date = _Datetime(interception), _Date(interception)


@contextmanager
def intercepting(*only: str) -> Iterator[Interception]:
    """As `intercept`, for as long as the block lasts."""
    interception = intercept(*only)
    try:
        yield interception
    finally:
        stop(interception)


def intercept(*only: str) -> Interception:
    """Records, from here on, what code asks that doesn't know of Clonoscope; `only` that of the packages named.

    Call it when the job's modules are imported; modules that are imported later are looked at when an epoch begins.
    """
    interception = Interception(only)
    interception.begin()
    services.epoch_hooks.append(interception.epoch_began)
    return interception


def stop(interception: Interception) -> None:
    """Puts everything back."""
    services.epoch_hooks.remove(interception.epoch_began)
    interception.undo()
