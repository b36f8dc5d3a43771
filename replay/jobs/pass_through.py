"""`pass-through`: records go from a source through maps to a sink, each map stamping them with what it alone chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.model import Record
from replay.runtime.body.partition import hash_of_key
from replay.runtime.operators import Context, Operator
from replay.runtime.operators.keyed import Pairs

_CHANCES = 1 << 30
_SLOTS = 64
_KEYS = 24
# As Pairs(…) does, in half the time: this is done for every record of a replay.
_new_pairs = tuple.__new__


class _Counting(Operator):
    """Its state is how many records it was given."""

    def __init__(self) -> None:
        self.records = 0

    def snapshot(self) -> dict[str, Any]:
        """How many records it was given."""
        return {"records": self.records}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self.records = state["records"]


class Source(_Counting):
    """Hands on the records of its partition."""

    description = "Reads its partition, record by record."

    def on_record(self, record: Record, context: Context) -> None:
        """Emits the record as it is."""
        self.records += 1
        context.emit(record)


class PassThrough(Operator):
    """Counts records by key and stamps each with its count and the wall clock, so order and time show in its output."""

    description = "Stamps each record with the time and with how many of its key came before."

    def __init__(self) -> None:
        self.records = 0
        self.by_key: dict[str, int] = {}
        self.slots: dict[int, int] = {}
        self._touched: set[str] | None = None

    def open(self, context: Context) -> None:
        """Reads the options.

        `clock_every`: at how many records the wall clock is asked (0: never). `rekey`: whether records get another key,
        so that those of one task go to several below. `state_access`: how probable it is that a record changes the
        state's arrays.
        """
        self.clock_every = int(context.options.get("clock_every", 1))
        self._salt = hash_of_key(context.task.rpartition(".")[0]) if context.options.get("rekey") else None
        self._access_below = round(float(context.options.get("state_access", 0)) * _CHANCES)

    def on_record(self, record: Record, context: Context) -> None:
        """The output depends on the order (records, nth) and on the time (at_ms)."""
        self.records += 1
        nth = self.by_key.get(record.key, 0) + 1
        self.by_key[record.key] = nth
        if self._touched is not None:
            self._touched.add(record.key)
        value = dict(record.value)
        value["nth"] = nth
        value["seen"] = self.records
        if self.clock_every and self.records % self.clock_every == 0:
            value["at_ms"] = context.clock.now_ms()
        if self._access_below and context.random.next_int(_CHANCES) < self._access_below:
            slot = self.records % _SLOTS
            self.slots[slot] = self.slots.get(slot, 0) + value["nth"]
        key = record.key if self._salt is None else self._other_key(record)
        context.emit(Record(key, record.timestamp, value, record.lineage))

    def _other_key(self, record: Record) -> str:
        """Chosen by what the record is and by where it is, the same whenever it comes here."""
        return f"k{hash_of_key([record.key, record.value.get('n')], self._salt or 0) % _KEYS:02d}"

    def snapshot(self) -> dict[str, Any]:
        """Counts, in all and by key; the arrays that were accessed."""
        counts = {"records": self.records, "by_key": [[key, self.by_key[key]] for key in sorted(self.by_key)]}
        return {**counts, "slots": self._slots()} if self.slots else counts

    def _slots(self) -> list[list[int]]:
        return [list(one) for one in sorted(self.slots.items())]

    def changed(self) -> Mapping[str, Any] | None:
        """The counts in all, and those of the keys that came."""
        touched, by_key = self._touched, self.by_key
        if touched is None:
            self._touched = set() if type(self).snapshot is PassThrough.snapshot else None
            return None
        if len(touched) == 1:  # after every record
            key = touched.pop()
            put = [(key, by_key[key])]
        else:
            put = [(key, by_key[key]) for key in sorted(touched)]
            touched.clear()
        counts = {"records": self.records, "by_key": _new_pairs(Pairs, (put, []))}
        return {**counts, "slots": self._slots()} if self.slots else counts

    def restore(self, state: Mapping[str, Any]) -> None:
        """The inverse of `snapshot`."""
        self._touched = None
        self.records = state["records"]
        self.by_key = dict(state["by_key"])
        self.slots = dict(state.get("slots", ()))


class Relay(_Counting):
    """Hands on what it is given: what a graph is padded with."""

    description = "Hands on each record as it is."

    def on_record(self, record: Record, context: Context) -> None:
        """Emits the record as it is."""
        self.records += 1
        context.emit(record)


class Sink(_Counting):
    """Gives every record to the outside world at once."""

    description = "Writes each record to the outside world."

    def on_record(self, record: Record, context: Context) -> None:
        """Writes the record as it is."""
        self.records += 1
        context.write(record)
