"""Records: the bytes that must agree."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import ReplayError
from replay.model import Record, json_bytes, read_json

texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | texts
    | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
lineages = st.none() | st.lists(st.tuples(texts, st.integers(0)), max_size=3).map(tuple)
records = st.builds(Record, values, st.integers(-(1 << 63), (1 << 63) - 1), values, lineages)


@given(records)
def test_a_record_is_read_back(record):
    assert Record.from_bytes(record.to_bytes()) == record
    assert Record.from_body(record.to_body()) == record
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_a_record_is_a_length_and_compact_unescaped_json():
    body = '["ü",5,{"b":1,"a":[null]},[["bids.0",17]]]'.encode()
    record = Record("ü", 5, {"b": 1, "a": [None]}, (("bids.0", 17),))
    assert record.to_bytes() == len(body).to_bytes(4, "big") + body
    assert json_bytes({"a": "☃"}) == '{"a":"☃"}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_bytes(float("nan"))


BAD = [
    (b"", "not JSON"),
    (b"{}", "a record is"),
    (b"[1,2]", "a record is"),
    (b"[1,2,3,4,5]", "a record is"),
    (b'[1,"2",3]', "timestamp is an integer"),
    (b"[1,true,3]", "timestamp is an integer"),
    (b"[1,2,3,4]", "lineage is a list"),
    (b"[1,2,3,[[1,2]]]", "lineage is a list"),
    (b'[1,2,3,[["a",1.5]]]', "lineage is a list"),
    (b'[1,2,3,[["a",true]]]', "lineage is a list"),
    (b"[1,2,NaN]", "NaN is not JSON"),
    (b"[1,2,1e999]", "too large"),
    (b'[1,2,"\\udfff"]', "not JSON"),
    (b'[1,2,"\xff"]', "not JSON"),
]


@pytest.mark.parametrize(("body", "rule"), BAD)
def test_what_is_no_record_is_refused(body, rule):
    with pytest.raises(ReplayError, match=rule):
        Record.from_body(body)
    with pytest.raises(ReplayError, match=rule):
        Record.from_bytes(len(body).to_bytes(4, "big") + body)


def test_a_length_that_lies_is_refused():
    for data in (b"", b"\0\0\0", b"\0\0\0\x09[1,2,3]", b"\0\0\0\x06[1,2,3]", b"\xff\xff\xff\xff"):
        with pytest.raises(ReplayError, match="length disagrees"):
            Record.from_bytes(data)


@given(st.binary(max_size=60) | st.text(alphabet='[]{},:"\\u019e+-.dNaIfty ', max_size=60).map(str.encode))
def test_any_bytes_are_json_or_one_kind_of_error(data):
    try:
        json_bytes(read_json(data))
    except ValueError as fault:
        assert str(fault)
