"""Which windows a time belongs to: tumbling, sliding, and sessions that grow together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from replay.errors import ReplayError, WrongSetting


class Window(NamedTuple):
    """From `start_ms` up to, and without, `end_ms`."""

    start_ms: int
    end_ms: int

    @property
    def last_ms(self) -> int:
        """The latest time in it: the timestamp of its results."""
        return self.end_ms - 1

    def touches(self, other: Window) -> bool:
        """Whether two sessions are one."""
        return self.start_ms <= other.end_ms and other.start_ms <= self.end_ms


@dataclass(frozen=True, slots=True)
class Sliding:
    """Windows of one size, one beginning every `slide_ms`; tumbling ones slide by their size."""

    size_ms: int
    slide_ms: int

    def of(self, at_ms: int) -> Iterable[Window]:
        """All windows with that time in them, the earliest first."""
        newest = at_ms - at_ms % self.slide_ms
        count = -(-(self.size_ms - at_ms % self.slide_ms) // self.slide_ms)
        starts = (newest - i * self.slide_ms for i in reversed(range(count)))
        return [Window(start, start + self.size_ms) for start in starts]


@dataclass(frozen=True, slots=True)
class Sessions:
    """A window from each time on, until nothing came for `gap_ms`."""

    gap_ms: int

    def of(self, at_ms: int) -> Iterable[Window]:
        """The session that this time alone would make."""
        return [Window(at_ms, at_ms + self.gap_ms)]


Assigner = Sliding | Sessions
MOST_WINDOWS = 1000
"""That a record lies in: each is work and memory, so more could hardly be run."""


def assigner_of(options: Mapping[str, Any]) -> Assigner:
    """From a vertex's options: `gap_ms`, or `size_ms` and, if it isn't tumbling, `slide_ms`."""
    if "gap_ms" in options:
        return Sessions(_positive(options, "gap_ms"))
    size_ms = _positive(options, "size_ms")
    slide_ms = _positive(options, "slide_ms") if "slide_ms" in options else size_ms
    if size_ms > MOST_WINDOWS * slide_ms:
        raise WrongSetting(
            f"windows of {size_ms} ms, of which one begins every {slide_ms} ms, hold each record too often",
            remedy=f"Let a record lie in at most {MOST_WINDOWS} windows: make them shorter, or slide further",
        )
    return Sliding(size_ms, slide_ms)


def _positive(options: Mapping[str, Any], name: str) -> int:
    value = options.get(name)
    if type(value) is not int or value < 1:
        raise ReplayError(
            f"a window's {name} is {value!r}", remedy="It must be a whole number of milliseconds from 1 on"
        )
    return value
