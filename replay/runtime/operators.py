"""What a task does with its records: small classes, and the context through which they reach everything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from replay.model import Record


class Clock(Protocol):
    """The wall clock as operators see it."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, the same again in a replay."""


class Context(Protocol):
    """What an operator may use. Whatever else it would look at (a clock, a file, a random number) breaks its replay."""

    @property
    def task(self) -> str:
        """The task's id."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The vertex's options, from the manifest."""

    @property
    def clock(self) -> Clock:
        """The causal wall clock."""

    def emit(self, record: Record) -> None:
        """Sends a record on every outgoing edge."""

    def write(self, record: Record) -> None:
        """Gives a record to the outside world; sinks only."""


class Operator:
    """State is what `snapshot` returns: JSON, with maps as `[key, value]` lists, equal for equal states."""

    description: ClassVar[str] = ""

    def open(self, context: Context) -> None:
        """Called once per attempt, before `restore` and before the first record."""

    def on_record(self, record: Record, context: Context) -> None:
        """One record of an input, or of a source's partition."""
        raise NotImplementedError

    def on_watermark(self, watermark_ms: int, context: Context) -> None:
        """Every input has passed this event time."""

    def snapshot(self) -> dict[str, Any]:
        """The state, as it goes into a checkpoint."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
