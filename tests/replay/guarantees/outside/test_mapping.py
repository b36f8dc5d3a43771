"""Keys and numbers as options give them, and where they are found in rows and records."""

import datetime
import uuid
from decimal import Decimal
from typing import Any

import pytest

from replay.errors import WrongSetting
from replay.guarantees.outside import Key, PerRecord
from replay.guarantees.outside.keys import text_of, text_of_all
from replay.guarantees.outside.mapping import value_at

ROW = {
    "key": "c1",
    "a.b": 1,
    "a": {"b": 2, "c": [{"d": 3}]},
    "text": '{"order": 1207, "of": {"shop": 4}}',
    "value": '{"order": 1208, "key": "in"}',
    "none": None,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("key", "c1"),
        ("a.b", 1),  # a column of that name goes before a path
        ("a.c.0.d", 3),
        ("text.of.shop", 4),
        ("value.order", 1208),
        ("order", 1208),  # in the value, where no column has the name
        ("a.c.1.d", None),
        ("a.c.x", None),
        ("key.length", None),
        ("none", None),
        ("gone", None),
    ],
)
def test_a_path_leads_into_columns_objects_lists_and_texts_of_json(path: str, found: Any) -> None:
    assert value_at(ROW, path) == found


def test_a_key_of_several_fields_is_all_of_them() -> None:
    assert Key.parse("key, a.b").of(ROW) == ("c1", 1)
    assert Key.parse("key,none").of(ROW) is None
    assert text_of_all(("a", "b,c")) != text_of_all(("a,b", "c"))
    with pytest.raises(WrongSetting, match="names no key"):
        Key.parse("a,,b")


@pytest.mark.parametrize(
    "same",
    [
        (1207, "1207", 1207.0, Decimal("1207"), Decimal("1207.00"), b"1207"),
        (4.5, "4.5", Decimal("4.50")),
        (True, "true"),
        (datetime.date(2026, 11, 19), "2026-11-19"),
        (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (["a", 1], '["a",1]'),
        (Decimal(0), Decimal("0.00"), "0"),
        (1 << 60, str(1 << 60)),
        (Decimal(100), "100", 100),
    ],
)
def test_both_sides_write_a_key_in_their_own_way(same: tuple[Any, ...]) -> None:
    assert len({text_of(one) for one in same}) == 1


@pytest.mark.parametrize("none", [None, float("nan"), Decimal("NaN"), Decimal("Infinity")])
def test_what_is_no_key_joins_nothing(none: Any) -> None:
    assert text_of(none) is None


def test_a_number_of_many_digits_is_not_written_out() -> None:
    assert text_of(Decimal("1e1000000")) == "1E+1000000"
    assert text_of(1e300) == "1e+300"


@pytest.mark.parametrize(
    ("text", "least", "most"), [("1", 1, 1), ("3", 3, 3), ("0-1", 0, 1), ("2-", 2, None), ("any", 0, None)]
)
def test_rows_of_a_record_are_a_number_or_a_range(text: str, least: int, most: int | None) -> None:
    assert (found := PerRecord.parse(text)) == PerRecord(least, most) and str(found) == text


@pytest.mark.parametrize("text", ["", "0", "-1", "2-1", "x", "1001", "1-1001", "0-0", "1.5", "01"])
def test_what_is_no_number_of_rows_is_refused(text: str) -> None:
    with pytest.raises(WrongSetting, match="rows that a record may have"):
        PerRecord.parse(text)
