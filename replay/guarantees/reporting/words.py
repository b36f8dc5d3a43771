"""What the documents of an audit have in common: how a verdict counts, what stands over a section, and how much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from replay.errors import printable
from replay.guarantees.expecting import AT_LEAST, AT_MOST, EXACTLY, NEITHER, UNDECIDED

Told = Mapping[str, Any]
"""A report, a section, a claim or a lack as JSON."""
Link = Callable[[str], str | None]
"""The address of a piece of evidence; None where there is none."""

GOOD, BAD, OPEN, PLAIN = "good", "bad", "open", "plain"
GOOD_WORDS = frozenset((EXACTLY, "consistent", "covered", "deterministic", "holds", "rebuilt", "precise"))
BAD_WORDS = frozenset((
    AT_LEAST, AT_MOST, NEITHER, "inconsistent", "in flight", "orphans left", "diverged", "uncovered", "broken",
    "orphaned", "contradiction", "gap", "divergent", "convergent", "repeating", "rollback",
))  # fmt: skip
"""Verdicts of sections and claims that are good or bad by themselves; all others only say what is so."""

_SAID = {
    "listened": "operators listened to",
    "looked_at_bytes": "logs looked at",
    "most_bytes": "logs looked at up to",
}
"""Of the names of numbers those that say too little where they stand alone."""


def no_link(name: str) -> str | None:
    """For documents that stand alone."""
    return None


def standing(verdict: str, good: bool | None = None) -> str:
    """`good`, `bad`, `open` or none of these: what a section says of itself, else what its verdict says."""
    if good is not None:
        return GOOD if good else BAD
    if verdict in GOOD_WORDS:
        return GOOD
    if verdict in BAD_WORDS:
        return BAD
    return OPEN if verdict == UNDECIDED else PLAIN


def shown(words: object) -> str:
    """On one line, with nothing in it that is not to be seen."""
    line = " ".join(str(words).split())
    return printable(line, len(line))


def about(name: str) -> str:
    """`task map.0` of `task:map.0`."""
    kind, colon, rest = name.partition(":")
    return f"{kind} {rest}" if colon else name


def label(section: Told) -> str:
    """`Recovery time` of `recovery-time`."""
    return str(section["name"]).replace("-", " ").capitalize()


def question(section: Told) -> str:
    """What it asks, where its title says more than its name."""
    title = str(section["title"])
    return "" if title.lower() == label(section).lower() else title


def facts(report: Told) -> Iterator[tuple[str, str]]:
    """Of the recording, in words."""
    recording = report["recording"]
    yield "Job", str(recording["job"])
    yield "Recorded", f"{recording['recorded_at']} by {recording['recorder']}"
    yield "Protocol", str(recording["protocol"])
    yield "Tasks", f"{recording['tasks']:,}"
    yield "Complete", "yes" if recording["complete"] else "no: it was still being recorded, or its end is gone"
    if report["expected"] is not None:
        met = "met" if report["good"] else f"not met by {' and '.join(report['unmet'])}"
        yield "Expected", f"{report['expected']}: {met}"


def numbers(section: Told) -> Iterator[tuple[str, str]]:
    """Those that are one number or word."""
    for name, value in section["numbers"].items():
        if name == "job" or (name.endswith("left_out") and not value):
            continue  # the verdict, which is told already, and what there is not
        if isinstance(value, bool):
            yield _in_words(name), "yes" if value else "no"
        elif isinstance(value, int | float):
            yield quantity(name, value)
        elif isinstance(value, str):
            yield _in_words(name), value


def _in_words(name: str) -> str:
    return _SAID.get(name, name.replace("_", " "))


def quantity(name: str, value: float) -> tuple[str, str]:
    """The unit stands behind the number and no longer behind the name."""
    words, _, unit = name.replace("_", " ").rpartition(" ")
    words = _SAID.get(name, words)
    if unit == "us":
        return words, f"{value / 1000:,.1f} ms"
    if unit == "bytes" and words and not words.endswith(":"):
        return words, f"{value:,.0f} bytes"
    return f"{words} {unit}".strip(), f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"


def left_out(count: int, what: str) -> str:
    """Empty where nothing was."""
    return f"{count:,} more {what} {'is' if count == 1 else 'are'} not listed." if count else ""
