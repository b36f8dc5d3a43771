"""Calls to the outside, as they are asked for and as they are recorded."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

from clonoscope import words as w
from clonoscope.errors import RecordedFault, WrongUse, message_of
from clonoscope.json_values import from_json, to_json
from clonoscope.redaction import said
from clonoscope.room import Room
from clonoscope.sites import Site
from clonoscope.unrecorded import within_a_call

EFFECTS = ("read", "write")
# Arguments of exceptions that JSON gives back.
_PLAIN = (str, int, bool, type(None))


class Call:
    """A call to the outside, as the job asks for it."""

    __slots__ = ("arguments", "decode", "effect", "encode", "function", "keywords", "name", "raises")

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        *,
        effect: str = "read",
        name: str | None = None,
        raises: tuple[type[Exception], ...] = (),
        encode: Callable[[Any], Any] | None = None,
        decode: Callable[[Any], Any] | None = None,
    ):
        if effect not in EFFECTS:
            raise WrongUse(f"an external call's effect is one of {', '.join(EFFECTS)}, not {effect!r}")
        self.function, self.arguments, self.keywords = function, arguments, keywords
        self.effect, self.raises, self.encode, self.decode = effect, raises, encode, decode
        self.name = name or str(getattr(function, "__qualname__", None) or type(function).__qualname__)

    def make(self) -> Any:
        """Really calls."""
        with within_a_call():
            return self.function(*self.arguments, **self.keywords)

    async def awaited(self) -> Any:
        """Really calls, and awaits."""
        with within_a_call():
            return await self.function(*self.arguments, **self.keywords)

    def fields(self, site: int, begun: int | None) -> dict[str, Any]:
        """What is recorded of it before its answer. `begun` counts the calls that are awaited."""
        named = {"call": "external", "site": site, "name": self.name, "effect": self.effect}
        return named if begun is None else {**named, "begun": begun}


class Recording(Protocol):
    """A log that calls are recorded in."""

    def site(self, frame: FrameType) -> Site:
        """Where a call stands."""

    def put_json(self, kind: int, fields: Any) -> None:
        """Writes an entry."""

    def gap(self, why: str) -> None:
        """Says that something is not there."""

    @property
    def room(self) -> Room:
        """Who says what may leave."""


def record_value(log: Recording, call: Call, frame: FrameType, value: Any, begun: int | None = None) -> None:
    """What a call gave. What can't be written as JSON is a gap; the job has its value all the same."""
    try:
        encoded, exact = encoded_of(call, value)
    except (TypeError, ValueError, RecursionError) as fault:
        why = said(log.room.message(str(fault)))
        log.gap(f"{call.name} gave a {type(value).__qualname__}, which is not JSON ({why}): name an encode for it")
        return
    fields = {**call.fields(log.site(frame).number, begun), "value": log.room.kept(encoded)}
    if not exact:
        fields["approximate"] = True  # a tuple that is read back as a list, and the like
    log.put_json(w.CALL, fields)


def encoded_of(call: Call, value: Any) -> tuple[Any, bool]:
    """What a call gave, as JSON, and whether JSON gives it back; raises where there is none."""
    encoded = to_json(value if call.encode is None else call.encode(value))
    return encoded, call.encode is not None or same(from_json(encoded), value)


def record_fault(log: Recording, call: Call, frame: FrameType, fault: BaseException, begun: int | None = None) -> None:
    """What a call raised."""
    log.put_json(w.CALL, {**call.fields(log.site(frame).number, begun), "raised": raised_of(log, fault)})


def raised_of(log: Recording, fault: BaseException) -> dict[str, Any]:
    """An exception as it is recorded; with its arguments, where its message is not all of them."""
    message = message_of(fault)
    raised = {"type": type_of(fault), "message": log.room.message(message)}
    arguments = list(fault.args)
    if arguments != [message] and raised["message"] == message and all(type(one) in _PLAIN for one in arguments):
        raised["args"] = arguments
    return raised


def type_of(fault: BaseException) -> str:
    """As it is recorded."""
    kind = type(fault)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def fault_of(raised: dict[str, Any], allowed: tuple[type[Exception], ...]) -> Exception:
    """The exception that was recorded, if it is built in or the job names it; no class is looked up elsewhere."""
    name, message = str(raised.get("type")), str(raised.get("message"))
    named = {f"{one.__module__}.{one.__qualname__}": one for one in allowed}
    kind = named.get(name) or getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            arguments = raised.get("args")
            return kind(*arguments) if isinstance(arguments, list) else kind(message)
        except Exception:
            return RecordedFault(name, message)
    return RecordedFault(name, message)


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
