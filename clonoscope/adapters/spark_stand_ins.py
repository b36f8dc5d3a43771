"""Stands for Spark's own objects where a job's function is called again: they answer as they did, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

from clonoscope import services
from clonoscope.adapters import spark_values as values
from clonoscope.onsite.border import Border
from clonoscope.onsite.stopping import is_engines
from clonoscope.sites import site_at

_AS_IT_IS = ("persist", "cache", "unpersist")
_COLLECTS = ("collect", "take", "tail", "head", "first", "toPandas", "toArrow", "toLocalIterator", "count", "isEmpty")
_CONTEXT = "_active_spark_context"


class Asking(Protocol):
    """Who knows what was asked and answered."""

    border: Border

    def ask(self, what: str, arguments: tuple[Any, ...], keywords: dict[str, Any], frame: FrameType) -> dict[str, Any]:
        """The recorded answer, if the same was asked."""

    def collected(self, told: dict[str, Any]) -> Any:
        """What an answer says was given."""


def _class_called(name: str) -> Any:
    from pyspark.sql.streaming import state, stateful_processor

    return getattr(state, name, None) or getattr(stateful_processor, name, None)


class StandIn:
    """For an object of Spark's that the function was given: it answers as it did, if it is asked the same."""

    def __init__(self, name: str, calls: Asking):
        self._name, self._calls = name, calls

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in values.CLOCKS:
            return lambda: services.current.get().answer(sys._getframe(1), name, 0)
        what = f"{self._name}.{name}"
        if not callable(getattr(_class_called(self._name), name, None)):
            return self._answered(what, (), {}, sys._getframe(1))

        def asked(*arguments: Any, **keywords: Any) -> Any:
            return self._answered(what, arguments, keywords, sys._getframe(1))

        return asked

    def _answered(self, what: str, arguments: tuple[Any, ...], keywords: dict[str, Any], frame: FrameType) -> Any:
        line = self._calls.ask(what, arguments, keywords, frame)
        if "each" in line:
            return iter(self._calls.collected(line["each"]))
        return self._calls.collected(line)


class StandInFrame:
    """For the frame of a batch: what was collected of it is there, and nothing else."""

    def __init__(self, calls: Asking):
        self._calls = calls

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """For jobs that look at what they are given."""
        from pyspark.sql import DataFrame

        return DataFrame

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _AS_IT_IS:
            return lambda *_, **__: self
        if name not in _COLLECTS:
            raise self._calls.border.lacks(
                f"the function asks its batch for {name}, and what Spark makes of a batch is not recorded: only what "
                f"{', '.join(_COLLECTS[:-1])} or {_COLLECTS[-1]} gave"
            )

        def asked(*arguments: Any, **keywords: Any) -> Any:
            line = self._calls.ask(f"DataFrame.{name}", arguments, keywords, sys._getframe(1))
            return self._calls.collected(line)

        return asked


class StandInContext:
    """For Spark itself, which the driver's function may ask for columns, sessions and frames: who does is told of."""

    def __init__(self, border: Border):
        self._border = border

    def __getattr__(self, name: str) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _is_sparks(frame):
            frame = frame.f_back
        place = "the function" if frame is None else site_at(frame).place
        raise self._border.lacks(
            f"{place} asks Spark for a column, a session or a frame; there is no Spark where it is replayed, and what "
            "it does is not recorded"
        )


def _is_sparks(frame: FrameType) -> bool:
    return is_engines(frame) or str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("pyspark", "py4j")


@contextmanager
def without_spark(border: Border) -> Iterator[None]:
    """Within, the process seems to have a context; where it has one, as in a notebook, that is left alone."""
    from pyspark import SparkContext

    if getattr(SparkContext, _CONTEXT) is not None:
        yield
        return
    setattr(SparkContext, _CONTEXT, StandInContext(border))
    try:
        yield
    finally:
        setattr(SparkContext, _CONTEXT, None)
