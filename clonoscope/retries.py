"""A log that answers as the attempt before was answered, up to where that one got; from there on it lives.

What is taken is appended again, so that this log is whole as well. Nothing here ever fails the job: where the two
attempts part, it says so, and lives.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from clonoscope import words as w
from clonoscope.before import Answer, Before, Place, attempts_below, find, furthest, reached_of
from clonoscope.calls import Call, encoded_of, fault_of, raised_of, record_fault, record_value, same, type_of
from clonoscope.errors import message_of
from clonoscope.json_values import from_json
from clonoscope.reading import RETRY_BEGAN, RETRY_ENDED, processes_of
from clonoscope.room import Room
from clonoscope.sites import site_at
from clonoscope.task_log import TaskLog
from replay.errors import ReplayError

_HASH_BYTES = 8
# How long an awaited call waits for those that ended before it, while nobody gets on.
_PATIENCE_S = 2.0
_PAUSE_S = 0.001
_TURNS_AT_ONCE = 100
# What damage on the disk can make of reading it.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, ReplayError)
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Others:
    """Where the attempts of a task lie, those of them that must not be let go, and how a record is known again."""

    above: Path
    pinned: set[Path]
    digest: Callable[[bytes, int], bytes]


class RetriedLog(TaskLog):
    """As `TaskLog`. While it takes, no question is quick, so that all of them come by here."""

    __slots__ = ("_attempts", "_before", "_differing", "_others", "_reached", "_taken")

    def __init__(self, room: Room, task: str, fixed: Mapping[str, Any], others: Others, *, handed_on: bool = False):
        """`others` are the task's attempts before."""
        super().__init__(room, task, fixed, handed_on=handed_on)
        self._others = others
        self._attempts: list[int] = []
        self._reached: int | None = None
        self._before: Before | None = None
        self._taken = self._differing = 0

    # --- epochs ---

    def _meta(self) -> bytes:
        """Says how far the attempts before got, so that the next one needs to look at this one only."""
        self._look()
        self.fixed["reached"] = self._reached
        return super()._meta()

    def _look(self) -> None:
        if self._reached is None:
            self._attempts, self._reached = attempts_below(self._others.above, self.attempt), -1
            try:
                said = reached_of(self.folder) if self.folder is not None and self.segments else None
                self._reached = furthest(self._others.above, self._attempts) if said is None else said
            except _UNREADABLE as fault:
                self._unreadable(fault)

    def begin_taking(self, epoch: int) -> None:
        """The epoch began: looks for an attempt that was in it before."""
        self._look()
        if self._reached is None or epoch > self._reached:
            return
        try:
            found = find(self._others.above, self._attempts, epoch)
            if found is None:
                return
            self._before = Before(found, epoch)
        except _UNREADABLE as fault:
            self._unreadable(fault)
            return
        self._others.pinned.add(self._before.folder)
        self._taken = self._differing = 0
        self.slow = True
        self.times, self.seconds, self.randoms = {}, {}, {}
        self._tell(RETRY_BEGAN, **({"alive": True} if self._is_alive(self._before.process) else {}))

    def _is_alive(self, process: str) -> bool:
        """Whether another process is still at that attempt: what it is given from here on, nobody takes."""
        if process == self.room.process:
            return False
        return any(one.token == process and one.alive for one in processes_of(self._others.above.parent.parent))

    def end_taking(self) -> None:
        """The epoch ended."""
        with self.lock:
            before = self._before
            if before is None:
                return
            left = self._guarded_read(before.left, 0)
            if left:
                self._live("differs", f"the epoch ended where attempt {before.attempt} asked for {left} more answers")
            else:
                self._live(before.how, before.stop)

    def _live(self, how: str, why: str) -> None:
        """Said before anything is asked for anew: who reads this log must know that it is no copy from here on."""
        before = self._before
        if before is None:
            return
        compared = {"records": before.records, "hashed": before.hashed, "differing": self._differing}
        self._tell(RETRY_ENDED, how=how, why=why, **compared)
        self._drop_before()

    def _drop_before(self) -> None:
        if self._before is not None:
            self._others.pinned.discard(self._before.folder)
            self._before = None
        # What was found out about places while nothing was quick would keep them from being so.
        self.slow, self._exact = False, {}

    def _tell(self, kind: str, **fields: Any) -> None:
        before = self._before
        if before is not None:
            named = {"task": self.task, "attempt": self.attempt, "epoch": self.epoch, "before": before.attempt}
            fields = {"type": kind, "at_us": time.time_ns() // 1000, **named, "answers": self._taken, **fields}
            self._guarded(self.put_json, w.EVENT, fields)

    def _unreadable(self, fault: BaseException) -> None:
        self.room.at_fault(f"{self.task}: the attempts before can't be read: {type(fault).__qualname__}")

    def _guarded_read(self, read: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return read()
        except _UNREADABLE as fault:
            self._unreadable(fault)
            self._live("gap", f"the attempt before can't be read on: {type(fault).__qualname__}")
            return otherwise

    def close(self, how: Mapping[str, Any]) -> None:
        """Ends the attempt. One that only took until now says nothing: the next one takes the same."""
        self._drop_before()
        super().close(how)

    def forget(self) -> None:
        """In a child that was forked: it lives."""
        super().forget()
        self._before, self._reached, self._attempts = None, None, []
        self.slow = False

    # --- records and outputs ---

    def took(self, place: Place, first: int, until: int, *, data: bytes | None = None, sha256: str = "") -> None:
        """Told before they are counted: records are taken. `data` is a record; its hash is kept, to be compared."""
        digest = None
        if data is not None:
            digest = self._others.digest(data, _HASH_BYTES)
            self.put_long(w.SEEN, digest)
        if self._before is not None:
            with self.lock:
                before = self._before
                if before is not None:
                    why = self._guarded_read(lambda: before.took(place, first, until, data=digest, sha256=sha256), "")
                    if why:
                        self._live("differs", why)

    def gave(self, fields: dict[str, Any]) -> None:
        """An output: one that is another than before shows that something decides that nobody records."""
        with self.lock:
            before = self._before
            if before is not None and not self._guarded_read(lambda: before.gave(fields), True):
                self._differing += 1

    # --- answers ---

    def slow_time_ns(self, frame: FrameType, now: int) -> int:
        """The time that was given, or the time."""
        given = self._given("time_ns", frame, int)
        return super().slow_time_ns(frame, now if given is _NOTHING else given)

    def slow_time(self, frame: FrameType, now: float) -> float:
        """The same in seconds."""
        given = self._given("time", frame, float)
        return super().slow_time(frame, now if given is _NOTHING else given)

    def slow_random(self, frame: FrameType, steps: int) -> float:
        """The number that was given, or one."""
        given = self._given("random", frame, float)
        return super().slow_random(frame, steps if given is _NOTHING else int(given * w.RANDOM_STEPS))

    def give_bytes(self, frame: FrameType, kind: int, count: int) -> bytes:
        """The bytes that were given, or new ones."""
        name = "uuid4" if kind == w.UUID else "urandom"
        given = self._given(name, frame, str if kind == w.UUID else dict, lambda one: _bytes_of(one, count))
        if given is _NOTHING:
            return super().give_bytes(frame, kind, count)
        data: bytes = given
        self._guarded(self._put_bytes, frame, kind, data)
        return data

    def answer(self, frame: FrameType, name: str, value: Any) -> Any:
        """What it was, of another clock or source of chance."""
        given = self._given(name, frame, type(value))
        return super().answer(frame, name, value if given is _NOTHING else given)

    def _given(self, name: str, frame: FrameType, kind: type, made: Callable[[Any], Any] = lambda one: one) -> Any:
        if self._before is None:
            return _NOTHING
        with self.lock:
            ahead = self._ahead(name, frame)
            if ahead is None:
                return _NOTHING
            value = ahead.fields.get("value")
            given = made(value) if type(value) is kind else None
            if given is None:
                self._live("differs", f"{name} gave a value of another kind")
                return _NOTHING
            self._took_answer()
            return given

    def _ahead(self, service: str, frame: FrameType, **of_call: Any) -> Answer | None:
        """The answer to this question; None, from where on this log lives."""
        before = self._before
        if before is None:
            return None
        ahead: Answer | None = self._guarded_read(before.ahead, None)
        if ahead is None:
            self._live(before.how, before.stop)
            return None
        asked, where = {"call": service, **of_call}, _place(self.room.source(site_at(frame).to_json()))
        logged = {key: ahead.fields.get(key) for key in asked}
        if asked != logged or where != _place(ahead.site):
            logged = {**ahead.fields, **logged}
            there = f"{_words(logged)} at {ahead.site.get('file')}:{ahead.site.get('line')}"
            here = f"{_words(asked)} at {frame.f_code.co_filename}:{frame.f_lineno}"
            self._live("differs", f"{here} was asked for where attempt {before.attempt} asked for {there}")
        elif ahead.records != before.records:
            at = f"at record {before.records} of the epoch, and in attempt {before.attempt} at {ahead.records}"
            self._live("differs", f"{_words(asked)} was asked for {at}")
        else:
            return ahead
        return None

    def _took_answer(self) -> None:
        self._taken += 1
        if self._before is not None:
            self._before.taken()

    # --- calls ---

    def call(self, frame: FrameType, call: Call) -> Any:
        """The answer that was given, or the call."""
        ahead = self._ahead_of(frame, call, None)
        if ahead is None:
            return super().call(frame, call)
        given, fault = _given_back(ahead.fields, call)
        if fault is None and (given is _NOTHING or call.effect == "write"):
            try:
                made = call.make()
            except BaseException as raised:
                self._raised_again(frame, call, ahead, raised)
                raise
            return self._made_again(frame, call, ahead, made, given)
        self._repeat(frame, ahead)
        if fault is not None:
            raise fault
        return given

    async def awaited(self, frame: FrameType, call: Call, begun: int) -> Any:
        """The answer that was given, when it was its turn, or the call."""
        await self._turn_of(begun)
        ahead = self._ahead_of(frame, call, begun)
        if ahead is None:
            return await super().awaited(frame, call, begun)
        given, fault = _given_back(ahead.fields, call)
        if fault is None and (given is _NOTHING or call.effect == "write"):
            try:
                made = await call.awaited()
            except BaseException as raised:
                self._raised_again(frame, call, ahead, raised)
                raise
            return self._made_again(frame, call, ahead, made, given)
        self._repeat(frame, ahead)
        if fault is not None:
            raise fault
        return given

    async def _turn_of(self, begun: int) -> None:
        """Waits for those that ended before: but not for ever, as code that was changed may wait for each other."""
        turns, taken, since = 0, self._taken, time.monotonic()
        while (before := self._before) is not None:
            ahead: Answer | None = self._guarded_read(before.ahead, None)
            if ahead is None or ahead.fields.get("begun") == begun:
                return
            if self._taken != taken:
                turns, taken, since = 0, self._taken, time.monotonic()
            elif time.monotonic() - since > _PATIENCE_S:
                return
            await asyncio.sleep(0 if turns < _TURNS_AT_ONCE else _PAUSE_S)
            turns += 1

    def _ahead_of(self, frame: FrameType, call: Call, begun: int | None) -> Answer | None:
        if self._before is None:
            return None
        with self.lock:
            return self._ahead("external", frame, name=call.name, effect=call.effect, begun=begun)

    def _repeat(self, frame: FrameType, ahead: Answer) -> None:
        """What was logged is logged here as well."""
        with self.lock:
            self._guarded(lambda: self.put_json(w.CALL, {**ahead.fields, "site": self.site(frame).number}))
            self._took_answer()

    def _made_again(self, frame: FrameType, call: Call, ahead: Answer, made: Any, given: Any) -> Any:
        """What the log can't give back was asked for again, and writes were made again, as nobody knows whether they
        outlived the failure."""
        with self.lock:
            if given is not _NOTHING:
                self._repeat(frame, ahead)
                return given
            if self._reads_the_same(call, ahead, made):
                self._repeat(frame, ahead)
            else:
                self._live("not-given-back", f"{call.name}, whose answer a log can't give back, gave another one")
                self._guarded(record_value, self, call, frame, made, ahead.fields.get("begun"))
            return made

    def _reads_the_same(self, call: Call, ahead: Answer, made: Any) -> bool:
        try:
            return "value" in ahead.fields and same(self.room.kept(encoded_of(call, made)[0]), ahead.fields["value"])
        except (TypeError, ValueError, RecursionError):
            return False

    def _raised_again(self, frame: FrameType, call: Call, ahead: Answer, fault: BaseException) -> None:
        with self.lock:
            if raised_of(self, fault) == ahead.fields.get("raised"):
                self._repeat(frame, ahead)
            else:
                self._live("not-given-back", f"{call.name} was asked again, and raised {type_of(fault)}")
                self._guarded(record_fault, self, call, frame, fault, ahead.fields.get("begun"))


def _given_back(fields: dict[str, Any], call: Call) -> tuple[Any, Exception | None]:
    """The value, or the exception, exactly as it was; neither, where a log can't tell."""
    raised = fields.get("raised")
    try:
        if isinstance(raised, dict):
            fault = fault_of(raised, call.raises)
            exact = type_of(fault) == raised["type"] and message_of(fault) == raised["message"]
            return _NOTHING, fault if exact else None
        if "value" not in fields or fields.get("approximate") or _has_token(fields["value"]):
            return _NOTHING, None
        value = from_json(fields["value"])
        return (value if call.decode is None else call.decode(value)), None
    except Exception:  # a decode of the job's own, that can't read what its encode wrote before
        return _NOTHING, None


def _has_token(value: Any) -> bool:
    if isinstance(value, dict):
        return set(value) == {"redacted"} or any(map(_has_token, value.values()))
    return isinstance(value, list) and any(map(_has_token, value))


def _bytes_of(value: Any, count: int) -> bytes | None:
    """Of a UUID as it is written, or of bytes."""
    try:
        data = uuid.UUID(value).bytes if isinstance(value, str) else base64.b64decode(value["b64"], validate=True)
    except (ValueError, KeyError, TypeError, binascii.Error):
        return None
    return data if len(data) == count else None


def _place(site: Mapping[str, Any]) -> tuple[str, str, str]:
    """Of a site, what stays when lines are moved, or files."""
    file = str(site.get("file", "")).replace("\\", "/").rpartition("/")[2]
    return file, str(site.get("function", "")), str(site.get("text", ""))


def _words(asked: Mapping[str, Any]) -> str:
    if asked.get("call") != "external":
        return f"{asked.get('call')}"
    begun = "" if asked.get("begun") is None else f", call {asked['begun']} of those that overlap"
    return f"the external call {asked.get('name')!r} ({asked.get('effect')}{begun})"
