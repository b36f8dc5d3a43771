"""Delivery as a section of an audit: what `delivery` says of an ordinary engine's recording, claim by claim."""

from __future__ import annotations

from typing import Any

from replay.debugger.ports import RecordingSource
from replay.guarantees.claims import Section
from replay.guarantees.expecting import AT_LEAST, DELIVERY, EXACTLY, UNDECIDED
from replay.guarantees.observed.delivery import delivery

_WANTS = "a recording that holds it"


def delivery_section(source: RecordingSource) -> Section:
    """Every output that was given more than once is a claim, with both lines; what is missing is what lacks."""
    section = Section(DELIVERY, "Delivery", UNDECIDED)
    told = delivery(source)
    if told is None:
        section.sentence = "Undecided: nothing here says what was given to the outside."
        section.lack(
            "job", "The recording is an excerpt, an import, or of a protocol that decides what is given.", _WANTS
        )
        return section
    section.verdict, section.sentence = told["verdict"], told["sentence"]
    section.good = {EXACTLY: True, AT_LEAST: False}.get(told["verdict"])
    section.numbers = {"job": told["verdict"]} | {
        name: told[name] for name in ("outputs", "count", "differing", "once_by_id")
    }
    for one in told["twice"]:
        section.claim(f"task:{one['task']}", AT_LEAST, f"{one['said']}.", _lines(one))
    section.claims_left_out = max(0, told["count"] - len(told["twice"]))
    for why in told["missing"]:
        section.lack("job", f"{why[:1].upper()}{why[1:]}.", _WANTS)
    section.lacks_left_out = max(0, told["missing_count"] - len(told["missing"]))
    return section


def _lines(one: dict[str, Any]) -> list[str]:
    return [
        f"sink:{one['task']}/{attempt}/{one['epoch']}#{n}"
        for attempt, n in zip(one["attempts"], one["lines"], strict=True)
    ]
