"""How the sections of the ledger speak of records, buffers and findings."""

from __future__ import annotations

from replay.debugger.writing.words import counted
from replay.guarantees.claims import MOST_CLAIMS, Section
from replay.guarantees.ledger.agreement import Finding
from replay.guarantees.ledger.flows import Counted, of_origins
from replay.guarantees.ledger.verdicts import EXACTLY_ONCE, UNDECIDED, Verdict


def claim_each(section: Section, about: str, verdict: Verdict, found: list[Counted], what: str) -> None:
    """A claim for each record, as far as there is room for them."""
    for one in found[:MOST_CLAIMS]:
        sentence = f"{of_origins(one.origins)} {what}."
        section.claim(about, verdict, sentence[:1].upper() + sentence[1:], one.evidence)
    section.claims_left_out += max(0, len(found) - MOST_CLAIMS)


def tell_findings(section: Section, findings: list[Finding]) -> None:
    """What is wrong with the recording: where parts contradict one another, and what it lacks."""
    for one in findings:
        about = f"task:{min(one.tasks)}" if one.tasks else "job"
        if one.contradicts:
            section.claim(about, "contradiction", one.sentence, one.evidence)
        section.lack(about, one.sentence, one.wants)


def good(verdict: Verdict) -> bool | None:
    """What a verdict is worth."""
    return None if verdict == UNDECIDED else verdict == EXACTLY_ONCE


def records(count: int) -> str:
    """`1 record`."""
    return counted(count, "record")
