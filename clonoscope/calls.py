"""Calls to the outside, as they are asked for and as they are recorded."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

from clonoscope import words as w
from clonoscope.errors import WrongUse
from clonoscope.json_values import from_json, to_json
from clonoscope.sites import Site

EFFECTS = ("read", "write")


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
        return self.function(*self.arguments, **self.keywords)

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

    def kept(self, value: Any) -> Any:
        """A value as it may leave: redacted, where it must be."""


def record_value(log: Recording, call: Call, frame: FrameType, value: Any, begun: int | None = None) -> None:
    """What a call gave. What can't be written as JSON is a gap; the job has its value all the same."""
    fields = call.fields(log.site(frame).number, begun)
    try:
        encoded = to_json(value if call.encode is None else call.encode(value))
        exact = call.encode is not None or same(from_json(encoded), value)
    except (TypeError, ValueError, RecursionError) as fault:
        log.gap(f"{call.name} gave a {type(value).__qualname__}, which is not JSON ({fault}): name an encode for it")
        return
    fields["value"] = log.kept(encoded)
    if not exact:
        fields["approximate"] = True  # a tuple that is read back as a list, and the like
    log.put_json(w.CALL, fields)


def record_fault(log: Recording, call: Call, frame: FrameType, fault: BaseException, begun: int | None = None) -> None:
    """What a call raised."""
    kind = type(fault)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    raised = {"type": name, "message": log.kept(str(fault))}
    log.put_json(w.CALL, {**call.fields(log.site(frame).number, begun), "raised": raised})


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
