"""The log of one attempt of one task: words in a segment, written by one store each, without a lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import FrameType
from typing import Any

from clonoscope import words as w
from clonoscope.arguments import whole
from clonoscope.calls import Call, record_fault, record_value
from clonoscope.segmented_log import SegmentedLog
from clonoscope.sites import Site, site_at

# Words: declarations of a site, a base, and a word.
_ROOM_FOR_SITE = 256
_TRIES = 4
_CLOCKS = {w.TIME_NS: "time_ns", w.TIME: "time"}
_ADVANCE_MOST, _PROGRESS = w.ADVANCE_MOST, w.H_PROGRESS


class TaskLog(SegmentedLog):
    """What a task asked and took, as words and entries. Services store what they mostly do into it themselves."""

    __slots__ = ()

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
        self._guarded(self._slow_time_ns, frame, now)
        return now

    def slow_time(self, frame: FrameType, now: float) -> float:
        """As `slow_time_ns`, of a time in seconds."""
        self._guarded(self._slow_time, frame, now)
        return now

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
            # What it says may be what must not leave, also by the program's own log.
            why = f"what was asked here could not be recorded: {type(fault).__qualname__}"
            self.lose(why)
            self.room.at_fault(f"{self.task}: {why}")

    def _slow_time_ns(self, frame: FrameType, now: int) -> None:
        self._put_time(frame, w.TIME_NS, now, now, now // 1000)

    def _slow_time(self, frame: FrameType, now: float) -> None:
        self._put_time(frame, w.TIME, now, int(now * w.TICKS), int(now * 1e6))

    def _put_time(self, frame: FrameType, kind: int, now: float, count: int, now_us: int) -> None:
        """`count`: the time in what words of its kind count in."""
        key = (frame.f_code, frame.f_lasti, kind)
        advances = w.ADVANCES if kind == w.TIME_NS else w.REAL_ADVANCES
        generation, before = self._generation, self._exact.get(key)
        # Another function calls from the same place of its code: it goes the quick way, and this one the second best.
        if before is not None and self._holds(kind, now) and self._store(count - before, generation, advances):
            return
        with self.lock:
            for _ in range(_TRIES):
                if self.adv >= len(advances):
                    self.flush_advance()
                self._make_room()
                site = self.site(frame).number
                if not self._holds(kind, now):
                    self._rebase_here(now_us)
                if site >= w.SITES_MOST or not self._holds(kind, now):
                    self.put_json(w.CALL, {"call": _CLOCKS[kind], "site": site, "value": now})
                    return
                self._exact[key] = before = self._learn(frame, kind, site)
                if self._store(count - before, self._generation, advances):
                    return
            self.lose("what was asked here could not be recorded")

    def _holds(self, kind: int, now: float) -> bool:
        """Whether a time has a word here; one in seconds as it is."""
        return self.low < now < self.high if kind == w.TIME_NS else self.low_s < now < self.high_s

    def _learn(self, frame: FrameType, kind: int, site: int) -> int:
        """What is subtracted from a time to have its word; from here on the site is quick."""
        if kind == w.TIME_NS:
            before = self.low - (kind << w.KIND_SHIFT | site << w.SITE_SHIFT)
            if not self.slow:
                self.times.setdefault(frame.f_lasti, (frame.f_code, before, before - w.ADVANCES[1]))
            return before
        base_s = self.low // 10**9
        if not self.slow:
            before_s = base_s - w.REAL_LEAST - site * w.REAL_SITE
            self.seconds.setdefault(frame.f_lasti, (frame.f_code, before_s, before_s - w.REAL_ADVANCES_S[1]))
        return base_s * w.TICKS - (w.REAL_BITS | site << w.REAL_SITE_SHIFT)

    def _store(self, word: int, generation: int, advances: tuple[int, ...] = w.ADVANCES) -> bool:
        """One word that is made for this segment and base; False where they are no longer, or full, or more records
        were taken than it can tell of."""
        try:
            pos = self.pos
            if self._generation != generation:
                return False
            self.view[pos] = word + advances[self.adv]
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
            self.lose("what was asked here could not be recorded")

    def _put_bytes(self, frame: FrameType, kind: int, data: bytes) -> None:
        self.put_long(kind, self.site(frame).number.to_bytes(4, "little") + data)

    # --- records ---

    def take(self, number: int, offset: int) -> None:
        """A record was taken from an input; one that follows the record before costs nothing in the segment. Every
        record comes by here: of one in order nothing is called, so that no other thread comes between."""
        adv, place = self.adv, self.next_offset
        if offset != place or number != self.input or adv == _ADVANCE_MOST:
            self._turn_to(number, whole(offset, "an offset"))
            adv, place = self.adv, self.next_offset
        self.next_offset = until = place + 1
        self.adv = adv + 1
        try:
            self.view[_PROGRESS] = until - self.lead
        except IndexError:
            self.no_room()

    def took_range(self, number: int, first: int, until: int) -> None:
        """What an entry told of already."""
        taken = self.taken + until - first
        self.input, self.next_offset, self.lead = number, until, until - taken
        try:
            self.view[w.H_PROGRESS] = taken
        except IndexError:
            self.no_room()

    def no_room(self) -> None:
        """A record was taken where there is no segment to say so in."""
        if not self.turn_over(1):
            self.drop()

    def _turn_to(self, number: int, offset: int) -> None:
        """What comes next is another input's record, or another one of this input; or there are too many for a word."""
        if self.adv >= _ADVANCE_MOST:
            self.flush_advance()
        if number == self.input and offset == self.next_offset:
            return
        if number < self._named_from:
            self._make_room()
            self.name(number)
        if number < w.SITES_MOST and 0 <= offset < w.LOW_BITS:
            self.put(w.TAKE << w.KIND_SHIFT | number << w.SITE_SHIFT | offset)
        else:
            self.put_json(w.INPUT, {"input": number, "offset": offset})
        self.input, self.next_offset, self.lead = number, offset, offset - self.taken

    def flush_advance(self) -> None:
        """The records since the last word, in a word of their own."""
        count = self.adv
        if count:
            self.adv = 0
            # Where there is no room for it, the next segment's first entry says how many there were.
            if not self._store(w.ADVANCE << w.KIND_SHIFT | count, self._generation):
                self.no_room()
