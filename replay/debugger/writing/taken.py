"""What a determinant says in one number and one name, by which a step that takes it can be found."""

from __future__ import annotations

from replay.debugger.writing.words import shortened
from replay.log.determinants import (
    BufferBuilt,
    Determinant,
    IgnoreCheckpoint,
    Order,
    Rng,
    Serializable,
    SourceCheckpoint,
    Take,
    TimerTrigger,
    Timestamp,
)
from replay.services.external import call_fields

_NUMBERS = (Timestamp, Rng)


def facts_of(determinant: Determinant) -> tuple[int | None, str | None]:
    """(value, name): the channel, time, number, checkpoint or size; and which timer, call or type of checkpoint."""
    if isinstance(determinant, _NUMBERS):  # first, as there are most of them
        return determinant.value, None
    match determinant:
        case Order(channel) | Take(channel):
            return channel, None
        case Serializable():
            fields = call_fields(determinant)
            name = None if fields is None else fields.get("name") or fields.get("call")
            return None, None if name is None else shortened(name)
        case TimerTrigger(_, timestamp, callback):
            return timestamp, callback
        case SourceCheckpoint(_, checkpoint, _, checkpoint_type):
            return checkpoint, checkpoint_type
        case IgnoreCheckpoint(_, checkpoint):
            return checkpoint, None
        case BufferBuilt(size):
            return size, None
