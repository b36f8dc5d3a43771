"""A short text that stands for a value, the same in every process for equal values: what moved is told by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

MOST_NODES = 4000
_DEEPEST = 12
_PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None))


class TooLarge(Exception):
    """There is more of it than anyone could look at after every record."""


def canonical(value: Any, most_nodes: int = MOST_NODES) -> str:
    """Of plain values and containers, and of objects by their attributes.

    Addresses don't count, nor the order of a set; that of a dictionary does.
    """
    hashed = blake2b(digest_size=10)
    for part in _parts(value, _DEEPEST, set(), [most_nodes]):
        hashed.update(part.encode("utf-8", "surrogatepass") + b"\x00")
    return hashed.hexdigest()


def _parts(value: Any, depth: int, above: set[int], left: list[int]) -> Iterator[str]:
    left[0] -= 1
    if left[0] < 0:
        raise TooLarge
    kind = type(value)
    if kind in _PLAIN:
        yield f"{kind.__name__} {value!r}"
    elif depth == 0 or id(value) in above:
        yield f"… {kind.__name__}"
    else:
        above.add(id(value))
        yield kind.__name__
        yield from _inner(value, depth - 1, above, left)
        above.discard(id(value))


def _inner(value: Any, depth: int, above: set[int], left: list[int]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, one in list(value.items()):
            yield from _parts(key, depth, above, left)
            yield from _parts(one, depth, above, left)
    elif isinstance(value, (set, frozenset)):
        yield from sorted("\x01".join(_parts(one, depth, above, left)) for one in value)
    elif isinstance(value, (list, tuple)) or type(value).__name__ == "deque":
        for one in list(value):
            yield from _parts(one, depth, above, left)
    elif _is_a_value(value):
        attributes = list(_attributes(value))
        for name, one in attributes:
            yield name
            yield from _parts(one, depth, above, left)
        if not attributes and " at 0x" not in (text := repr(value)):
            yield text  # a date, a decimal, an array: what can't be looked into says itself what it is
    yield "."


def _is_a_value(value: Any) -> bool:
    """Code, modules and classes are not; nor is what the engine lends to an operator."""
    if isinstance(value, type) or callable(value):
        return False
    module = type(value).__module__
    return not module.startswith(("replay.runtime.body", "replay.debugger", "replay.services"))


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    yield from sorted(getattr(value, "__dict__", {}).items())
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            own = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            if hasattr(value, own):
                yield name, getattr(value, own)
