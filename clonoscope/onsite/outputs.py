"""What a replay gives, held against what the recording says was given: equal, another, or not to be told."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from clonoscope.calls import same
from clonoscope.json_values import to_json
from clonoscope.onsite.held import Held
from clonoscope.onsite.stopping import is_engines
from clonoscope.shapes import record_in
from clonoscope.sites import site_at
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.writing.words import counted
from replay.model import json_bytes

_SHOWN = 20_000
_TEXT_SHOWN = 200
_NOTHING = object()


@dataclass(slots=True)
class Outputs:
    """`given` counts over the attempt, `unverified` those that hold something redacted."""

    held: Held
    given: int = 0
    unverified: int = 0
    beyond: int = 0
    _epoch: int = 0
    _lines: Sequence[dict[str, Any]] = ()
    _at: int = 0

    def begin(self, epoch: int) -> None:
        """From here on what is given is that epoch's."""
        self._epoch, self._lines, self._at = epoch, self.held.outputs(epoch), 0

    def give(self, record: Any, id: str | None, record_place: str, frame: FrameType | None) -> bool:  # noqa: A002
        """Whether the recording has it; raises `DivergenceFound` where it has another."""
        at, self._at = self._at, self._at + 1
        self.given += 1
        if at >= len(self._lines):
            if self._epoch not in self.held.ended:
                self.beyond += 1
                return False
            raise self._differs(at, record_place, _made(record), _NOTHING, frame)
        line = self._lines[at]
        logged = record_in(line)
        found = verdict_of(logged, record)
        if found == "other" or (id is not None and "id" in line and line["id"] != id):
            raise self._differs(at, record_place, _made(record), logged, frame)
        if found == "redacted":
            self.unverified += 1
        return True

    def end(self) -> None:
        """Raises `DivergenceFound` where the recording has more of the epoch."""
        if self._at < len(self._lines):
            raise self._differs(self._at, "", _NOTHING, record_in(self._lines[self._at]), None)

    def _differs(self, at: int, of: str, made: Any, logged: Any, frame: FrameType | None) -> DivergenceFound:
        whose = f", for record {of}," if of else ""
        if made is _NOTHING:
            why = f"the replay gives {counted(at, 'output')}, the recording holds {counted(len(self._lines), 'output')}"
            sentence = f"Epoch {self._epoch}: {why}."
        elif logged is _NOTHING:
            sentence = f"Output {at} of epoch {self._epoch}{whose} is one that the recording does not hold."
        else:
            sentence = f"Output {at} of epoch {self._epoch}{whose} is another than the recording holds."
        return DivergenceFound(
            sentence,
            member=member_name(self.held.task, self.held.attempt, "sink", self._epoch),
            asked=None if made is _NOTHING else json_bytes(made).decode()[:_SHOWN],
            logged=None if logged is _NOTHING else json_bytes(logged).decode()[:_SHOWN],
            line=line_of(frame),
            record=of or None,
            output=at,
        )


def verdict_of(logged: Any, made: Any) -> str:
    """`same`, `other`, or `redacted` where only what is redacted keeps it from being the same."""
    try:
        return _held_against(logged, to_json(made))
    except (TypeError, ValueError, RecursionError):
        return "redacted" if _is_token(logged) else "other"


def _held_against(logged: Any, made: Any) -> str:
    if _is_token(logged):
        return "redacted"
    if isinstance(logged, dict) and isinstance(made, dict):
        if list(logged) != list(made):
            return "other"
        found = {_held_against(one, made[key]) for key, one in logged.items()}
    elif isinstance(logged, list) and isinstance(made, list):
        if len(logged) != len(made):
            return "other"
        found = {_held_against(one, other) for one, other in zip(logged, made, strict=True)}
    else:
        return "same" if same(logged, made) else "other"
    return "other" if "other" in found else "redacted" if "redacted" in found else "same"


def _is_token(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"redacted"}


def _made(record: Any) -> Any:
    try:
        return to_json(record)
    except (TypeError, ValueError, RecursionError):
        return f"{type(record).__qualname__}, which is not JSON"


def line_of(frame: FrameType | None) -> dict[str, Any] | None:
    """A line of the job, as an outcome's detail carries it."""
    if frame is None:
        return None
    site = site_at(frame)
    return {"file": site.file, "line": site.line, "function": site.function, "text": site.text}


def raised_at(fault: BaseException) -> dict[str, Any] | None:
    """The innermost line of the job's own of what was raised."""
    found, traceback = None, fault.__traceback__
    while traceback is not None:
        frame, line = traceback.tb_frame, traceback.tb_lineno
        if not is_engines(frame):
            code = frame.f_code
            text = linecache.getline(code.co_filename, line, frame.f_globals).strip()[:_TEXT_SHOWN]
            found = {"file": code.co_filename, "line": line, "function": code.co_qualname, "text": text}
        traceback = traceback.tb_next
    return found
