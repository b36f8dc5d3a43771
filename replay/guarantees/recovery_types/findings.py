"""What was found of one place where a recovery shows: a channel, the outside, or what the task takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Found = Literal["masked", "repeated", "differs", "lost", "incomplete", "superseded", "open"]
WORST_FIRST: tuple[Found, ...] = ("lost", "differs", "repeated", "open", "incomplete", "superseded", "masked")
"""`masked`: nobody can tell that anything failed. `open`: something is missing that would tell; `incomplete`: the
attempt ended before it had done all again; `superseded`: so it did, and another attempt came after it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`sentence` says what, in the past tense; `count`: how many records."""

    found: Found
    sentence: str = ""
    evidence: tuple[str, ...] = ()
    wants: str = ""
    count: int = 0


MASKED = Finding("masked")
