"""What a task does with its records: small classes, and the context through which they reach everything else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from replay.model import Record

Lineage = tuple[tuple[str, int], ...]
"""The source records that something came from, as (source task, offset)."""

PROCESSING, EVENT = "processing", "event"
"""The two times that a timer can be set in."""


@dataclass(frozen=True, slots=True)
class Timer:
    """Set for a time, by whom its name, key and namespace say: all JSON. Two equal timers are one."""

    at_ms: int
    name: str = ""
    key: Any = ""
    namespace: Any = ""
    time: str = PROCESSING


def merged_lineage(*lineages: Lineage | None) -> Lineage:
    """What came from several records: their source records, sorted, each once."""
    return tuple(sorted({pair for lineage in lineages if lineage for pair in lineage}))


class Clock(Protocol):
    """The wall clock as operators see it."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, the same again in a replay."""


class RandomNumbers(Protocol):
    """Chance as operators see it."""

    def next_int(self, bound: int) -> int:
        """From 0 up to, and without, `bound`; the same again in a replay."""


class Context(Protocol):
    """What an operator may use. Whatever else it would look at (a clock, a file, a random number) breaks its replay."""

    @property
    def task(self) -> str:
        """The task's id."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The vertex's options, from the manifest."""

    @property
    def origin(self) -> str:
        """The vertex that the current record came from; empty in a timer, at a watermark, and in a source."""

    @property
    def watermark_ms(self) -> int | None:
        """The event time that every input which is not idle has reached; None before the first watermark."""

    @property
    def clock(self) -> Clock:
        """The causal wall clock."""

    @property
    def random(self) -> RandomNumbers:
        """The causal random numbers."""

    def set_timer(
        self, at_ms: int, *, name: str = "", key: Any = "", namespace: Any = "", time: str = PROCESSING
    ) -> None:
        """Has `on_timer` called at that time: by the wall clock, or when the watermark passes it.

        Timers of one name fire together. Setting an equal one again changes nothing.
        """

    def cancel_timer(
        self, at_ms: int, *, name: str = "", key: Any = "", namespace: Any = "", time: str = PROCESSING
    ) -> None:
        """Takes back a timer; nothing happens if it isn't set."""

    def external(self, call: str, request: Any, *, effect: str = "read") -> Any:
        """Asks the outside world, JSON in and JSON out; raises `ExternalFault` where the outside does.

        `effect` is `write` where the call changes something there: it happens at least once, not exactly once.
        """

    def emit(self, record: Record) -> None:
        """Sends a record on every outgoing edge. Without a lineage of its own it has that of the current record."""

    def write(self, record: Record) -> None:
        """Gives a record to the outside world; sinks only."""


class Operator(ABC):
    """State is what `snapshot` returns: JSON, with maps as `[key, value]` lists, equal for equal states.

    In `on_timer` and `on_watermark` there is no current record: what is emitted there names its lineage itself.
    """

    description: ClassVar[str] = ""

    def open(self, context: Context) -> None:
        """Called once per attempt, before `restore` and before the first record: to read options, not to choose."""
        return

    @abstractmethod
    def on_record(self, record: Record, context: Context) -> None:
        """One record of an input, or of a source's partition."""

    def on_timer(self, timer: Timer, context: Context) -> None:
        """A timer that was set has fired."""
        return

    def on_watermark(self, watermark_ms: int, context: Context) -> None:
        """Every input that is not idle has passed this event time; the timers set for it have fired."""
        return

    def snapshot(self) -> dict[str, Any]:
        """The state, as it goes into a checkpoint: a copy, which later records change no more."""
        return {}

    def changed(self) -> Mapping[str, Any] | None:
        """Who looks at the state after every record asks this in place of `snapshot`: the parts of it that may have
        changed since it was asked before, of maps only those `Pairs`. None where it takes a snapshot to tell."""
        return None

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        return
