"""Sinks: what stands between `context.write` and the world outside, whatever the operator is. See `base.Sink`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replay.runtime.sinks.base import Sink
from replay.runtime.sinks.determinant import DeterminantSink
from replay.runtime.sinks.idempotent import IdempotentSink
from replay.runtime.sinks.plain import PlainSink
from replay.runtime.sinks.transactional import TransactionalSink

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt

SINKS: dict[str, type[Sink]] = {
    "plain": PlainSink,
    "transactional": TransactionalSink,
    "idempotent": IdempotentSink,
    "determinant": DeterminantSink,
}
"""By name: `protocol.sink` of the manifest, `--sink` of `record`."""

__all__ = ["SINKS", "Sink", "new_sink"]


def new_sink(attempt: Attempt, kind: str) -> Sink:
    """The sink of an attempt. A task with tasks below it writes plainly: its recovery is theirs as well."""
    return SINKS["plain" if attempt.shape.outputs else kind](attempt)
