"""What a replay comes to: its verdict, one sentence, and what a page or a command needs to say more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from replay.errors import printable

Verdict = Literal["identical", "diverged", "free", "unknown", "forked"]
VERDICTS: tuple[Verdict, ...] = ("identical", "diverged", "free", "unknown", "forked")


_LONGEST = 20_000
"""Characters of a sentence. What it quotes is a recording's: it is shown without control characters."""
_LONG_WORD = re.compile(r"\S{600,}")
_SHOWN_OF_WORD = 120


def _fit(sentence: str) -> str:
    """Fit to be shown. What is quoted may be a word of any length, of which the beginning tells enough."""
    return printable(_LONG_WORD.sub(lambda word: f"{word[0][:_SHOWN_OF_WORD]}…", sentence), _LONGEST)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`detail` is JSON-able. Diverged: `member`, `offset`, `asked`, `logged`, … of the first divergence."""

    verdict: Verdict
    sentence: str
    task: str
    attempt: int | None
    failure: int | None
    steps: int
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exit_status(self) -> int:
        """0 for a good verdict, 3 for one that is not."""
        return 3 if self.verdict in ("diverged", "unknown") else 0

    def to_json(self) -> dict[str, Any]:
        """As `replay --json` ends its output."""
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "task": self.task,
            "attempt": self.attempt,
            "failure": self.failure,
            "steps": self.steps,
            "detail": dict(self.detail),
        }


class DivergenceFound(Exception):
    """Two things of a recording, or a recording and its replay, disagree: a result, carried to where it is told.

    `execution`: what was executed when it was found, if anything was; it knows what was followed and how far it came.
    """

    def __init__(self, sentence: str, **detail: Any):
        self.sentence = _fit(sentence)
        super().__init__(self.sentence)
        self.detail = {key: value for key, value in detail.items() if value is not None}
        self.execution: Any = None


class Missing(Exception):
    """The recording lacks something, so that the rest can't be said: named, never guessed."""

    def __init__(self, sentence: str, **detail: Any):
        self.sentence = _fit(sentence)
        super().__init__(self.sentence)
        self.detail = {key: value for key, value in detail.items() if value is not None}


class Cancelled(Exception):
    """Whoever asked for the replay does not want it any more."""
