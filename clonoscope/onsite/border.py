"""What passed between an engine and the job's function, line by line as the recording tells it: replays go along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

from clonoscope.calls import Call
from clonoscope.errors import EndOfRecording
from clonoscope.onsite.held import Held
from clonoscope.onsite.outputs import line_of
from clonoscope.sites import site_at
from replay.debugger.outcome import DivergenceFound, Missing
from replay.model import json_bytes

_BESIDE = ("begin", "shape", "mixed")
_SHOWN = 20_000
_WORDS = {
    "call": "another call of it",
    "pull": "that it asks for more rows",
    "give": "that it gives something",
    "over": "that it has nothing more",
    "left": "that nobody asks it for more",
    "opened": "that it is opened",
}


class Halted(BaseException):
    """The replay can't be led any further. No `Exception`, as the job might catch that and go on."""

    def __init__(self, found: DivergenceFound | Missing):
        super().__init__(found.sentence)
        self.found = found


class Told(Protocol):
    """Who is told of what is found on the way."""

    def result(self, shown: Any, *, is_held: bool) -> None:
        """Something that the function gave."""

    def differs(self, found: DivergenceFound, frame: FrameType | None) -> None:
        """It gave something else; nothing is raised into the job's frames."""

    def ends(self, found: EndOfRecording) -> None:
        """The recording has no more."""

    @property
    def record_place(self) -> str:
        """Where the record in hand was taken."""

    @property
    def outputs_given(self) -> int:
        """How many outputs it gave."""


@dataclass(slots=True)
class Border:
    """`compared`: results, and what engine's objects were told, that were held against the recording. `beyond` are
    behind its end, and of `unverified` ones it can't be told whether they are the same. `written`: the same of what was
    handed to the outside, and `unsaid`: where not all of that could be held against it. `untold`: what the function
    does that nothing is recorded of. `heard`: who looks at what is handed out."""

    held: Held
    told: Told
    compared: int = 0
    unverified: int = 0
    beyond: int = 0
    written: int = 0
    unsaid: int = 0
    untold: str = ""
    heard: Callable[[Call, FrameType], None] | None = None
    has_parted: bool = False
    shape: Any = None
    whole: bool = False
    tells_of_writes: bool = False
    _epoch: int = 0
    _given: int = 0
    _at: int = 0
    _lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def began(self) -> dict[str, Any] | None:
        """How the function is called, and by which engine, as the first epoch that has lines says."""
        found = (line for epoch in self.held.epochs for line in self.held.lines("border", epoch))
        return next((line for line in found if line.get("is") == "begin"), None)

    def begin(self, epoch: int) -> None:
        """From here on it is about that epoch."""
        lines = self.held.lines("border", epoch)
        self._epoch, self._given, self._at = epoch, 0, 0
        self._lines = [line for line in lines if line.get("is") not in _BESIDE]
        self.shape = next((line.get("of") for line in reversed(lines) if line.get("is") == "shape"), None)
        self.whole = any(line.get("whole") is True for line in lines)
        self.tells_of_writes = any(line.get("writes") is True for line in lines)
        mixed = next((line.get("why") for line in lines if line.get("is") == "mixed"), None)
        if mixed is not None:
            why = f"What passed to the function and back in epoch {epoch} can't be told apart: {mixed}."
            raise Halted(Missing(why, epoch=epoch))

    def wrote(self, call: Call, frame: FrameType) -> None:
        """The function hands something to the outside."""
        if self.heard is not None and self.tells_of_writes and not self.has_parted:
            self.heard(call, frame)

    # --- what comes next ---

    @property
    def ahead(self) -> dict[str, Any] | None:
        """The next line."""
        return self._lines[self._at] if self._at < len(self._lines) else None

    @property
    def is_over(self) -> bool:
        """Whether the epoch's end is recorded, and so all of its lines are there."""
        return self._epoch in self.held.ended

    def next(self, kind: str, does: str, frame: FrameType | None) -> dict[str, Any]:
        """The next line, which must be of that kind. `does`: what the replay does here."""
        line = self.ahead
        if line is None and not self.is_over:
            place = "the function" if frame is None else site_at(frame).place
            found = EndOfRecording(does, place, self._epoch, self._at)
            self.told.ends(found)
            raise found
        if line is None or line.get("is") != kind:
            raise self.other(does, None, frame)
        self._at += 1
        return line

    def other(
        self,
        does: str,
        asked: Any,
        frame: FrameType | None,
        line: dict[str, Any] | None = None,
        place: dict[str, Any] | None = None,
    ) -> Halted:
        """The recording holds something else. `place`: the job's line, where no frame is at work there."""
        line = self.ahead if line is None else line
        holds = "nothing more" if line is None else _said(line)
        of = f" at record {self.told.record_place}" if self.told.record_place else ""
        found = DivergenceFound(
            f"Epoch {self._epoch}: the function {does}{of}, and the recording holds {holds}.",
            **self._where(place or line_of(frame)),
            asked=does if asked is None else _shown(asked),
            logged=holds if line is None or "with" not in line else _shown(line["with"].get("value", holds)),
        )
        self.has_parted = True
        return Halted(found)

    def lacks(self, why: str) -> Halted:
        """What is needed is not there."""
        of = f" of record {self.told.record_place}" if self.told.record_place else ""
        return Halted(Missing(f"Epoch {self._epoch}{of}: {why}.", epoch=self._epoch))

    # --- what the function gave ---

    def given(
        self,
        known: str | None,
        shown: Callable[[], Any],
        line: dict[str, Any] | None,
        frame: FrameType | None = None,
        *,
        counts: bool = True,
    ) -> None:
        """`known`: its hash, None where it has none; `line`: where in the job it was given. Nothing at all does not
        count as compared, where it is the same: functions that are called for what they do return that."""
        if self.has_parted:
            return
        number, held = self._given, self.ahead
        self._given += 1
        if held is None and not self.is_over:
            self.beyond += 1
            self.told.result(shown(), is_held=False)
            return
        if held is None or held.get("is") != "give":
            holds = "has nothing more" if held is None else f"holds {_said(held)} there"
            why = f"is one that the recording does not hold: it {holds}"
        elif "known" in held and held["known"] != known:
            why = "is another than the recording holds"
        else:
            self._at += 1
            self.compared += counts and "known" in held
            self.unverified += "known" not in held
            self.told.result(shown(), is_held=True)
            return
        of = f", for record {self.told.record_place}," if self.told.record_place else ""
        logged = None if held is None or "value" not in held else _shown(held["value"])
        self.has_parted = True
        found = DivergenceFound(
            f"Result {number} of epoch {self._epoch}{of} {why}.",
            **self._where(line),
            asked=_shown(shown()),
            logged=logged,
        )
        self.told.differs(found, frame)

    def end(self) -> None:
        """Raises `DivergenceFound` where the recording has more of the epoch."""
        if self.ahead is not None and not self.has_parted:
            raise DivergenceFound(
                f"Epoch {self._epoch}: the function is done, and the recording holds {_said(self.ahead)}.",
                **self._where(None),
            )

    def _where(self, line: dict[str, Any] | None) -> dict[str, Any]:
        member = f"tasks/{self.held.task}/{self.held.attempt}/border/{self._epoch}.ndjson"
        return {"member": member, "line": line, "record": self.told.record_place or None}


def _said(line: dict[str, Any]) -> str:
    kind = str(line.get("is"))
    if kind in ("ask", "write"):
        return f"that it {'asks' if kind == 'ask' else 'hands something to'} {line.get('what')}"
    return _WORDS.get(kind, f"a line {kind!r}")


def _shown(value: Any) -> str:
    try:
        return json_bytes(value).decode()[:_SHOWN]
    except (TypeError, ValueError, RecursionError):
        return repr(value)[:_SHOWN]
