"""Where one attempt's words go: segment after segment, each of which can be read without the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from clonoscope import words as w
from clonoscope.calls import Call
from clonoscope.room import Room
from clonoscope.segments import NO_REALS, NO_WORDS, SUFFIX, Segment
from replay.model import json_bytes

# After a segment could not be had, how long until one is asked for again: a job must not wait for a full disk.
_RETRY_S = 0.01
# What the names of inputs may take of each segment.
_NAMES_BYTES = 16 << 10

Quick = dict[int, tuple[CodeType, int]]
QuickTimes = dict[int, tuple[CodeType, int, int]]
QuickSeconds = dict[int, tuple[CodeType, float, float]]


class SegmentedLog:
    """Words are stored at `pos` of `view`, by whoever has one (see `services`); all else goes through these methods.

    Stores are safe between threads under the interpreter's lock, as nothing is called between looking at `pos` and
    moving it on. Only what changes segments takes `lock`, which a signal's handler may take a second time.
    """

    __slots__ = (
        "_declared",
        "_exact",
        "_generation",
        "_lost",
        "_named",
        "_named_from",
        "_places",
        "_random_sites",
        "_retry_at",
        "_why",
        "adv",
        "attempt",
        "begun",
        "dropped",
        "epoch",
        "fixed",
        "folder",
        "handed_on",
        "high",
        "high_s",
        "in_epoch",
        "input",
        "inputs",
        "lead",
        "lock",
        "low",
        "low_s",
        "named",
        "next_offset",
        "pos",
        "randoms",
        "reals",
        "room",
        "seconds",
        "segment",
        "segments",
        "slow",
        "synced",
        "task",
        "times",
        "view",
        "writes",
    )  # fmt: skip

    def __init__(self, room: Room, task: str, fixed: Mapping[str, Any], *, handed_on: bool = False):
        """`fixed` is told at the beginning of each segment. The attempt is claimed when something is recorded.

        `handed_on`: at the end of each epoch, to whichever process goes on with the next.
        """
        self.room, self.task, self.fixed, self.handed_on = room, task, dict(fixed), handed_on
        self.attempt: int | None = None
        # Who is told of calls that change something outside, before they are made.
        self.writes: Callable[[Call, FrameType], None] | None = None
        self.folder: Path | None = None
        self.begun = 0
        self.in_epoch = False
        self.lock = threading.RLock()
        self.view, self.reals = NO_WORDS, NO_REALS
        self.pos = self.adv = self.low = self.high = self.lead = self.segments = self.dropped = 0
        self.low_s = self.high_s = 0.0
        # Where the next record comes from, if it follows the one before; `lead`: by how much its offset is ahead of how
        # many were taken.
        self.input, self.next_offset = -1, 0
        self.epoch: int | None = None
        # Topic and partition to the number that words have.
        self.inputs: dict[tuple[str, int], int] = {}
        # The same the other way round; from which on this segment's first entry names them, and which of those before.
        self._places: list[tuple[str, int]] = []
        self._named_from, self._named = 0, set[int]()
        self.segment: Segment | None = None
        # By the place in its code that a call stands at: that code, and what is subtracted from (or added to) a value
        # to have its word; of times also what is, where one record was taken since the word before. Anew for every
        # segment and base.
        self.times: QuickTimes = {}
        self.seconds: QuickSeconds = {}
        self.randoms: Quick = {}
        self._exact: dict[tuple[CodeType, int, int], int] = {}
        # Where it is True, no question is quick: all of them come by.
        self.slow = False
        self._declared: set[int] = set()
        self._random_sites: dict[int, int] = {}
        # Counts segments and bases: a word that is made for one means something else in the next.
        self._generation = 0
        # How many segments are on the disk for good, and how many of their names.
        self.synced = self.named = 0
        self._lost = 0
        self._retry_at = 0.0
        self._why = ""

    @property
    def taken(self) -> int:
        """How many records were taken: not counted with each of them, as offsets count already."""
        return self.next_offset - self.lead

    @taken.setter
    def taken(self, count: int) -> None:
        self.lead = self.next_offset - count

    # --- words and entries ---

    def put(self, word: int) -> None:
        """One word; counts as dropped where there is no room."""
        try:
            pos = self.pos
            self.view[pos] = word + w.ADVANCES[self.adv]
            self.pos = pos + 1
            self.adv = 0
        except IndexError:
            if self.turn_over(1):
                self.put(word)
            else:
                self.drop()

    def put_long(self, kind: int, payload: bytes) -> None:
        """An entry; it is announced before it is written, so that what others write behind it can be found."""
        padded = w.padded_to_words(payload)
        length = len(padded) // w.WORD_BYTES
        if length > w.LONGEST_WORDS:
            self.gap(f"an entry of {len(payload)} bytes is longer than {w.LONGEST_BYTES}")
            return
        pending = w.long_header(kind, payload, padded)
        done = w.finished(pending, padded)
        as_words = memoryview(padded).cast("Q")
        with self.lock:
            placed = self._announce(pending, length)
            while placed is None and self.turn_over(1 + length):
                placed = self._announce(pending, length)
            if placed is None:
                self.drop()
                return
            view, pos, advance = placed
            try:
                view[pos + 1 : pos + 1 + length] = as_words
                view[pos] = done + advance
            except ValueError:  # a signal's handler filled the segment meanwhile; what was announced stays unfinished
                self._lost += 1

    def _announce(self, pending: int, length: int) -> tuple[memoryview, int, int] | None:
        view = self.view
        room = len(view) - length
        # Nothing is called from here to the move of `pos`: nobody comes between.
        pos, adv = self.pos, self.adv
        if pos >= room or self.view is not view:
            return None
        advance = w.ADVANCES[adv]
        view[pos] = pending + advance
        self.pos = pos + 1 + length
        self.adv = 0
        return view, pos, advance

    def put_json(self, kind: int, fields: Any) -> None:
        """An entry of JSON; raises where it can't be written as JSON."""
        self.put_long(kind, json_bytes(fields))

    def gap(self, why: str) -> None:
        """Something of this task could not be recorded here."""
        self.put_json(w.GAP, {"why": why})

    def lose(self, why: str) -> None:
        """A determinant is lost where there may be room for others: the gap stands in its place."""
        if not len(self.view):
            self.drop()  # the next segment says it, of all that was dropped till then
            return
        before = self.dropped
        try:
            self.gap(why)
        except Exception:
            self.drop()
        if self.dropped == before:
            self.dropped += 1

    def drop(self) -> None:
        """A determinant is lost: counted where it survives, in the header of the last segment."""
        self.adv = 0
        self.dropped += 1
        self._lost += 1
        if self.segment is not None:
            try:
                self.segment.view[w.H_DROPPED] = self._lost
            except ValueError:
                return  # released; the next segment says it

    # --- segments ---

    def turn_over(self, needed_words: int) -> bool:
        """Another segment, with room for that many words; False where there is none now."""
        with self.lock:
            if self.pos + needed_words <= len(self.view):
                return True  # another thread did
            now = time.monotonic()
            if now < self._retry_at:
                return False
            # What is stored from here on is dropped, until there is a segment: nobody writes behind the end.
            end, self.view, self.reals = self.pos, NO_WORDS, NO_REALS
            try:
                segment, meta = self._next_segment(needed_words)
            except Exception as fault:
                self._retry_at = now + _RETRY_S
                if isinstance(fault, OSError):
                    self._why = fault.strerror or str(fault)
                else:  # whatever it is, the job goes on
                    self._why = f"no segment could be begun: {type(fault).__qualname__}"
                self.room.at_fault(f"{self.task}: {self._why}")
                return False
            self._seal(end)
            self._begin(segment, meta)
            return True

    def _next_segment(self, needed_words: int) -> tuple[Segment, bytes]:
        while True:
            if self.folder is None:
                self.attempt, self.folder, self.segments, self.taken = self.room.claim(self)
                self.synced = self.named = self.segments
            meta = self._meta()
            needed = (needed_words + w.HEADER_WORDS + 3) * w.WORD_BYTES + len(meta)
            try:
                return self.room.segment(self.folder / f"{self.segments}{SUFFIX}", needed), meta
            except FileExistsError:
                if not self.handed_on or self.segment is not None:
                    raise
                self.folder = None  # another process goes on with that attempt

    def try_again(self) -> None:
        """Asks for a segment at the next entry, however short a time ago there was none."""
        self._retry_at = 0.0

    def _seal(self, end: int) -> None:
        sealed, self.segment = self.segment, None
        if sealed is not None:
            sealed.view[w.H_DROPPED] = self._lost
            sealed.seal(min(end, len(sealed.view)))
            self.room.filled(self, sealed)

    # --- inputs ---

    def declare(self, topic: str, partition: int) -> int:
        """The number of an input that is new."""
        self.inputs[topic, partition] = number = len(self._places)
        self._places.append((topic, partition))
        self.put_json(w.INPUT, {"input": number, "topic": topic, "partition": partition})
        return number

    def name(self, number: int) -> None:
        """So that this segment can be read by itself: where inputs are many, its first entry has not all of them."""
        if number < self._named_from and number not in self._named:
            topic, partition = self._places[number]
            self._named.add(number)
            self.put_json(w.INPUT, {"input": number, "topic": topic, "partition": partition})

    def _names(self) -> dict[str, Any]:
        """All inputs in their order; or, of many, the last ones and the one that is being read, by number."""
        first, room = len(self._places), _NAMES_BYTES
        while first and (room := room - len(json_bytes(self._places[first - 1]))) >= 0:
            first -= 1
        self._named_from, self._named = first, {self.input}
        if not first:
            return {"inputs": self._places}
        numbers = sorted({max(self.input, 0), *range(first, len(self._places))})
        return {"inputs": [], "named": [[number, *self._places[number]] for number in numbers]}

    def _meta(self) -> bytes:
        """The first entry says all that is needed to read this segment without the ones before."""
        return json_bytes(
            {
                **self.fixed,
                "task": self.task,
                "attempt": self.attempt,
                "process": self.room.process,
                "segment": self.segments,
                "at_us": time.time_ns() // 1000,
                "epoch": self.epoch,
                "taken": self.taken,
                "input": self.input,
                "next": self.next_offset,
                "dropped": self._lost,
                "why": self._why if self._lost else "",
                **self._names(),
            }
        )

    def _begin(self, segment: Segment, meta: bytes) -> None:
        self.segments += 1
        self._lost, self._why, self._retry_at = 0, "", 0.0
        view = segment.view
        padded = w.padded_to_words(meta)
        end = w.HEADER_WORDS + 1 + len(padded) // w.WORD_BYTES
        view[w.HEADER_WORDS + 1 : end] = memoryview(padded).cast("Q")
        view[w.HEADER_WORDS] = w.finished(w.long_header(w.META, meta, padded), padded)
        view[w.H_PROGRESS] = self.taken
        self.segment = segment
        self.adv = 0
        self._declared, self._random_sites, self.randoms = set(), {}, {}
        self._rebase(view, end, time.time_ns() // 1000)
        self.pos = end + 1
        self.view, self.reals = view, segment.reals

    def _rebase(self, view: memoryview, pos: int, now_us: int) -> None:
        base_s = max(now_us * 1000 - w.BASE_MARGIN_NS, 0) // 10**9
        view[pos] = w.BASE << w.KIND_SHIFT | base_s * 10**6
        self.low = base_s * 10**9
        self.high = self.low + w.LOW_BITS
        self.low_s, self.high_s = max(float(base_s), w.REAL_LEAST), float(base_s + w.REAL_SPAN_S)
        self.times, self.seconds, self._exact = {}, {}, {}
        self._generation += 1

    def close(self, how: Mapping[str, Any]) -> None:
        """Ends the attempt."""
        with self.lock:
            self.put_json(w.END, {"at_us": time.time_ns() // 1000, **how})
            end, self.view, self.reals = self.pos, NO_WORDS, NO_REALS
            self.pos = 0
            self._seal(end)

    def rest(self) -> None:
        """The epoch is over; whoever comes next goes on with this attempt."""
        with self.lock:
            end, self.view, self.reals = self.pos, NO_WORDS, NO_REALS
            self.pos = 0
            if self.segment is not None and self.epoch is not None:
                self.segment.view[w.H_PROGRESS] = self.taken
                self.segment.view[w.H_ENDED] = self.epoch + 1
            self._seal(end)
            self.room.rests(self)

    def forget(self) -> None:
        """In a child that was forked: the segment is the parent's, and nothing more of it is written here."""
        self.lock = threading.RLock()
        self.view, self.reals, self.pos, self.adv = NO_WORDS, NO_REALS, 0, 0
        self.fixed["forked_from"] = self.attempt
        self.attempt, self.folder, self.segments = None, None, 0
        self.synced = self.named = 0
        segment, self.segment = self.segment, None
        if segment is not None:
            segment.close()
