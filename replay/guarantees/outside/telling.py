"""The claims about the outside: what each record should have there and has, with the lines that prove it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from replay.debugger.writing.words import counted
from replay.errors import printable
from replay.guarantees.claims import Section
from replay.guarantees.observed.said import given_in_words
from replay.guarantees.outside.doubts import Doubts
from replay.guarantees.outside.explaining import Lines, Record, given, in_words
from replay.guarantees.outside.judging import Judged
from replay.guarantees.outside.ledger import Ledger, differs
from replay.guarantees.outside.sources import Sources
from replay.model import read_json

_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})", re.ASCII)


def tell(section: Section, sources: Sources, ledger: Ledger, doubts: Doubts) -> None:
    """What is proven: what is there twice, first where it isn't the same each time; what is lost; what is nobody's."""
    more, less = not doubts.no_proof_of_more, not doubts.no_proof_of_lost
    twice = sorted(ledger.twice, key=lambda one: (not differs(one), _first(one))) if more else []
    lost = sorted(ledger.lost, key=_first) if less else []
    lines = given(sources.recording, {_record(sources, one) for one in (*twice, *lost)})
    for one in twice:
        said = f"{_in_words(one)}; {in_words(lines[_record(sources, one)])}."
        section.claim(_about(sources, one), "at least once", said, _evidence(sources, ledger, one, lines))
    for one in lost:
        has = "is not there"
        if one.joined.rows:
            has = f"has {counted(one.joined.rows, 'row')} of {sources.how.per_record}"
        said = f"{printable(one.joined.taken[0].said)} {has}; {in_words(lines[_record(sources, one)])}."
        section.claim(_about(sources, one), "at most once", said, _evidence(sources, ledger, one, lines))
    for one in ledger.made_up if more else ():
        where = ", ".join(printable(row.where) for row in one.joined.found[:3])
        said = f"Row {where} of {ledger.name} is of no record that the sources had."
        section.claim(f"outside:{ledger.name}", "neither", said, _outside(ledger, one))
    section.claims_left_out += (ledger.twice_count - len(twice)) * more + (ledger.lost_count - len(lost)) * less


def _first(one: Judged) -> tuple[int, int]:
    return one.joined.taken[0].task, one.joined.taken[0].number


def _record(sources: Sources, one: Judged) -> Record:
    return sources.tasks[one.joined.taken[0].task], one.joined.taken[0].number


def _about(sources: Sources, one: Judged) -> str:
    return f"task:{_record(sources, one)[0]}"


def _evidence(sources: Sources, ledger: Ledger, one: Judged, lines: Lines) -> Iterator[str]:
    yield from _outside(ledger, one)
    for taken in one.joined.taken[:4]:
        yield f"source:{sources.tasks[taken.task]}/{taken.attempt}#{taken.number}"
    yield from (line.evidence for line in lines[_record(sources, one)])


def _outside(ledger: Ledger, one: Judged) -> Iterator[str]:
    """A row's place may be in a part of the outside, which has a name of its own."""
    wheres = (row.where if "#" in row.where else f"{ledger.name}#{row.where}" for row in one.joined.found[:8])
    return (f"outside:{where}" for where in wheres)


def _in_words(one: Judged) -> str:
    """`1207 twice: price 19.9 and 24.9`."""
    text, rows = one.joined.taken[0].said, one.joined.found
    if one.open == "shared":
        return f"{printable(text)} has {counted(one.too_many, 'row')} more than its records can have"
    if one.joined.found_beyond or not all(row.said for row in rows):
        same = "not the same each time" if differs(one) else "the same"
        return f"{printable(text)} {one.joined.rows:,} times, {same}"
    key = int(text) if _NUMBER.fullmatch(text) else text
    return given_in_words([[key, 0, read_json(row.said.encode())] for row in rows], differs(one))
