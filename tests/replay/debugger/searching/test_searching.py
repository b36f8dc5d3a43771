"""The language of searches: what it means, where it says it went wrong, and that no text can hurt it."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.debugger.searching import language, structured
from replay.debugger.searching.conditions import (
    All,
    AnyOf,
    Changes,
    Comparison,
    Condition,
    Enters,
    Hits,
    Missing,
    Not,
    OneOf,
    Related,
    WrongSearch,
    walked,
)
from replay.debugger.searching.fields import ALIASES, FIELDS, IN_CHANGE, SCOPES
from replay.debugger.searching.language import SHORT, parsed
from replay.debugger.searching.tokens import MOST_TEXT, tokens_of

KIND, EPOCH, TIME, BYTES, TASK = (FIELDS[name] for name in ("kind", "epoch", "time", "bytes", "task"))
SENT = SHORT["sent"]

MEANT: list[tuple[str, Condition]] = [
    ("kind = take-buffer", Comparison(KIND, "=", "take-buffer")),
    ("kind == 'take-buffer'", Comparison(KIND, "=", "take-buffer")),
    ("task=join.2", Comparison(TASK, "=", "join.2")),
    ('text contains "it\'s \\"so\\""', Comparison(FIELDS["text"], "contains", 'it\'s "so"')),
    ("epoch != -1_000", Comparison(EPOCH, "!=", -1000)),
    ("time >= 5.2s", Comparison(TIME, ">=", 5_200_000)),
    ("time < 1.5 min", Comparison(TIME, "<", 90_000_000)),
    ("bytes > 32 KiB", Comparison(BYTES, ">", 32_768)),
    ("bytes > 32", Comparison(BYTES, ">", 32)),
    ("record_count = 3", Comparison(FIELDS["record"], "=", 3)),
    ("t_us = 3", Comparison(ALIASES["t_us"], "=", 3)),
    ("epoch in (1, 2)", OneOf(EPOCH, (1, 2))),
    ("kind not in (a, b)", Not(OneOf(KIND, ("a", "b")))),
    ("channel is missing", Missing(FIELDS["channel"])),
    ("channel is not missing", Not(Missing(FIELDS["channel"]))),
    ("enters Replaying", Enters("Replaying")),
    ("change", Changes(All(()))),
    ("change()", Changes(All(()))),
    ("change(after > 3)", Changes(Comparison(IN_CHANGE["after"], ">", 3.0))),
    ("change(after = '3')", Changes(Comparison(IN_CHANGE["after"], "=", "3"))),
    ("sent and sent or not sent", AnyOf((All((SENT, SENT)), Not(SENT)))),
    ("sent and (sent or sent)", All((SENT, AnyOf((SENT, SENT))))),
    ("not sent preceded by differs", Not(Related(SENT, SHORT["differs"], True))),
    ("sent not preceded by sent and sent", All((Related(SENT, SENT, True, True), SENT))),
    ("sent followed by sent in the same epoch, task within 5 steps",
     Related(SENT, SENT, False, False, ("epoch", "task"), 5)),
    ("sent followed by sent in same epoch", Related(SENT, SENT, False, False, ("epoch",))),
    ("sent preceded by sent not followed by sent", Related(Related(SENT, SENT, True), SENT, False, True)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), MEANT, ids=[text for text, _ in MEANT])
def test_what_a_search_means(text: str, meant: Condition) -> None:
    assert parsed(text).condition == meant
    assert parsed(text).hits == Hits()
    spread = "\n\t".join(text.split(" ")) if '"' not in text and "'" not in text else text
    assert parsed(spread).condition == meant


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("sent hit 3", [3]),
        ("sent from hit 3", [3, 4, 5, 6, 7, 8, 9, 10]),
        ("sent every 3", [1, 4, 7, 10]),
        ("sent every 3 hits", [1, 4, 7, 10]),
        ("sent from hit 2 every 4", [2, 6, 10]),
    ],
)
def test_which_hits_count(text: str, numbers: list[int]) -> None:
    hits = parsed(text).hits
    assert [number for number in range(1, 11) if hits.counts(number)] == numbers


WRONG: list[tuple[str, int, str]] = [
    ("", 1, "a condition must stand here, not the end"),
    ("kind", 5, "kind must be compared, not followed by the end"),
    ("kind take-buffer", 6, "kind must be compared, not followed by 'take-buffer'"),
    ("kind = ", 8, "a name or a text in quotes must stand here"),
    ("kind = and and", 15, "a condition must stand here"),
    ("knid = x", 1, "'knid' is no field of a step"),
    ("epoch = three", 9, "epoch takes numbers, not 'three'"),
    ("epoch = 1.5", 9, "epoch takes whole numbers"),
    (f"epoch = {2**63}", 9, "larger than any number"),
    ("epoch = 5 s", 11, "the search goes on with 's'"),
    ("epoch contains 3", 7, "epoch is a number: it contains nothing"),
    ("time > 5", 9, "time needs a unit"),
    ("time > 5 h", 10, "time needs a unit"),
    ("step = 3x", 8, "a number is followed by what is no unit"),
    ("kind = 'x", 8, "this text is not closed"),
    ("kind = a § b", 10, "nothing begins with '§'"),
    ("channel = a>b", 12, "the search goes on with '>'"),
    ("(sent", 6, "')' must follow what is in brackets, not the end"),
    ("sent)", 5, "the search goes on with ')'"),
    ("sent or", 8, "a condition must stand here"),
    ("sent preceded sent", 6, "the search goes on with 'preceded'"),
    ("sent preceded by sent in epoch", 26, "'same' must follow 'in', not 'epoch'"),
    ("sent preceded by sent in same step", 31, "steps have no 'step' in common"),
    ("sent preceded by sent within 0 steps", 30, "a whole number from 1 must follow 'within'"),
    ("sent preceded by sent within 5", 31, "'steps' must follow the number, not the end"),
    ("sent hit", 9, "a whole number from 1 must follow 'hit'"),
    ("sent every 0", 12, "a whole number from 1 must follow 'every'"),
    ("sent hit 3 and sent", 12, "the search goes on with 'and'"),
    ("key = x", 1, "key belongs to a change of state"),
    ("change(after. = x)", 8, "'after.' is nothing that a change has"),
    ("change(after..x = 1)", 8, "'after..x' is nothing that a change has"),
    ("change(key.x = 1)", 8, "'key.x' is nothing that a change has"),
    ("change(after" + ".a" * 9 + " = 1)", 8, "is nothing that a change has"),
    ("after.x = 1", 1, "'after.x' is no field of a step"),
    ("change(kind = x)", 8, "'kind' is nothing that a change has"),
    ("change(sent)", 8, "'sent' is nothing that a change has"),
    ("change(key = x preceded by key = y)", 25, "inside change( … ) only key, before and after are compared"),
    ("change(key = x", 15, "')' must follow what is in brackets"),
    ("epoch in ()", 11, "epoch takes numbers, not ')'"),
    ("epoch in (1 2)", 13, "')' must follow the values, not '2'"),
    ("not " * 20 + "sent", 65, "nests deeper than 16 times"),
    ("(" * 20 + "sent" + ")" * 20, 17, "nests deeper than 16 times"),
    (" or ".join(["sent"] * 101), 801, "more than 100 parts"),
    ("epoch in (" + ",".join("1" * 150) + ")", 212, "more than 100 parts"),
    ("sent" + " preceded by sent" * 9, 151, "more than 8 relations"),
    ("x" * 2_001, 2_001, "longer than 2,000 characters"),
    ("kind = '\ud800'", 1, "half a character"),
]


@pytest.mark.parametrize(("text", "column", "why"), WRONG, ids=[text[:40] for text, _, _ in WRONG])
def test_what_is_wrong_is_said_with_its_column(text: str, column: int, why: str) -> None:
    with pytest.raises(WrongSearch) as wrong:
        parsed(text)
    assert why in wrong.value.why
    assert wrong.value.column == column
    assert str(wrong.value).startswith(f"column {column}: ")


WORDS = [
    *FIELDS, *IN_CHANGE, *SHORT, *SCOPES, "and", "or", "not", "in", "the", "same", "within", "steps", "preceded", "by",
    "followed", "hit", "from", "every", "is", "missing", "contains", "starts", "with", "change", "enters", "(", ")",
    ",", "=", "!=", "<", ">=", "3", "5.2", "s", "KiB", "'x'", '"', "\\", "§", "-", "1_0", "٣", "\0",
]  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join) | st.text(max_size=80))
def test_any_text_is_a_search_or_is_wrong_at_a_column(text: str) -> None:
    try:
        search = parsed(text)
    except WrongSearch as wrong:
        assert wrong.column is not None and 1 <= wrong.column <= len(text) + 1
        assert str(wrong).isprintable()
    else:
        assert len(walked(search.condition)) <= 4 * language.MOST_PARTS


def test_the_longest_and_deepest_texts_are_read_quickly_enough_to_end() -> None:
    rng = random.Random(11)
    for _ in range(200):
        text = "".join(rng.choice("()'\"\\- 19_ax.,<>=!\n") for _ in range(MOST_TEXT))
        with pytest.raises(WrongSearch):
            parsed(text)
    assert len(tokens_of("x " * (MOST_TEXT // 2))) == MOST_TEXT // 2 + 1


# -- as JSON

SAME: list[tuple[str, str]] = [
    ('{"kind": "take-buffer"}', "kind = take-buffer"),
    ('{"epoch": {"ge": 3, "lt": 5}, "actor": "main"}', "(epoch >= 3 and epoch < 5) and thread = main"),
    ('{"record_count": {"in": [7, 13]}}', "record in (7, 13)"),
    ('{"text": {"contains": "x"}}', "text contains x"),
    ('{"not": {"log": null}}', "log is not missing"),
    ('{"any": [{"step": 5}, {"t_us": {"gt": 395}}]}', "step = 5 or t_us > 395"),
    ('{"determinant": "order", "value": 1}', "determinant = order and value = 1"),
    ('{"all": [{"search": "sent preceded by differs"}, {"epoch": 1}]}', "sent preceded by differs and epoch = 1"),
    ('{"search": "sent hit 3"}', "sent hit 3"),
    ("{}", "anything"),
]


@pytest.mark.parametrize(("document", "text"), SAME, ids=[text for _, text in SAME])
def test_json_means_the_same(document: str, text: str) -> None:
    assert structured.read(document) == structured.read(text) == parsed(text)


@pytest.mark.parametrize(
    "document",
    ["{", "[]", "[1]", '{"nonsense": 1}', '{"epoch": "1"}', '{"epoch": true}', '{"epoch": 1.5}', '{"not": []}',
     '{"any": []}', '{"epoch": {"like": 1}}', '{"epoch": {"contains": "1"}}', f'{{"epoch": {2**63}}}',
     '{"text": "\\ud800"}', '{"search": 3}', '{"search": "epoch"}', '{"search": "sent hit 3", "epoch": 1}',
     '{"search": "\\udfff"}', "[" * 8_000, '{"not": ' * 20 + "{}" + "}" * 20, json.dumps({"text": "x" * 9_000})],
    ids=lambda document: document[:30],
)  # fmt: skip
def test_json_that_says_nothing_is_refused(document: str) -> None:
    with pytest.raises(WrongSearch):
        structured.read(document)
