"""The five words of a verdict, and what several come to together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Verdict = Literal["exactly once", "at least once", "at most once", "neither", "undecided"]

EXACTLY_ONCE: Verdict = "exactly once"
AT_LEAST_ONCE: Verdict = "at least once"
AT_MOST_ONCE: Verdict = "at most once"
NEITHER: Verdict = "neither"
UNDECIDED: Verdict = "undecided"

_TWICE = (AT_LEAST_ONCE, NEITHER)
_LOST = (AT_MOST_ONCE, NEITHER)


def verdict_of(*, twice: bool, lost: bool, undecided: bool = False) -> Verdict:
    """What was proven comes first: a record that counts twice does so whatever else can't be said."""
    if twice or lost:
        return NEITHER if twice and lost else AT_LEAST_ONCE if twice else AT_MOST_ONCE
    return UNDECIDED if undecided else EXACTLY_ONCE


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Of a whole, by its parts; of no parts nothing can be said."""
    found = set(verdicts)
    return verdict_of(
        twice=not found.isdisjoint(_TWICE),
        lost=not found.isdisjoint(_LOST),
        undecided=UNDECIDED in found or not found,
    )
