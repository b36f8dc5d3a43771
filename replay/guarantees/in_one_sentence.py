"""The verdict of a whole audit in one sentence: of processing and delivery, with one counterexample."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from replay.guarantees.claims import Section
from replay.guarantees.expecting import (
    AT_LEAST,
    AT_MOST,
    DELIVERY,
    EXACTLY,
    NEITHER,
    OUTSIDE,
    PROCESSING,
    QUESTIONS,
    UNDECIDED,
)

_LONGEST_EXAMPLE = 160
SAID = {
    PROCESSING: {
        EXACTLY: "every record was processed exactly once",
        AT_LEAST: "records were processed more than once",
        AT_MOST: "records were lost before they were processed",
        NEITHER: "records were processed more than once, and others were lost",
        UNDECIDED: "whether every record was processed once can't be told from this recording",
    },
    DELIVERY: {
        EXACTLY: "every output was given to the outside exactly once",
        AT_LEAST: "outputs were given to the outside more than once",
        AT_MOST: "outputs never reached the outside",
        NEITHER: "outputs were given to the outside more than once, and others never reached it",
        UNDECIDED: "whether every output was given to the outside once can't be told from this recording",
    },
}
_NOTHING = (
    "Undecided: whether every record was processed once, and every output given to the outside once, "
    "can't be told from this recording."
)
_SILENT = "whether every output was given to the outside once can't be told from what was read outside"
_TWICE, _LOST = (AT_LEAST, NEITHER), (AT_MOST, NEITHER)


def together(verdicts: Iterable[str | None]) -> str:
    """What several verdicts come to: what was proven bad of one is bad of all; empty where nothing was asked."""
    found = [one for one in verdicts if one is not None]
    twice, lost = any(one in _TWICE for one in found), any(one in _LOST for one in found)
    if twice or lost:
        return NEITHER if twice and lost else AT_LEAST if twice else AT_MOST
    if not found:
        return ""
    return EXACTLY if all(one == EXACTLY for one in found) else UNDECIDED


def verdict_sentence(verdicts: Mapping[str, str | None], sections: Sequence[Section] = ()) -> str:
    """Delivery first, for it is what the outside sees. With the sections it may quote what a recording says; without
    them it says the verdicts alone."""
    asked = [question for question in reversed(QUESTIONS) if verdicts.get(question) is not None]
    if not asked:
        return sections[0].sentence if len(sections) == 1 else "Processing and delivery were not asked for."
    by_name = {one.name: one for one in sections}
    if [verdicts[question] for question in asked] == [UNDECIDED, UNDECIDED] and OUTSIDE not in by_name:
        return _NOTHING
    parts = [
        _SILENT
        if (question, verdicts[question]) == (DELIVERY, UNDECIDED) and OUTSIDE in by_name
        else _said(question, verdicts[question] or UNDECIDED, by_name.get(question))
        for question in asked
    ]
    return f"{together(verdicts.values()).capitalize()}: {', and '.join(parts)}."


def _said(question: str, verdict: str, section: Section | None) -> str:
    words = SAID[question].get(verdict, f"{question} is {verdict}")
    example = _example(verdict, section)
    return f"{words} ({example})" if example else words


def _example(verdict: str, section: Section | None) -> str:
    """The first claim that shows what is not good."""
    if section is None or verdict in (EXACTLY, UNDECIDED):
        return ""
    bad = (one for one in section.claims if one.verdict in (AT_LEAST, AT_MOST, NEITHER))
    said = next((one.sentence.strip().rstrip(".") for one in bad), "")
    return said if len(said) <= _LONGEST_EXAMPLE else f"{said[:_LONGEST_EXAMPLE]}…"
