"""The log of one attempt of one task: words in a segment, written by one store each, without a lock."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from clonoscope import words as w
from clonoscope.calls import Call, record_fault, record_value
from clonoscope.room import Room
from clonoscope.segments import NO_WORDS, SUFFIX, Segment
from clonoscope.sites import Site, site_at
from replay.model import json_bytes

# After a segment could not be had, how long until one is asked for again: a job must not wait for a full disk.
_RETRY_S = 0.01
# Words: declarations of a site, a base, and a word.
_ROOM_FOR_SITE = 256
_TRIES = 4

Quick = dict[int, tuple[CodeType, int]]


class TaskLog:
    """Services store into `view` at `pos` themselves (see `services`); all else goes through these methods.

    Stores are safe between threads under the interpreter's lock, as nothing is called between looking at `pos` and
    moving it on. Only what changes segments takes `lock`, which a signal's handler may take a second time.
    """

    __slots__ = (
        "_declared",
        "_exact",
        "_generation",
        "_lost",
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
        "in_epoch",
        "input",
        "inputs",
        "lock",
        "low",
        "named",
        "next_offset",
        "pos",
        "randoms",
        "room",
        "seconds",
        "segment",
        "segments",
        "slow",
        "synced",
        "taken",
        "task",
        "times",
        "view",
    )  # fmt: skip

    def __init__(self, room: Room, task: str, fixed: Mapping[str, Any], *, handed_on: bool = False):
        """`fixed` is told at the beginning of each segment. The attempt is claimed when something is recorded.

        `handed_on`: at the end of each epoch, to whichever process goes on with the next.
        """
        self.room, self.task, self.fixed, self.handed_on = room, task, dict(fixed), handed_on
        self.attempt: int | None = None
        self.folder: Path | None = None
        self.begun = 0
        self.in_epoch = False
        self.lock = threading.RLock()
        self.view = NO_WORDS
        self.pos = self.adv = self.low = self.high = self.taken = self.segments = self.dropped = 0
        # Where the next record comes from, if it follows the one before.
        self.input, self.next_offset = -1, 0
        self.epoch: int | None = None
        # Topic and partition to the number that words have.
        self.inputs: dict[tuple[str, int], int] = {}
        self.segment: Segment | None = None
        # By the place in its code that a call stands at: that code, and what is subtracted from (or added to) a value
        # to have its word. Anew for every segment and base.
        self.times: Quick = {}
        self.seconds: Quick = {}
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

    # --- words and entries ---

    def put(self, word: int) -> None:
        """One word; counts as dropped where there is no room."""
        try:
            pos = self.pos
            self.view[pos] = word + self.adv
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
            view, pos, adv = placed
            try:
                view[pos + 1 : pos + 1 + length] = as_words
                view[pos] = done + adv
            except ValueError:  # a signal's handler filled the segment meanwhile; what was announced stays unfinished
                self._lost += 1

    def _announce(self, pending: int, length: int) -> tuple[memoryview, int, int] | None:
        view = self.view
        room = len(view) - length
        # Nothing is called from here to the move of `pos`: nobody comes between.
        pos, adv = self.pos, self.adv
        if pos >= room or self.view is not view:
            return None
        view[pos] = pending + adv
        self.pos = pos + 1 + length
        self.adv = 0
        return view, pos, adv

    def put_json(self, kind: int, fields: Any) -> None:
        """An entry of JSON; raises where it can't be written as JSON."""
        self.put_long(kind, json_bytes(fields))

    def gap(self, why: str) -> None:
        """Something of this task could not be recorded here."""
        self.put_json(w.GAP, {"why": why})

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
            end, self.view = self.pos, NO_WORDS
            try:
                segment, meta = self._next_segment(needed_words)
            except OSError as fault:
                self._retry_at = now + _RETRY_S
                self._why = fault.strerror or str(fault)
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
                "inputs": list(self.inputs),
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
        self.view = view

    def _rebase(self, view: memoryview, pos: int, now_us: int) -> None:
        base_us = max(now_us - w.BASE_MARGIN_NS // 1000, 0)
        view[pos] = w.BASE << w.KIND_SHIFT | base_us
        self.low = base_us * 1000
        self.high = self.low + w.LOW_BITS
        self.times, self.seconds, self._exact = {}, {}, {}
        self._generation += 1

    def close(self, how: Mapping[str, Any]) -> None:
        """Ends the attempt."""
        with self.lock:
            self.put_json(w.END, {"at_us": time.time_ns() // 1000, **how})
            end, self.view = self.pos, NO_WORDS
            self.pos = 0
            self._seal(end)

    def rest(self) -> None:
        """The epoch is over; whoever comes next goes on with this attempt."""
        with self.lock:
            end, self.view = self.pos, NO_WORDS
            self.pos = 0
            if self.segment is not None and self.epoch is not None:
                self.segment.view[w.H_PROGRESS] = self.taken
                self.segment.view[w.H_ENDED] = self.epoch + 1
            self._seal(end)
            self.room.rests(self)

    def forget(self) -> None:
        """In a child that was forked: the segment is the parent's, and nothing more of it is written here."""
        self.lock = threading.RLock()
        self.view, self.pos, self.adv = NO_WORDS, 0, 0
        self.fixed["forked_from"] = self.attempt
        self.attempt, self.folder, self.segments = None, None, 0
        self.synced = self.named = 0
        segment, self.segment = self.segment, None
        if segment is not None:
            segment.close()

    # --- sites ---

    def site(self, frame: FrameType) -> Site:
        """The site of a frame, declared in this segment."""
        site = site_at(frame)
        if site.number not in self._declared:
            self.put_json(w.SITE, self.room.source(site.to_json()))
            self._declared.add(site.number)
        return site

    # --- what services do the first time at a site, and after anything out of the ordinary ---

    def slow_time_ns(self, frame: FrameType, now: int) -> int:
        """Records a time; the next at this site is quick."""
        self._guarded(self._slow_time, frame, now, w.TIME_NS)
        return now

    def slow_time(self, frame: FrameType, now: int) -> float:
        """As `slow_time_ns`, of a time that was given as seconds."""
        self._guarded(self._slow_time, frame, now, w.TIME)
        return now / 1e9

    def slow_random(self, frame: FrameType, steps: int) -> float:
        """Records a random number, given as its 53 bits; the next at this site is quick."""
        self._guarded(self._slow_random, frame, steps)
        return steps / w.RANDOM_STEPS

    def give_bytes(self, frame: FrameType, kind: int, count: int) -> bytes:
        """Gives and records random bytes, or those of a UUID."""
        data = os.urandom(count)
        self._guarded(self._put_bytes, frame, kind, data)
        return data

    def answer(self, frame: FrameType, name: str, value: Any) -> Any:
        """Records what another clock, or source of chance, gave."""
        self._guarded(self._put_answer, frame, name, value)
        return value

    def _put_answer(self, frame: FrameType, name: str, value: Any) -> None:
        self.put_json(w.CALL, {"call": name, "site": self.site(frame).number, "value": value})

    def call(self, frame: FrameType, call: Call) -> Any:
        """Calls, and records what came of it."""
        try:
            value = call.make()
        except BaseException as fault:
            self._guarded(record_fault, self, call, frame, fault)
            raise
        self._guarded(record_value, self, call, frame, value)
        return value

    async def call_async(self, frame: FrameType, call: Call) -> Any:
        """Awaits, and records what came of it, when it came; `begun` tells calls that overlap apart."""
        return await self.awaited(frame, call, self.next_begun())

    def next_begun(self) -> int:
        """The number of a call that is awaited."""
        begun, self.begun = self.begun, self.begun + 1
        return begun

    async def awaited(self, frame: FrameType, call: Call, begun: int) -> Any:
        """Awaits a call that has its number."""
        try:
            value = await call.awaited()
        except BaseException as fault:
            self._guarded(record_fault, self, call, frame, fault, begun)
            raise
        self._guarded(record_value, self, call, frame, value, begun)
        return value

    def _guarded(self, record: Callable[..., None], *arguments: Any) -> None:
        """Whatever goes wrong with recording is no fault of the job's: something is missing then, and that is said."""
        try:
            record(*arguments)
        except Exception as fault:
            self.drop()
            self.room.at_fault(f"{self.task}: {type(fault).__qualname__}: {fault}")

    def _slow_time(self, frame: FrameType, now: int, kind: int) -> None:
        generation, before = self._generation, self._exact.get((frame.f_code, frame.f_lasti, kind))
        # Another function calls from the same place of its code: it goes the quick way, and this one the second best.
        if before is not None and self.low < now < self.high and self._store(now - before, generation):
            return
        with self.lock:
            for _ in range(_TRIES):
                self._make_room()
                site = self.site(frame).number
                if not self.low < now < self.high:
                    self._rebase_here(now // 1000)
                if site >= w.SITES_MOST or not self.low < now < self.high:
                    name, value = ("time_ns", now) if kind == w.TIME_NS else ("time", now / 1e9)
                    self.put_json(w.CALL, {"call": name, "site": site, "value": value})
                    return
                before = self.low - (kind << w.KIND_SHIFT | site << w.SITE_SHIFT)
                quick = self.times if kind == w.TIME_NS else self.seconds
                if not self.slow:
                    quick.setdefault(frame.f_lasti, (frame.f_code, before))
                self._exact[frame.f_code, frame.f_lasti, kind] = before
                if self._store(now - before, self._generation):
                    return
            self.drop()

    def _store(self, word: int, generation: int) -> bool:
        """One word that is made for this segment and base; False where they are no longer, or full."""
        try:
            pos = self.pos
            if self._generation != generation:
                return False
            self.view[pos] = word + self.adv
        except IndexError:
            return False
        self.pos = pos + 1
        self.adv = 0
        return True

    def _make_room(self) -> None:
        """So that what follows stands in one segment: a declaration, a base, and a word."""
        if self.pos + _ROOM_FOR_SITE > len(self.view):
            self.turn_over(_ROOM_FOR_SITE)

    def _rebase_here(self, now_us: int) -> None:
        pos = self.pos
        if pos < len(self.view):
            self._rebase(self.view, pos, now_us)
            self.pos = pos + 1

    def _slow_random(self, frame: FrameType, steps: int) -> None:
        with self.lock:
            for _ in range(_TRIES):
                self._make_room()
                site = self.site(frame).number
                local = self._random_sites.get(site, len(self._random_sites))
                if local >= w.RANDOM_SITES_MOST:
                    self.put_json(w.CALL, {"call": "random", "site": site, "value": steps / w.RANDOM_STEPS})
                    return
                if site not in self._random_sites:
                    self._random_sites[site] = local
                    self.put_json(w.SITE, {"site": site, "random": local})
                tag = w.RANDOM << w.KIND_SHIFT | local << w.RANDOM_SITE_SHIFT
                if self._random_sites.get(site) == local and self._store(tag | steps, self._generation):
                    if not self.slow:
                        self.randoms.setdefault(frame.f_lasti, (frame.f_code, tag))
                    return
            self.drop()

    def _put_bytes(self, frame: FrameType, kind: int, data: bytes) -> None:
        self.put_long(kind, self.site(frame).number.to_bytes(4, "little") + data)

    # --- records ---

    def take(self, number: int, offset: int) -> None:
        """A record was taken from an input; one that follows the record before costs nothing in the segment."""
        if self.adv >= w.ADVANCE_MOST << w.ADVANCE_SHIFT:
            self.flush_advance()
        if number != self.input or offset != self.next_offset:
            self._turn_to(number, offset)
        self.next_offset = offset + 1
        self.adv += w.ADVANCE_ONE
        self.taken += 1
        try:
            self.view[w.H_PROGRESS] = self.taken
        except IndexError:
            self.no_room()

    def took_range(self, number: int, first: int, until: int) -> None:
        """What an entry told of already."""
        self.input, self.next_offset = number, until
        self.taken += until - first
        try:
            self.view[w.H_PROGRESS] = self.taken
        except IndexError:
            self.no_room()

    def no_room(self) -> None:
        """A record was taken where there is no segment to say so in."""
        if not self.turn_over(1):
            self.drop()

    def _turn_to(self, number: int, offset: int) -> None:
        if number < w.SITES_MOST and 0 <= offset < w.LOW_BITS:
            self.put(w.TAKE << w.KIND_SHIFT | number << w.SITE_SHIFT | offset)
        else:
            self.put_json(w.INPUT, {"input": number, "offset": offset})
        self.input, self.next_offset = number, offset

    def flush_advance(self) -> None:
        """The records since the last word, in a word of their own."""
        count = self.adv >> w.ADVANCE_SHIFT
        if count:
            self.adv = 0
            # Where there is no room for it, the next segment's first entry says how many there were.
            if not self._store(w.ADVANCE << w.KIND_SHIFT | count, self._generation):
                self.no_room()
