"""How steps speak: numbers, names and determinants as a person reads them."""

from __future__ import annotations

from replay.errors import printable
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
from replay.model import MAIN, Protocol, Thread, json_bytes
from replay.services.external import call_fields

_SHOWN = 80


def bytes_of(size: int) -> str:
    """`1 byte`, `32,768 bytes`."""
    return f"{size:,} byte{'' if size == 1 else 's'}"


def counted(number: int, noun: str) -> str:
    """`1 holder`, `5 holders`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def no_logs(protocol: Protocol) -> str:
    """Why there are none, where the protocol has none: `at sharing depth 0 nothing is logged`."""
    if protocol.name == "clonos":
        return "at sharing depth 0 nothing is logged"
    return f"the protocol {printable(protocol.name)} logs nothing"


def writes_since_checkpoint(sink: str) -> str:
    """What becomes of what a sink had written, when it begins again from its checkpoint with nothing to bind it."""
    if sink == "transactional":
        return "what it had written since the checkpoint it restored was never committed, and counts for nothing"
    if sink == "idempotent":
        return "what it had gathered since the checkpoint it restored was only in a log of its own, and is written anew"
    return "what it had given to the outside world since the checkpoint it may give again, and otherwise"


def outside(*, in_storage: bool) -> str:
    """The holder of determinants that is no task."""
    return "the stable storage" if in_storage else "the outside world"


def named(thread: Thread) -> str:
    """`the main log`, `the log of out-0`."""
    return "the main log" if thread == MAIN else f"the log of {thread}"


def listed(parts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`; `nothing` for none."""
    if not parts:
        return "nothing"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


CLOCK_READ = "the clock read {:d}"
"""Of a timestamp, of which there are many."""


def said(determinant: Determinant, *, seeded: bool = False) -> str:
    """What a determinant says, as the rest of a sentence that begins with `The log says that`.

    `seeded`: the task's random numbers follow from a seed an epoch.
    """
    match determinant:
        case Order(channel):
            return f"the next buffer came from channel {channel}"
        case Timestamp(value):
            return CLOCK_READ.format(value)
        case Rng(value):
            return f"the random generator {'was seeded with' if seeded else 'gave'} {value}"
        case Serializable():
            return _said_of_call(determinant)
        case TimerTrigger(count, timestamp, callback):
            return f"the timer {callback} set for {timestamp} fired at record {count}"
        case SourceCheckpoint(count, checkpoint):
            return f"checkpoint {checkpoint} was triggered at record {count}"
        case IgnoreCheckpoint(count, checkpoint):
            return f"checkpoint {checkpoint} was ignored from record {count} on"
        case BufferBuilt(size):
            return f"a buffer of {bytes_of(size)} was cut"
        case Take(channel, first, records):
            return f"{counted(records, 'record')} from offset {first} of input {channel} came next"


def _said_of_call(logged: Serializable) -> str:
    """The name and the answer of a call, where they can be read."""
    fields = call_fields(logged)
    if fields is None:
        return f"an external call gave {bytes_of(len(logged.content))}"
    name = shortened(fields.get("name") or fields.get("call"))
    effect = ", which changes something there," if fields.get("effect") == "write" else ""
    raised = fields.get("raised")
    if isinstance(raised, dict):
        return f"the call {name}{effect} raised {shortened(raised.get('type'))}: {shortened(raised.get('message'))}"
    return f"the call {name}{effect} gave {shortened(json_bytes(fields.get('value')).decode())}"


def shortened(value: object) -> str:
    """A value from a recording, fit for a sentence."""
    return printable(str(value), _SHOWN)
