"""docs/search.md is the language: its fields, scopes, words, units, limits, and every search that it shows."""

from __future__ import annotations

import re

import pytest

from replay.debugger.searching import language
from replay.debugger.searching.conditions import Hits
from replay.debugger.searching.fields import ALIASES, CHANGE_FIELDS, FIELDS, SCOPES, SIZE_UNITS, TIME_UNITS
from replay.debugger.searching.language import SHORT, parsed
from replay.debugger.searching.tokens import MOST_TEXT
from tests.docs.pages import code_words, page, sections, table

SHOWN = re.findall(r"^```\n(.*?)^```", page("search.md"), re.MULTILINE | re.DOTALL)[0].splitlines()


def test_every_field_is_documented_with_what_it_means() -> None:
    documented = table("search.md", "field", "means")
    rows = list(zip(documented.column("field"), (row[1] for row in documented.rows), strict=True))
    assert rows == [(field.name, field.meaning) for field in FIELDS.values()]
    of_change = table("search.md", "field of a change", "means")
    names = of_change.column("field of a change")
    assert list(zip(names, (row[1] for row in of_change.rows), strict=True)) == [
        (field.name, field.meaning) for field in CHANGE_FIELDS
    ]
    words = code_words(sections("search.md")["Fields"])
    assert set(ALIASES) | {unit for unit, _ in (*TIME_UNITS, *SIZE_UNITS)} <= words


def test_every_word_that_is_a_condition_is_documented() -> None:
    conditions = table("search.md", "condition", "is met by").column("condition")
    assert set(SHORT) <= set(conditions)
    for text, meant in ((one, row) for one, row in SHORT.items()):
        assert parsed(text).condition == meant
    for short, said in (("held-back", "kind = hold-back"), ("sent", "kind = send-buffer")):
        assert parsed(short) == parsed(said)


def test_the_searches_of_the_tour_are_searches() -> None:
    tour = page("../README.md")
    shown = [text for text in re.findall(r"`([^`\n]+)`", tour) if "change(" in text or "kind =" in text]
    assert len(shown) >= 2
    for text in shown:
        parsed(text)


def test_every_scope_is_documented() -> None:
    clauses = table("search.md", "clause", "means").column("clause")
    assert clauses == [*(f"in the same {scope}" for scope in SCOPES), "within 50 steps"]
    for clause in clauses:
        assert parsed(f"sent preceded by sent {clause}")


@pytest.mark.parametrize(
    ("ending", "counted"),
    [
        ("hit 3", Hits(3, 1, 3)),
        ("from hit 3", Hits(3)),
        ("every 10", Hits(1, 10)),
        ("from hit 3 every 10", Hits(3, 10)),
    ],
)
def test_every_way_to_count_hits_is_documented(ending: str, counted: Hits) -> None:
    assert ending in table("search.md", "ending", "counts").column("ending")
    assert parsed(f"sent {ending}").hits == counted


def test_the_limits_are_those_of_the_code() -> None:
    assert table("search.md", "limit", "at most").column("at most") == [
        f"{MOST_TEXT:,}", str(language.MOST_PARTS), str(language.MOST_DEPTH), str(language.MOST_RELATIONS),
    ]  # fmt: skip


@pytest.mark.parametrize("text", SHOWN)
def test_every_search_that_is_shown_can_be_read(text: str) -> None:
    assert parsed(text)
