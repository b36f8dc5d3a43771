"""What somebody expects of a job, as the words of `--expect` say it, and whether verdicts meet it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from replay.errors import WrongSetting

PROCESSING, DELIVERY = "processing", "delivery"
QUESTIONS = (PROCESSING, DELIVERY)
OUTSIDE = "outside"
"""The section beside those that are always asked, for which somebody must say where the outside is."""
EXACTLY, AT_LEAST, AT_MOST = "exactly once", "at least once", "at most once"
NEITHER, UNDECIDED = "neither", "undecided"
RECOVERY, PRECISE = "recovery-types", "precise"
MET_BY = {
    "exactly-once": (EXACTLY,),
    "at-least-once": (EXACTLY, AT_LEAST),
    "at-most-once": (EXACTLY, AT_MOST),
}
"""By word, the verdicts that meet it: a stronger guarantee meets a weaker one, and what is undecided meets none."""
WORDS = (*MET_BY, PRECISE)
_MET_BY = {**MET_BY, PRECISE: (PRECISE, "nothing failed")}


@dataclass(frozen=True, slots=True)
class Expectation:
    """By question, the word that its verdict has to meet."""

    words: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        if dict(self.words) == _PRECISELY:
            return PRECISE
        if len(self.words) == len(QUESTIONS) and len({word for _, word in self.words}) == 1:
            return self.words[0][1]
        return ",".join(f"{question}={word}" for question, word in self.words)

    def unmet(self, verdicts: Mapping[str, str | None]) -> list[str]:
        """The questions whose verdict does not meet it."""
        return [question for question, word in self.words if verdicts.get(question) not in _MET_BY[word]]


_PRECISELY = {**dict.fromkeys(QUESTIONS, "exactly-once"), RECOVERY: PRECISE}
"""That nobody can tell that anything failed: all exactly once, and every recovery precise."""


def expectation(text: str) -> Expectation:
    """`exactly-once` of both questions, `delivery=at-least-once` of one, several joined by commas; or `precise`."""
    if text.strip() == PRECISE:
        return Expectation(tuple(_PRECISELY.items()))
    found: dict[str, str] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        question, equals, word = part.partition("=")
        asked = (question,) if equals else QUESTIONS
        if not equals:
            word = question
        if word not in MET_BY or not set(asked) <= set(QUESTIONS) or found.keys() & set(asked):
            raise _wrong(part)
        found |= dict.fromkeys(asked, word)
    if not found:
        raise _wrong(text)
    return Expectation(tuple((question, found[question]) for question in QUESTIONS if question in found))


def _wrong(part: str) -> WrongSetting:
    return WrongSetting(
        f"“{part}” is no guarantee that can be expected, or is expected twice",
        remedy=f"Expect one of {', '.join(WORDS)}, of one question by {PROCESSING}= or {DELIVERY}= before it",
    )
