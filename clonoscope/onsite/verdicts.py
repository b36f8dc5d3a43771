"""What a replay comes to: identical only where all was compared, diverged only where nothing else can be behind it."""

from __future__ import annotations

import linecache
import re
from typing import TYPE_CHECKING, Any

from clonoscope.errors import Diverged, EndOfRecording
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound, Missing, Outcome, Verdict
from replay.debugger.writing.words import counted, listed
from replay.errors import printable
from replay.model import MAIN

if TYPE_CHECKING:
    from clonoscope.onsite.execution import Execution

_PLACE = re.compile(r"(.+):(\d+) \((.*)\)", re.DOTALL)
_LACKING = {"redacted": "what was asked for is redacted", "gap": "the recording has a gap there"}


def ended(one: Execution) -> Outcome:
    """It came to the recording's end, and all that could be compared was the same."""
    why = _not_to_be_told(one)
    if why:
        sentence = f"Nothing differs, but it can't be said that all is the same: {listed(why)}. {so_far(one)}"
        return _outcome(one, "unknown", sentence, {"why": why})
    how = ""
    if one.failed is not None and one.held.raised is not None:
        how = f", and fails with {printable(one.failed)} as recorded"
    elif one.broken_off or one.held.failed is not None:
        how = ", up to where the recording breaks off"
    same = _same(one)
    states = f", {counted(one.states, 'state')}" if one.states else ""
    sentence = (
        f"Attempt {one.held.attempt} of {one.held.task} gives the same again: {same}{states}, of "
        f"{counted(one.records, 'record')} and {counted(one.asked_for, 'answer')}{how}."
    )
    doubts = [*one.feed.doubts, *_unsaid(one)]
    if doubts:
        sentence += f" Still, {listed(doubts)}."
    sentence += _past_external(one)
    return _outcome(one, "identical", sentence, {"doubts": doubts} if doubts else {})


def parted(one: Execution, found: DivergenceFound | Missing | Diverged) -> Outcome:
    """Something differs, or is not there."""
    sentence, detail = _told(one, found)
    doubts = _doubts(one)
    if isinstance(found, Missing):
        return _outcome(one, "unknown", sentence, detail)
    if isinstance(found, Diverged) and found.lacking:
        doubts = [_LACKING[found.lacking], *doubts]
    if doubts:
        sentence += f" But {listed(doubts)}, which may be all that is behind it."
        return _outcome(one, "unknown", sentence, {**detail, "why": doubts})
    step = one.telling.parted(DivergenceFound(sentence, **detail))
    return _outcome(one, "diverged", sentence, {**detail, "step": step})


def broken_off(one: Execution, why: str) -> Outcome:
    """A person wanted it to go no further."""
    return _outcome(one, "unknown", f"{why}. {so_far(one)}", {"stopped": str(one.stopped or "")})


def so_far(one: Execution) -> str:
    """How much was the same."""
    unverified, given = one.outputs.unverified, one.outputs.given
    told = f"{unverified:,} of which can't be verified" if unverified else "as recorded"
    if unverified >= given > 0:
        told = "none of which can be verified"
    return (
        f"So far it took {counted(one.records, 'record')} and {counted(one.asked_for, 'answer')} and gave "
        f"{counted(given, 'output')}, {told}."
    )


def _same(one: Execution) -> str:
    """What was compared."""
    outputs = one.outputs.given - one.outputs.beyond
    border = one.border
    found = [counted(n, word) for n, word in ((border.compared, "result"), (border.written, "write")) if n]
    return ", ".join([*([counted(outputs, "output")] if outputs or not found else []), *found])


def _unsaid(one: Execution) -> list[str]:
    """Writes that were only compared as far as could be."""
    found = one.border.unsaid
    return [f"of {counted(found, 'write')} it can't be told whether all that was handed over is the same"] * bool(found)


def _past_external(one: Execution) -> str:
    """What was done to files here, which nothing recorded."""
    told = one.beside.told()
    return f" Not recorded, and so not compared: it {listed(told)}." if told else ""


def _not_to_be_told(one: Execution) -> list[str]:
    """Why nothing may be called identical."""
    why = []
    if one.held.gaps:
        why.append(f"the recording has {counted(one.held.gaps, 'gap')}")
    if one.outputs.unverified:
        places = (
            "an output or state" if one.outputs.unverified == 1 else f"{one.outputs.unverified:,} outputs or states"
        )
        why.append(f"what is redacted in {places} can't be verified")
    if one.feed.redacted:
        why.append("the function was given records with redacted values")
    if one.held.raised is not None and one.failed is None:
        why.append(
            f"the attempt ended with {printable(one.held.raised)}, which the function does not raise: whether it did "
            "when it was recorded is not known"
        )
    if one.border.unverified:
        why.append(f"of {counted(one.border.unverified, 'result')} it can't be told whether it is the same")
    if one.border.untold:
        why.append(one.border.untold)
    compared = one.outputs.given or one.states or one.border.compared or one.border.written
    if one.border.untold or not compared:
        why += _unsaid(one)
    if not compared and not (one.failed and one.held.raised):
        why.append("neither the recording nor the replay has any output or state that could be compared")
    return why


def _doubts(one: Execution) -> list[str]:
    """What may be behind a difference, besides another code."""
    doubts = list(one.feed.doubts)
    if one.held.gaps:
        doubts.append(f"the recording has {counted(one.held.gaps, 'gap')}")
    if one.feed.redacted:
        doubts.append("the function was given records with redacted values")
    if one.answers.approximate:
        doubts.append("an answer before it is recorded otherwise than the job had it (approximate)")
    return doubts


def _told(one: Execution, found: DivergenceFound | Missing | Diverged) -> tuple[str, dict[str, Any]]:
    stands = {"task": one.held.task, "attempt": one.held.attempt, "records": one.records}
    if one.fed is not None:
        stands["record"] = str(one.fed.place)
    if not isinstance(found, Diverged):
        return found.sentence, stands | dict(found.detail)
    sentence = printable(str(found), 20_000)
    if isinstance(found, EndOfRecording) and one.held.raised is not None:
        sentence = (
            f"{printable(found.place)} asks for {printable(found.asked)}; the recording ends here with "
            f"{printable(one.held.raised)}."
        )
        stands["past_failure"] = True
    stands |= {
        "asked": found.asked,
        "logged": found.logged,
        "member": member_name(one.held.task, one.held.attempt, MAIN, found.epoch),
        "epoch": found.epoch,
        "determinant": found.position,
        "line": _line_of(found.place),
    }
    offset = one.telling.offset(found.epoch, found.position)
    return sentence, {name: value for name, value in (stands | {"offset": offset}).items() if value is not None}


def _line_of(place: str) -> dict[str, Any] | None:
    named = _PLACE.fullmatch(place)
    if named is None:
        return None
    file, line = named[1], int(named[2])
    return {"file": file, "line": line, "function": named[3], "text": linecache.getline(file, line).strip()[:200]}


def _outcome(one: Execution, verdict: Verdict, sentence: str, detail: dict[str, Any]) -> Outcome:
    if one.beside.found:
        detail = {**detail, "past_external": one.beside.told()}
    one.telling.finish(sentence)
    count = one.telling.steps.count
    return Outcome(verdict, sentence, one.held.task, one.held.attempt, None, count, {"app": one.asked.app, **detail})
