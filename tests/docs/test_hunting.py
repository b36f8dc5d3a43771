"""The page about hunting names the kinds, surroundings and bounds of the code, and what its tests plant."""

from __future__ import annotations

import re

from ingest.jobs.hunting.perturbation import PERTURBED, WORDS
from replay.debugger.hunting.calls import AUDITED, CALLED_KINDS
from replay.debugger.hunting.noting import MOST_CALLS
from replay.debugger.hunting.readings import KINDS, MOST_PLACES
from tests.docs.pages import page, table
from tests.ingest.test_hunting import HIDDEN_MOVES, MOVES
from tests.replay.debugger.hunting.planting import names_of


def cells(column: list[str]) -> list[str]:
    return [cell.strip("`") for cell in column]


def test_every_kind_that_is_heard_is_documented() -> None:
    assert cells(table("hunting.md", "kind", "heard").column("kind")) == list(KINDS)
    assert CALLED_KINDS | set(AUDITED.values()) == set(KINDS)


def test_all_surroundings_are_documented() -> None:
    documented = cells(table("hunting.md", "surroundings", "what is another").column("surroundings"))
    assert documented == list(dict.fromkeys(one.name for one in PERTURBED)) == list(WORDS)


def test_what_is_planted_is_told_as_it_is_found() -> None:
    """By the words in the table: what moves at all stands in its last column."""
    rows = table("hunting.md", "planted in an operator", "heard", "moved")
    told = {name for name in WORDS for cell in rows.column("moved") if re.search(rf"\b{name}\b", cell)}
    assert told == {name for names in (*MOVES.values(), *HIDDEN_MOVES.values()) for name in names}
    assert set(MOVES) <= set(names_of())


def test_its_bounds_are_the_codes() -> None:
    text = page("hunting.md")
    assert f"At most {MOST_PLACES} places" in text and f"At most {MOST_CALLS:,} calls" in text
