"""The records that an attempt took: as the recording holds them, or fetched by a reader and held against their hash."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from clonoscope.json_values import from_json
from clonoscope.onsite.held import Held, Place
from clonoscope.onsite.refusals import opened
from clonoscope.shapes import record_in
from replay.debugger.outcome import Missing
from replay.errors import printable

Reader = Callable[[str, int, int], Any]
"""(topic, partition, offset)"""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a reader may give: the record as the job's function takes it, and its bytes as they were recorded."""

    record: Any
    data: bytes


@dataclass(frozen=True, slots=True)
class Fed:
    """A record on its way to the job's function. `number` counts over the task."""

    place: Place
    record: Any
    number: int | None
    t_us: int


class Feed:
    """An epoch's records, in the order in which they were taken. `doubts` are why they may be others than those."""

    def __init__(self, held: Held, reader: Reader | None):
        self._held, self._reader = held, reader
        self.doubts: list[str] = []
        self.redacted = False
        self._coming: Iterator[Fed] = iter(())

    def begin(self, epoch: int, places: Sequence[Place]) -> None:
        """All of the epoch's records are looked at before the first is given."""
        lines = self._held.lines("source", epoch)
        if len(lines) != len(places):
            lines = [{} for _ in places]
        fed = [self._fed(place, line) for place, line in zip(places, lines, strict=True)]
        absent = [n for n, one in enumerate(lines) if "record" not in one]
        if absent:
            fetched = self._fetched([places[n] for n in absent])
            self._check(epoch, [(places[n], got) for n, got in zip(absent, fetched, strict=True)])
            for n, got in zip(absent, fetched, strict=True):
                record = got.record if isinstance(got, Fetched) else got
                fed[n] = Fed(fed[n].place, record, fed[n].number, fed[n].t_us)
        self._coming = iter(fed)

    def next(self, place: Place) -> Fed:
        """The next one, which was taken from there."""
        return next(self._coming)

    def _fed(self, place: Place, line: dict[str, Any]) -> Fed:
        record, number = record_in(line), line.get("offset")
        if _is_redacted(record):
            self.redacted = True
        if isinstance(record, dict) and set(record) == {"redacted"}:
            raise Missing(f"Record {place} is redacted, so that its function can't be given it.", record=str(place))
        t_us = line.get("t_us")
        return Fed(
            place,
            from_json(record),
            number if isinstance(number, int) else None,
            t_us if isinstance(t_us, int) else self._held.start_us,
        )

    def _fetched(self, places: Sequence[Place]) -> list[Any]:
        if self._reader is None:
            first = places[0]
            raise Missing(
                f"The recording holds references to {len(places):,} records and not the records, from {first} on: name "
                'a reader with --records, or record with payload="full".',
                record=str(first),
                records=len(places),
            )
        found = []
        for place in places:
            try:
                with opened():
                    found.append(self._reader(place.topic, place.partition, place.offset))
            except Exception as fault:
                why = f"{type(fault).__name__}: {printable(str(fault))}"
                raise Missing(f"The reader could not give record {place}: {why}.", record=str(place)) from fault
            if found[-1] is None:
                raise Missing(f"The reader has no record {place}.", record=str(place))
        return found

    def _check(self, epoch: int, found: list[tuple[Place, Any]]) -> None:
        """Against the hashes of runs of records; where there is none, or no bytes to hash, that is a doubt."""
        checked: set[Place] = set()
        for line in self._held.lines("inputs", epoch):
            run = _run(found, line)
            if run is None:
                continue
            digest = hashlib.sha256()
            for _, got in run:
                data = got if isinstance(got, bytes) else got.data if isinstance(got, Fetched) else None
                if data is None:
                    self.doubt(
                        "the reader gives records without their bytes, so that the recorded hash says nothing of them"
                    )
                    return
                digest.update(len(data).to_bytes(4, "big") + data)
            if "keyed" in line:
                self.doubts.append("records are redacted, and their hash has a key: it says nothing of the reader's")
                return
            if digest.hexdigest() != line.get("sha256"):
                raise Missing(
                    f"The reader's {len(run):,} records from {run[0][0]} on are not those that were taken: their hash "
                    "is another than the recorded one.",
                    record=str(run[0][0]),
                    records=len(run),
                )
            checked.update(place for place, _ in run)
        if len(checked) < len({place for place, _ in found}):
            self.doubt("the recording has no hash of the records that the reader gave")

    def doubt(self, why: str) -> None:
        """Why records may be others than those that were taken; said once."""
        if why not in self.doubts:
            self.doubts.append(why)


def _run(found: list[tuple[Place, Any]], line: dict[str, Any]) -> list[tuple[Place, Any]] | None:
    """The records that a hash is of; None where they are not all there."""
    topic, partition, first, count = (line.get(name) for name in ("topic", "partition", "first", "records"))
    own = [pair for pair in found if (pair[0].topic, pair[0].partition) == (topic, partition)]
    begin = next((at for at, (place, _) in enumerate(own) if place.offset == first), None)
    if begin is None or not isinstance(count, int) or len(own) < begin + count or count < 1:
        return None
    return own[begin : begin + count]


def _is_redacted(value: Any) -> bool:
    """Whether a token stands anywhere in it."""
    if isinstance(value, dict):
        return set(value) == {"redacted"} or any(map(_is_redacted, value.values()))
    return isinstance(value, list) and any(map(_is_redacted, value))
