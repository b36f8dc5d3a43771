"""Where words lead from a step: numbers, times, epochs, over and out, breakpoints, searches. See docs/search.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dashboard.queries.find import nearest_step
from dashboard.queries.replay_overview import kind_counts
from dashboard.queries.units import UNITS, beginning, behind, one_before, outward
from ingest.lake.step_reader import StepReader
from ingest.lake.step_search import StepSearch
from replay.debugger.searching.conditions import All, Comparison, Condition, Enters, Search
from replay.debugger.searching.fields import FIELDS
from replay.debugger.searching.language import parsed
from replay.debugger.searching.structured import read

_UNIT = "|".join(UNITS)
_NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<number>[0-9][0-9,_]{0,20})")
_TIME = re.compile(r"-?[0-9][0-9_.]*\s*(us|µs|ms|s|min)")
_OVER = re.compile(rf"(?P<back>back )?over (the )?(?P<unit>{_UNIT})")
_OUT = re.compile(rf"out( of (the )?(?P<unit>{_UNIT}))?")
_NAMED = re.compile(r"(?P<what>epoch|record|step) (?P<number>[0-9][0-9,_]{0,20})")
_STATE = re.compile(r"(state )?(?P<state>[A-Z][A-Za-z]+)")
_SEARCH = re.compile(r"(?P<way>next|previous) (?P<search>.+)", re.DOTALL)
LAST = 2**53


@dataclass(frozen=True, slots=True)
class Landing:
    """Where it leads, or why nowhere; or why there, `instead` of where it was to lead; and which of the breakpoints hit
    there, by their place among them."""

    step: int | None
    why: str = ""
    instead: str = ""
    hit: Sequence[int] = field(default_factory=tuple)


def moved(
    written: StepReader, row: dict[str, Any], words: str, breakpoints: list[Search], *, growing: bool = True
) -> Landing:
    """From a step by what was asked for. Raises `WrongSearch` where it is no words of moving and no search. What is not
    found may still come where the replay is `growing`; where it was cancelled or failed it will not."""
    landing = _moved(written, row, words, breakpoints)
    if written.complete or (landing.step is not None and not landing.instead):
        return landing
    if growing:
        more = f"Steps are still being written: {written.steps:,} so far."
    else:
        more = f"The replay ended before its end, with {written.steps:,} steps."
    if landing.instead:
        return replace(landing, instead=f"{landing.instead} {more}")
    return replace(landing, why=f"{landing.why} {more}")


def _moved(written: StepReader, row: dict[str, Any], words: str, breakpoints: list[Search]) -> Landing:
    words = " ".join(words.split()) if "'" not in words and '"' not in words else words.strip()
    if words in ("continue", "reverse-continue"):
        return _continued(written, row["step"], breakpoints, forwards=words == "continue")
    if words in ("first", "last"):
        return Landing(0 if words == "first" else written.steps - 1)
    if found := _NUMBER.fullmatch(words):
        number = _whole(found["number"])
        return _numbered(written, {"": number, "+": row["step"] + number, "-": row["step"] - number}[found["sign"]])
    if found := _OVER.fullmatch(words):
        return _over(written, row, found["unit"], back=bool(found["back"]))
    if found := _OUT.fullmatch(words):
        return _out(written, row, found["unit"])
    return _named(written, row, words) or _searched(written, row["step"], words)


def _numbered(written: StepReader, number: int) -> Landing:
    """The nearest there is: whoever asks for a number past an end wants to stand at that end, and to know it."""
    last = written.steps - 1
    if number > last:
        return Landing(last, instead=past_the_end(written, number))
    if number < 0:
        return Landing(0, instead="Nothing is before step 0: this is the first one.")
    return Landing(number)


def past_the_end(written: StepReader, number: int) -> str:
    """Which step is the last, and where it ended so or went on past it, that the recording differs."""
    last = written.steps - 1
    said = f"This replay has no step {number:,}: its last one is step {last:,}"
    differs = next((one.first_step for one in kind_counts(written) if one.kind == "diverge"), None)
    if differs is None:
        return f"{said}."
    if differs == last:
        return f"{said}, where the replay and the recording differ."
    return f"{said}. The replay and the recording differ at step {differs:,}."


def _over(written: StepReader, row: dict[str, Any], unit: str, *, back: bool) -> Landing:
    if back:
        return Landing(one_before(written, row, unit), f"No {unit} lies before this one.")
    return Landing(behind(written, row, unit), f"Nothing follows this {unit}: it is the last one.")


def _out(written: StepReader, row: dict[str, Any], unit: str | None) -> Landing:
    if unit is None:
        return Landing(outward(written, row), "This step begins everything that encloses it.")
    begun = beginning(written, row, unit)
    return Landing(begun if begun < row["step"] else None, f"The {unit} begins at this very step.")


def _continued(written: StepReader, step: int, breakpoints: list[Search], *, forwards: bool) -> Landing:
    if not breakpoints:
        return Landing(None, "No breakpoint is enabled. Keep a search as one, or enable one.")
    with StepSearch(written, breakpoints) as search:
        found = search.after(step) if forwards else search.before(step)
        if found is None:
            return Landing(None, f"No breakpoint hits {'behind' if forwards else 'before'} this step.")
        return Landing(found, hit=search.at(found))


def _named(written: StepReader, row: dict[str, Any], words: str) -> Landing | None:
    """Times; and epochs, records and states of the task where one stands, or of another one if it has none such."""
    condition: Condition
    if found := _NAMED.fullmatch(words):
        number = _whole(found["number"])
        if found["what"] == "step":
            return _numbered(written, number)
        condition = Comparison(FIELDS[found["what"]], "=", number)
        if found["what"] == "record" and row["epoch"] is not None:
            condition = All((condition, Comparison(FIELDS["epoch"], "=", row["epoch"])))
        missing = f"No step of this replay has {found['what']} {number:,}"
        missing += f" in epoch {row['epoch']:,}." if found["what"] == "record" and row["epoch"] is not None else "."
    elif _TIME.fullmatch(words):
        condition = parsed(f"time >= {words}").condition
        missing = f"Nothing happens at or after {words}."
    elif found := _STATE.fullmatch(words):
        condition, missing = Enters(found["state"]), f"This replay does not enter {found['state']}."
    else:
        return None
    of_task = All((condition, Comparison(FIELDS["task"], "=", str(row["task"]))))
    tried = [Search(condition)] if _TIME.fullmatch(words) else [Search(of_task), Search(condition)]
    steps = (nearest_step(written, [search], after=-1) for search in tried)
    return Landing(next((step for step in steps if step is not None), None), missing)


def _searched(written: StepReader, step: int, words: str) -> Landing:
    found = _SEARCH.fullmatch(words)
    backwards = found is not None and found["way"] == "previous"
    search = read(found["search"] if found else words)
    if backwards:
        return Landing(nearest_step(written, [search], before=step), "It hits nowhere before this step.")
    return Landing(nearest_step(written, [search], after=step), "It hits nowhere behind this step.")


def _whole(text: str) -> int:
    return min(int(text.replace(",", "").replace("_", "")), LAST)
