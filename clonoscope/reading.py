"""Reads what segments hold: processes, and the log of each attempt, entry by entry, with the gaps where they were."""

from __future__ import annotations

import base64
import fcntl
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from clonoscope import words as w
from clonoscope.segments import SUFFIX, Held, first_entry, newer_mark, read_segment, segments_of
from replay.errors import ReplayError
from replay.model import read_json

CLOSED = b" closed"
"""Behind what a process says of itself: nothing is missing of what it recorded."""

Kind = Literal[
    "epoch", "epoch-end", "call", "take", "record", "range", "output", "state", "gap", "end", "event", "hash", "seen",
    "border"
]  # fmt: skip
RETRY_BEGAN, RETRY_ENDED = "retry-began", "retry-ended"
"""Events: that an epoch's answers are taken from an attempt before, and how far that went."""


@dataclass(frozen=True, slots=True)
class Process:
    """Who recorded. One that is neither alive nor closed was killed, or crashed."""

    token: str
    described: dict[str, Any]
    alive: bool
    closed: bool


def processes_of(folder: Path) -> list[Process]:
    """Of a recording's folder, the earliest first."""
    found = []
    own = [one for one in (folder / "processes").glob("*.json") if _began_us(one) is not None]
    for path in sorted(own, key=lambda one: (_began_us(one), one.name)):
        with open(path, "rb") as file:
            data = file.read()
            closed = data.endswith(CLOSED)
            try:
                described = json.loads(data.removesuffix(CLOSED))
            except ValueError:
                described = {}
            described = described if isinstance(described, dict) else {}
            found.append(Process(path.stem, described, not closed and _is_held(file.fileno()), closed))
    return found


def _began_us(path: Path) -> int | None:
    """By its name; None of a file that somebody else has put there."""
    at_us = path.name.partition("-")[0]
    return int(at_us) if at_us.isdecimal() else None


def forget_processes(folder: Path, before_ns: int) -> None:
    """Of those that closed before that time, as nothing is left of what they recorded: engines start many."""
    for path in (folder / "processes").glob("*.json"):
        try:
            with open(path, "rb") as file:
                over = path.stat().st_mtime_ns < before_ns and file.read().endswith(CLOSED)
                if over and not _is_held(file.fileno()):
                    path.unlink(missing_ok=True)
        except FileNotFoundError:
            continue  # another process forgot it


def _is_held(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


@dataclass(frozen=True, slots=True)
class Entry:
    """What happened in an attempt. `at_us` is the latest time known by then; `taken`, how many records were."""

    kind: Kind
    epoch: int | None
    at_us: int
    taken: int
    fields: Any


@dataclass(slots=True)
class AttemptLog:
    """The segments of an attempt, read one after the other. `meta`: what the first that is there says of it.

    As entries are read, `process` is who recorded them, and `rests` whether nothing is missing behind them.
    """

    task: str
    attempt: int
    folder: Path
    meta: dict[str, Any]
    inputs: dict[int, dict[str, Any]] = field(default_factory=dict)
    sites: dict[int, dict[str, Any]] = field(default_factory=dict)
    process: str = ""
    rests: bool = False

    def entries(self, first: int = 0) -> Iterator[Entry]:
        """All of it, or what stands from that segment on, in order. `inputs` and `sites` are complete afterwards."""
        return _Walk(self).entries(first)


def attempts_of(folder: Path) -> list[AttemptLog]:
    """The attempts of all tasks, by task and number; of those that nothing is left of, just that. Raises `ReplayError`
    where a segment is of a version that can't be read: what it holds would seem never to have been."""
    found = []
    for path in sorted(folder.glob("tasks/*/*")):
        if path.is_dir() and path.name.isdecimal() and path.parent.name.rpartition(".")[2].isdecimal():
            _check_version([segment for _, segment in segments_of(path)])
            found.append(attempt_in(path))
    return sorted(found, key=lambda one: (one.task, one.attempt))


def _check_version(segments: list[Path]) -> None:
    """One mark among others that are known is damage, and no version."""
    try:
        marks = {newer_mark(segment) for segment in segments}
    except OSError:
        return  # let go meanwhile
    if len(marks) == 1 and (mark := marks.pop()):
        raise ReplayError(
            f"this version of clonoscope does not know segments with the mark {mark}",
            path=str(segments[0]),
            remedy="Read it with the version that wrote it, or with a newer one",
        )


def attempt_in(folder: Path) -> AttemptLog:
    """The attempt whose segments lie in a folder."""
    meta = _first_meta(folder) or _nothing_of(folder)
    return AttemptLog(folder.parent.name, int(folder.name), folder, meta)


def _nothing_of(folder: Path) -> dict[str, Any]:
    """Of an attempt that could not write anything, or of which all was let go."""
    vertex, _, subtask = folder.parent.name.rpartition(".")
    at_us = folder.stat().st_mtime_ns // 1000
    named = {"vertex": vertex, "subtask": int(subtask), "process": "", "at_us": at_us, "epoch": None}
    return {**named, "taken": 0, "input": -1, "next": 0, "dropped": 0, "why": "", "lost": True}


def _first_meta(folder: Path) -> dict[str, Any] | None:
    metas = (meta_of(path) for _, path in segments_of(folder))
    return next((one for one in metas if one is not None), None)


def meta_of(path: Path) -> dict[str, Any] | None:
    """What the first entry of a segment says; None where the file is no segment, or was never begun."""
    try:
        first = first_entry(path)
    except OSError:
        return None
    if first is None or (first.kind, first.value) != (w.LONG, w.META):
        return None
    meta: dict[str, Any] = read_json(first.payload)
    return meta


def _held(path: Path) -> Held | None:
    try:
        held = read_segment(path)
    except OSError:
        return None
    first = held.entries[0] if held is not None and held.entries else None
    return held if first is not None and (first.kind, first.value) == (w.LONG, w.META) else None


class _Walk:
    """One reading of an attempt's segments."""

    def __init__(self, log: AttemptLog):
        self.log = log
        self.epoch: int | None = None
        self.at_us = 0
        self.taken = 0
        # The run of records that was taken since the last entry of another kind: input, first offset, records.
        self.run: tuple[int, int, int] = (-1, 0, 0)
        self.randoms: dict[int, int] = {}
        # Each process numbers the places in its source by itself: what they are called in this attempt.
        self.sites: dict[tuple[str, int], int] = {}
        # Within an epoch whose beginning is not there: nothing of it can be said to stand where it stands.
        self.lost_beginning = False
        # Times that were taken from an attempt before are none of this attempt's.
        self.taking = False

    def entries(self, first: int) -> Iterator[Entry]:
        if self.log.meta.get("lost"):
            self.at_us = self.log.meta["at_us"]
            yield self._entry("gap", {"why": "nothing of this attempt could be written, or all of it was let go"})
            return
        due, last = first, None
        for number, path in segments_of(self.log.folder):
            held = _held(path) if number >= first else None
            if held is None:
                continue
            meta = read_json(held.entries[0].payload)
            if last is None or number != due:
                yield from self._after_missing(number, due, meta)
            yield from self._segment(held, meta)
            due, last = number + 1, held
        if last is not None:
            yield from self._tail(last)

    def _entry(self, kind: Kind, fields: Any) -> Entry:
        return Entry(kind, self.epoch, self.at_us, self.taken, fields)

    def _after_missing(self, number: int, due: int, meta: dict[str, Any]) -> Iterator[Entry]:
        self.taken, self.run = meta["taken"], (meta["input"], meta["next"], 0)
        if number == due:
            self.epoch = meta["epoch"]
            return
        self.epoch, self.at_us = meta["epoch"], meta["at_us"]
        self.lost_beginning = meta["epoch"] is not None
        which = f"segments {due} to {number - 1}" if number - due > 1 else f"segment {due}"
        yield self._entry("gap", {"why": f"{which} of this log were let go or are missing"})

    def _segment(self, held: Held, meta: dict[str, Any]) -> Iterator[Entry]:
        self.at_us = max(self.at_us, meta["at_us"])
        self.randoms = {}
        self.log.process, self.log.rests = meta["process"], held.ended is not None
        numbered = ([number, *place] for number, place in enumerate(meta["inputs"]))
        for number, topic, partition in meta.get("named", numbered):
            self.log.inputs[number] = {"topic": topic, "partition": partition}
        if meta["dropped"]:
            yield from self._after_dropped(meta)
        else:
            yield from self._flush(meta["taken"] - self.taken, meta)
        torn = {one.at: one for one in held.torn}
        for word in held.entries[1:]:
            for at in [at for at in torn if at < word.at]:
                yield self._entry("gap", {"why": torn.pop(at).why})
            if word.advance > w.ADVANCE_MOST and self.taken + word.advance > held.progress:
                yield self._entry("gap", {"why": "a word tells of more records than were taken: it is damaged"})
                return
            self._advance(word.advance)
            yield from self._word(word)
        for one in torn.values():
            yield self._entry("gap", {"why": one.why})

    def _after_dropped(self, meta: dict[str, Any]) -> Iterator[Entry]:
        """Which records were taken meanwhile is not known, only how many."""
        yield from self._end_run()
        records, self.taken = meta["taken"] - self.taken, meta["taken"]
        self.run = (meta["input"], meta["next"], 0)
        while_taken = f", while {records:,} records were taken" if records else ""
        yield self._entry("gap", {"why": f"{meta['dropped']:,} entries were dropped{while_taken}: {meta['why']}"})
        if meta["epoch"] != self.epoch:
            # It began meanwhile, and what stands of it does not begin at its beginning.
            before, self.epoch = self.epoch, meta["epoch"]
            yield self._entry("epoch", {"epoch": self.epoch, "at_us": self.at_us, "unseen": True})
            yield self._entry("gap", {"why": f"what was dropped in epoch {before} may reach into this one"})

    def _flush(self, unsaid: int, meta: dict[str, Any]) -> Iterator[Entry]:
        """Records that were taken before a segment began, and that no word tells of."""
        if unsaid > 0:
            self._advance(unsaid)
        if (meta["input"], meta["next"]) != (self.run[0], self.run[1] + self.run[2]):
            yield from self._end_run()
            self.run = (meta["input"], meta["next"], 0)

    def _tail(self, last: Held) -> Iterator[Entry]:
        # More than a word can tell of are never left unsaid.
        if 0 < last.progress - self.taken <= w.ADVANCE_MOST + 1:
            self._advance(last.progress - self.taken)
        yield from self._end_run()
        if last.dropped:
            yield self._entry("gap", {"why": f"{last.dropped:,} entries were dropped at the end"})

    def _advance(self, records: int) -> None:
        if records:
            self.taken += records
            number, first, count = self.run
            self.run = (number, first, count + records)

    def _end_run(self) -> Iterator[Entry]:
        number, first, count = self.run
        if count:
            self.run = (number, first + count, 0)
            if number >= 0 and not self.lost_beginning:
                yield self._entry("take", {"input": number, "first": first, "records": count})

    def _word(self, word: w.Word) -> Iterator[Entry]:
        if word.kind == w.TIME_NS:
            self.at_us = self.at_us if self.taking else word.value // 1000
            yield from self._call({"call": "time_ns", "site": word.site, "value": word.value})
        elif word.kind == w.TIME:
            self.at_us = self.at_us if self.taking else int(word.seconds * 1e6)
            yield from self._call({"call": "time", "site": word.site, "value": word.seconds})
        elif word.kind == w.RANDOM:
            site = self.randoms.get(word.site, -1)
            yield from self._call({"call": "random", "site": site, "value": word.value / w.RANDOM_STEPS})
        elif word.kind == w.TAKE:
            yield from self._end_run()
            self.run = (word.site, word.value, 0)
        elif word.kind == w.LONG:
            yield from self._long(word)

    def _call(self, fields: dict[str, Any]) -> Iterator[Entry]:
        yield from self._end_run()
        if not self.lost_beginning:
            site = self.sites.get((self.log.process, fields["site"]), fields["site"])
            yield self._entry("call", fields if site == fields["site"] else {**fields, "site": site})

    def _declare(self, site: dict[str, Any]) -> None:
        """A number that another process of this attempt has for another place is another number here."""
        said = {**site, "site": 0}
        known = self.log.sites.get(site["site"], site)
        number = site["site"] if {**known, "site": 0} == said else None
        if number is None:
            same = (one for one, of in self.log.sites.items() if {**of, "site": 0} == said)
            number = next(same, max(self.log.sites) + 1)
        self.sites[self.log.process, site["site"]] = number
        self.log.sites[number] = {**site, "site": number}

    def _long(self, word: w.Word) -> Iterator[Entry]:
        if word.value in (w.UUID, w.BYTES):
            site, data = int.from_bytes(word.payload[:4], "little"), word.payload[4:]
            if word.value == w.UUID:
                yield from self._call({"call": "uuid4", "site": site, "value": str(uuid.UUID(bytes=data, version=4))})
            else:
                value = {"b64": base64.b64encode(data).decode()}
                yield from self._call({"call": "urandom", "site": site, "value": value})
            return
        if word.value == w.SEEN:
            yield self._entry("seen", word.payload)
            return
        fields = read_json(word.payload)
        match word.value:
            case w.SITE if "random" in fields:
                self.randoms[fields["random"]] = fields["site"]
            case w.SITE:
                self._declare(fields)
            case w.CALL:
                yield from self._call(fields)
            case w.INPUT:
                yield from self._input(fields)
            case w.EPOCH:
                yield from self._end_run()
                self.lost_beginning = self.taking = False
                self.epoch, self.at_us = fields["epoch"], fields["at_us"]
                yield self._entry("epoch", fields)
            case w.OUTPUT if "records" in fields and not self.lost_beginning:
                for record in fields.pop("records"):
                    yield self._entry("output", {"record": record, **fields})
            case w.EPOCH_END | w.END | w.EVENT:
                yield from self._end_run()
                self.at_us = max(self.at_us, fields["at_us"])
                if fields.get("type") in (RETRY_BEGAN, RETRY_ENDED):
                    self.taking = fields["type"] == RETRY_BEGAN
                yield self._entry(_KINDS[word.value], fields)
            case _ if word.value in _KINDS and not self.lost_beginning:
                yield self._entry(_KINDS[word.value], fields)

    def _input(self, fields: dict[str, Any]) -> Iterator[Entry]:
        number = fields["input"]
        if "topic" in fields:
            self.log.inputs[number] = fields
            return
        yield from self._end_run()
        if "until" in fields:
            count = fields["until"] - fields["first"]
            self.run = (number, fields["first"], 0)
            self._advance(count)
            if fields.get("sha256") or fields.get("keyed"):
                yield self._entry("hash", {**fields, "records": count})
        else:
            self.run = (number, fields["offset"], 0)


_KINDS: dict[int, Kind] = {
    w.EPOCH_END: "epoch-end",
    w.END: "end",
    w.EVENT: "event",
    w.RECORD: "record",
    w.OUTPUT: "output",
    w.STATE: "state",
    w.GAP: "gap",
    w.HASH: "hash",
    w.BORDER: "border",
}


def size_of(folder: Path) -> int:
    """The bytes of all segments below a folder."""
    return sum(path.stat().st_size for path in folder.rglob(f"*{SUFFIX}"))
