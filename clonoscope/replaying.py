"""Answers from a recording: what was asked gets what was logged; what was never asked is a divergence, by name."""

from __future__ import annotations

import asyncio
import base64
import binascii
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

from clonoscope import words as w
from clonoscope.calls import Call, fault_of
from clonoscope.errors import Diverged, EndOfRecording
from clonoscope.json_values import from_json
from clonoscope.segments import NO_REALS, NO_WORDS
from clonoscope.services import current, epoch_hooks
from clonoscope.sites import site_at
from replay.bundle.reader import Bundle
from replay.log.determinants import Determinant, Serializable, Take
from replay.model import MAIN
from replay.services.external import call_fields

# How often an awaited call lets others go first, without anybody getting on, until it is plain that nobody will.
_PATIENCE_TURNS = 1000


@dataclass(frozen=True, slots=True)
class LoggedGap:
    """Entries are missing before the one of this position of an epoch."""

    epoch: int
    position: int
    why: str


class Replay:
    """An attempt's answers. Stands where the attempt's log stood: `with replay.epoch(n)` in place of the task's."""

    def __init__(
        self,
        logs: Mapping[int, Sequence[Determinant]],
        *,
        partitions: Sequence[Any] = (),
        gaps: Sequence[LoggedGap] = (),
        places: Mapping[int, str] | None = None,
    ):
        """`places`: of the recording's sites, for what is said of what was logged."""
        self.view, self.reals = NO_WORDS, NO_REALS
        self.pos = self.adv = self.low = self.high = 0
        self.low_s = self.high_s = 0.0
        # Nothing is quick here, so that every question comes by.
        self.times = self.seconds = self.randoms = {}  # type: ignore[var-annotated]
        self.writes: Callable[[Call, FrameType], None] | None = None
        self.gaps = tuple(gaps)
        self._logs = {epoch: list(log) for epoch, log in logs.items()}
        self._partitions = [str(one) for one in partitions]
        self._places = dict(places or {})
        self._epoch = min(self._logs, default=0)
        self._at = 0
        self._taken_of_run = 0
        self._begun = 0

    @classmethod
    def of(cls, bundle: Bundle, task: str, attempt: int) -> Replay:
        """From a bundle. Raises `CorruptDeterminant` where its log can't be read."""
        logs: dict[int, list[Determinant]] = {}
        offsets: dict[int, list[int]] = {}
        for epoch in bundle.epochs(task, attempt, MAIN):
            found = list(bundle.determinants(task, attempt, MAIN, epoch))
            logs[epoch], offsets[epoch] = [one for _, _, one in found], [offset for offset, _, _ in found]
        gaps = []
        for event in bundle.events():
            if event["type"] == "gap" and (event.get("task"), event.get("attempt")) == (task, attempt):
                within, offset = event.get("epoch"), event.get("offset")
                if isinstance(within, int) and isinstance(offset, int):
                    position = sum(one < offset for one in offsets.get(within, ()))
                    gaps.append(LoggedGap(within, position, str(event.get("why"))))
        partitions = bundle.graph.task(task).partitions
        return cls(logs, partitions=partitions, gaps=gaps, places=_places(bundle, task, attempt))

    # --- epochs and records ---

    @contextmanager
    def epoch(self, number: int) -> Iterator[Replay]:
        """An epoch of the attempt, from its beginning; at its end nothing of its log may be left."""
        self._epoch, self._at, self._taken_of_run, self._begun = number, 0, 0, 0
        token = current.set(self)
        try:
            for began in list(epoch_hooks):
                began(self)
            yield self
        finally:
            current.reset(token)
        if self._ahead() is not None:
            self._refuse("nothing more", f"the end of epoch {number}")

    def take(self, offset: int, *, topic: str = "", partition: int = 0) -> None:
        """A record is taken: it must be the one that was taken here."""
        ahead, asked = self._ahead(), f"record {offset} of {topic}[{partition}]"
        if ahead is None and not self._gaps_before():
            raise EndOfRecording(asked, "the input", self._epoch, self._at)
        if not isinstance(ahead, Take) or ahead.first_offset + self._taken_of_run != offset:
            self._refuse(asked, "the input")
        name = f"{topic}[{partition}]" if topic else str(partition)
        if ahead.channel >= len(self._partitions) or self._partitions[ahead.channel] != name:
            self._refuse(asked, "the input")
        self._taken_of_run += 1
        if self._taken_of_run == ahead.records:
            self._at, self._taken_of_run = self._at + 1, 0

    @property
    def used_up(self) -> bool:
        """Whether nothing is left of the epoch that is replayed."""
        return self._ahead() is None

    # --- answers ---

    def slow_time_ns(self, frame: FrameType, now: int) -> int:
        """The logged time."""
        given: int = self._typed("time_ns", frame, int)
        return given

    def slow_time(self, frame: FrameType, now: float) -> float:
        """The logged time in seconds."""
        given: float = self._typed("time", frame, float)
        return given

    def slow_random(self, frame: FrameType, steps: int) -> float:
        """The logged number."""
        given: float = self._typed("random", frame, float)
        return given

    def give_bytes(self, frame: FrameType, kind: int, count: int) -> bytes:
        """The logged bytes."""
        if kind == w.UUID:
            text = self._typed("uuid4", frame, str)
            try:
                return uuid.UUID(text).bytes
            except ValueError:
                self._back("uuid4()", frame)
        given = self._typed("urandom", frame, dict)
        try:
            data = base64.b64decode(given["b64"], validate=True)
        except (KeyError, TypeError, binascii.Error):
            self._back("urandom()", frame, "redacted" if set(given) == {"redacted"} else "")
        if len(data) != count:
            self._back(f"urandom({count})", frame)
        return data

    def answer(self, frame: FrameType, name: str, value: Any) -> Any:
        """The logged one, of the same type."""
        return self._typed(name, frame, type(value))

    def call(self, frame: FrameType, call: Call) -> Any:
        """The logged answer; nothing is called."""
        return self._answer(call, self._next_call(call, frame), frame)

    async def call_async(self, frame: FrameType, call: Call) -> Any:
        """The logged answer, as soon as it is due: overlapping calls end in the order in which they ended."""
        begun, self._begun = self._begun, self._begun + 1
        turns, at = 0, self._at
        while not self._is_due(begun):
            turns, at = (turns + 1, at) if at == self._at else (0, self._at)
            if turns > _PATIENCE_TURNS:
                break
            await asyncio.sleep(0)
        return self._answer(call, self._next_call(call, frame, begun), frame)

    def _is_due(self, begun: int) -> bool:
        ahead = self._ahead()
        fields = call_fields(ahead) if isinstance(ahead, Serializable) else None
        return fields is not None and fields.get("begun") == begun

    def _next_call(self, call: Call, frame: FrameType, begun: int | None = None) -> dict[str, Any]:
        asked = f"the external call {call.name!r} with effect {call.effect}"
        fields = self._next("external", asked, frame)
        if (fields.get("name"), fields.get("effect"), fields.get("begun")) != (call.name, call.effect, begun):
            self._back(asked, frame)
        return fields

    def _answer(self, call: Call, fields: dict[str, Any], frame: FrameType) -> Any:
        raised = fields.get("raised")
        if raised is not None:
            if not isinstance(raised, dict) or not isinstance(raised.get("message"), str):
                self._back(f"what {call.name!r} raised", frame)
            raise fault_of(raised, call.raises)
        value = fields.get("value")
        if isinstance(value, dict) and set(value) == {"redacted"}:
            self._back(f"the answer of {call.name!r}, which is redacted", frame, "redacted")
        value = from_json(value)
        return value if call.decode is None else call.decode(value)

    def _typed(self, name: str, frame: FrameType, kind: type) -> Any:
        fields = self._next(name, f"{name}()", frame)
        value = fields.get("value")
        if type(value) is not kind:
            self._back(f"{name}()", frame, "redacted" if isinstance(value, dict) and set(value) == {"redacted"} else "")
        return value

    # --- the log ---

    def _ahead(self) -> Determinant | None:
        log = self._logs.get(self._epoch, ())
        return log[self._at] if self._at < len(log) else None

    def _next(self, name: str, asked: str, frame: FrameType) -> dict[str, Any]:
        place = site_at(frame).place
        ahead = self._ahead()
        if ahead is None and not self._gaps_before():
            raise EndOfRecording(asked, place, self._epoch, self._at)
        fields = call_fields(ahead) if isinstance(ahead, Serializable) else None
        if fields is None or fields.get("call") != name:
            self._refuse(asked, place)
        self._at += 1
        return fields

    def _back(self, asked: str, frame: FrameType, lacking: str = "") -> NoReturn:
        """The entry that was just taken is no answer."""
        self._at -= 1
        self._refuse(asked, site_at(frame).place, lacking)

    def _refuse(self, asked: str, place: str, lacking: str = "") -> NoReturn:
        lacking = lacking or ("gap" if self._gaps_before() else "")
        raise Diverged(asked, self._logged(), place, self._epoch, self._at, lacking)

    def _logged(self) -> str:
        """What stands here, in words."""
        ahead = self._ahead()
        fields = call_fields(ahead) if isinstance(ahead, Serializable) else None
        if ahead is None:
            found = "nothing more of this epoch"
        elif isinstance(ahead, Take):
            found = f"record {ahead.first_offset + self._taken_of_run} of input {ahead.channel}"
        elif fields is None:
            found = f"a {ahead.kind} determinant"
        else:
            site = fields.get("site")
            where = self._places.get(site, f"site {site}") if isinstance(site, int) else "no site"
            named = f" {fields['name']!r}" if "name" in fields else ""
            found = f"{fields.get('call')}{named} from {where}"
        gaps = self._gaps_before()
        return f"{found}; but here is a gap: {gaps[-1].why}" if gaps else found

    def _gaps_before(self) -> list[LoggedGap]:
        return [one for one in self.gaps if one.epoch == self._epoch and one.position <= self._at]


def _places(bundle: Bundle, task: str, attempt: int) -> dict[int, str]:
    name = f"tasks/{task}/{attempt}/sites.ndjson"
    if name not in bundle.members:
        return {}
    from replay.bundle.lines import read_lines

    with bundle.members.open(name) as stream:
        lines = [line for _, line in read_lines(stream, name)]
    return {one["site"]: f"{one.get('file')}:{one.get('line')}" for one in lines if type(one.get("site")) is int}
