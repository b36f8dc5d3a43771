"""Watches an operator's state for what changed since it was looked at last, at a cost that stays bounded."""

from __future__ import annotations

from collections.abc import Mapping
from marshal import dumps
from typing import Any

from replay.debugger.ports import Change
from replay.debugger.writing.state_keys import encoded, flat, flat_key, is_map
from replay.runtime.operators import Operator
from replay.runtime.operators.keyed import Pairs

READY_BYTES = 48 << 20
_BYTES_A_LOOK = 256
_BYTES_A_VALUE = 8
_OF_THE_TASK = ""
_SCALARS = frozenset((str, int, float, bool, type(None)))
# Without the references by which equal values may differ.
_MARSHAL_VERSION = 2
_KINDS_OF_KEYS = ({str}, {int})
_ABSENT = object()


class StateWatch:
    """Looking costs what is looked at: a snapshot, unless the operator itself knows what may have changed.

    A large state is looked at after every record only for so many bytes altogether; after that after every so many
    records, and whenever its bytes must be known.
    """

    def __init__(self, operator: Operator, *, ready_bytes: int = READY_BYTES) -> None:
        self.skipped = 0
        """How often it was not looked at because that would have cost too much."""
        self._operator = operator
        self._most_bytes = self._ready_bytes = ready_bytes
        self._last_bytes = self._bytes = 0
        self._flat: dict[str, dict[str, str]] = {}
        self._raw: dict[str, Any] = {}
        self._begun = False
        self.behind = False
        """Whether it was skipped since it was looked at last."""

    def replace(self, operator: Operator) -> None:
        """Another operator has taken over the state: the next look is at all of it."""
        self._operator = operator
        self._begun = False

    @property
    def state(self) -> dict[str, str]:
        """As the changes that it told of add up to it."""
        return {key: value for part in self._flat.values() for key, value in part.items()}

    def look(self, of_task: Mapping[str, str], *, always: bool = False) -> list[Change]:
        """What changed since; `of_task` is what there is to watch besides, as flat keys."""
        ready = self._ready_bytes + _BYTES_A_LOOK
        if ready > self._most_bytes:
            ready = self._most_bytes
        if self._last_bytes > ready and not always:
            self._ready_bytes = ready
            self.skipped += 1
            self.behind = True
            return []
        self.behind = False
        self._bytes = 0
        found: list[Change] = []
        parts = self._operator.changed()
        if parts is None or not self._begun:
            parts = self._whole(found)
        for name, part in parts.items():
            kind = type(part)
            if kind is Pairs:
                self._of_pairs(name, part, found)
            elif kind in _SCALARS:
                self._of_scalar(name, part, found)
            else:
                self._of(name, part, found)
        if of_task or _OF_THE_TASK in self._flat:
            self._all_of(_OF_THE_TASK, dict(of_task), found)
        self._last_bytes = bytes_looked_at = self._bytes
        self._ready_bytes = ready - bytes_looked_at
        return found

    def _whole(self, found: list[Change]) -> Mapping[str, Any]:
        """All of a snapshot; what is in it no more is gone."""
        parts = self._operator.snapshot()
        for name in [one for one in self._flat if one not in parts and one != _OF_THE_TASK]:
            self._all_of(name, {}, found)
            self._raw.pop(name, None)
        self._begun = True
        return parts

    def _of(self, name: str, part: Any, found: list[Change]) -> None:
        """Of one entry of a snapshot. As bytes, since 1 and true are equal and yet not the same JSON."""
        if is_map(part):
            try:
                pairs = dict(part)
            except TypeError:  # keys that are lists
                pairs = {}
            if len(pairs) == len(part) and set(map(type, pairs)) in _KINDS_OF_KEYS:
                self._of_map(name, pairs, found)
                return
        data = self._dumped(part)
        if self._raw.get(name) == data:
            return
        self._raw[name] = data
        self._all_of(name, flat({name: part}), found)

    def _of_scalar(self, name: str, value: Any, found: list[Change]) -> None:
        """A count changes with every record: of those nothing is kept beside the JSON."""
        after = repr(value) if type(value) is int else encoded(value)
        self._bytes += len(after)
        if name in self._raw:
            del self._raw[name]
        values = self._flat.get(name)
        before = values.get(name) if values is not None and len(values) == 1 else None
        if values is None or before is None:
            self._all_of(name, {name: after}, found)
        elif before != after:
            values[name] = after
            found.append((name, before, after))

    def _of_map(self, name: str, pairs: dict[Any, Any], found: list[Change]) -> None:
        before = self._raw.get(name)
        after = {key: value if type(value) in _SCALARS else self._dumped(value) for key, value in pairs.items()}
        self._raw[name] = after
        self._bytes += _BYTES_A_VALUE * len(after)
        if not isinstance(before, dict) or set(map(type, before)) != set(map(type, after)):
            self._all_of(name, flat({name: list(map(list, pairs.items()))}), found)
            return
        put = [
            (key, pairs[key])
            for key, value in after.items()
            if (old := before.get(key, _ABSENT)) is not value and (type(old) is not type(value) or old != value)
        ]
        gone = () if len(before) == len(after) and before.keys() == after.keys() else before.keys() - after.keys()
        self._of_pairs(name, Pairs(put, sorted(gone)), found)

    def _dumped(self, value: Any) -> bytes:
        data = dumps(value, _MARSHAL_VERSION)
        self._bytes += len(data)
        return data

    def _of_pairs(self, name: str, pairs: Pairs, found: list[Change]) -> None:
        """A map without pairs is an empty list, which stands in the state as such."""
        put, gone = pairs
        values = self._flat.get(name)
        if values is None:
            values = self._flat[name] = {}
        if put and name in values:
            del values[name]
            found.append((name, "[]", None))
        for key, value in put:
            at = f"{name}[{key}]" if type(key) is str else flat_key(name, key)
            after = repr(value) if type(value) is int else encoded(value)
            self._bytes += len(after)
            before = values.get(at)
            if before != after:
                values[at] = after
                found.append((at, before, after))
        for key in gone:
            at = flat_key(name, key)
            if at in values:
                found.append((at, values.pop(at), None))
        if not values:
            values[name] = "[]"
            found.append((name, None, "[]"))

    def _all_of(self, name: str, after: dict[str, str], found: list[Change]) -> None:
        before = self._flat.get(name, {})
        self._flat[name] = after
        for key, value in after.items():
            if before.get(key) != value:
                found.append((key, before.get(key), value))
        for key in before:
            if key not in after:
                found.append((key, before[key], None))
