"""The fast ways of writing and reading records do, byte by byte and fault by fault, what the plain ones do."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from replay.errors import CorruptMember, ReplayError
from replay.model import BodyReader, Record, json_bytes
from replay.runtime.body.records import RecordReader, record_bytes
from tests.replay.model.test_record import records, values

PLAIN = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@given(values)
@example('quote " slash \\ tab \t bell \x07 delete \x7f astral 𝄞 line \u2028')
@example([1 << 400, -0.0, 1e-320, 1.7976931348623157e308, True, None, {"": {}}])
@example({1: 2, 1.5: 3, False: 4, None: 5})
def test_json_is_written_as_the_plain_encoder_writes_it(value):
    assert json_bytes(value) == PLAIN.encode(value).encode()


def circle():
    value = []
    value.append({"again": value})
    return value


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -float("inf"), circle(), "\ud800", {(): 1}, object(), b""]
)
def test_what_is_not_json_is_refused_as_the_plain_encoder_refuses_it(value):
    with pytest.raises(Exception) as plain:
        PLAIN.encode([value]).encode()
    with pytest.raises(plain.type) as fast:
        json_bytes([value])
    assert str(fast.value) == str(plain.value)


@given(records)
def test_a_record_is_written_as_its_plain_json(record):
    plain = PLAIN.encode(record.to_json()).encode()
    assert record_bytes(record) == record.to_bytes() == len(plain).to_bytes(4, "big") + plain


@given(st.lists(records, max_size=6), st.data())
def test_records_are_read_together_as_one_by_one(found, data):
    stream = b"".join(map(record_bytes, found))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    reader = RecordReader("a>b")
    read = [reader.feed(stream[a:b]) for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert [one for records in read for one in records] == found
    assert reader.partial_bytes == 0


# Bodies that, put side by side, would read as other records than each for itself.
CUNNING = [
    [b"[1,2,3],[4,5,[6", b"7]]"],
    [b"[1,2,3],[4,5,[[6]", b"[7]]]"],
    [b"[1,2,3],NaN,[4,5,[[6]", b"[7]]]"],
    [b"[1,2,3],null,[4,5,[[6]", b"[7]]]"],
    [b'[1,2,3],NaN,[4,5,"x]', b'["]'],
    [b"[1,2,3],\nNaN,\n[4,5,6]", b""],
    [b"[1,2,3],\nNaN,\n[4,5,6]"],
    [b"[1,2,NaN]", b"[1,2,3]"],
    [b"", b""],
    [b"[1,2,3]", b"]"],
    [b"[1,2,3]],[", b"[1,2,3]"],
    [b"[" * 100_000 + b"]" * 100_000, b"[1,2,3]"],
    [b'{"a":' * 100_000, b"[1,2,3]"],
]


def one_by_one(bodies):
    try:
        return [Record.from_body(body) for body in bodies]
    except ReplayError:
        return None


@pytest.mark.parametrize("bodies", CUNNING, ids=range(len(CUNNING)))
def test_no_body_hides_where_it_ends(bodies):
    assert one_by_one(bodies) is None
    assert BodyReader().read(bodies) is None
    stream = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    with pytest.raises(CorruptMember, match="a>b") as fault:
        RecordReader("a>b").feed(stream)
    assert fault.value.offset is not None


pieces = st.sampled_from(
    [
        b"[1,2,3]",
        b"[",
        b"]",
        b",",
        b"NaN",
        b"null",
        b'"',
        b"\n",
        b"{",
        b"}",
        b":",
        b"7",
        b"\\",
        b"[[",
        b"]]",
        b'["a",1]',
    ]
)
crafted = st.lists(st.lists(pieces, max_size=7).map(b"".join), min_size=1, max_size=4)


@given(crafted | st.lists(st.binary(max_size=12), min_size=1, max_size=3))
def test_whatever_the_bodies_are_together_means_as_one_by_one(bodies):
    together = BodyReader().read(bodies)
    assert together is None or together == one_by_one(bodies)


@given(st.lists(records, min_size=1, max_size=4), st.data())
def test_a_flipped_byte_is_read_as_one_by_one_or_is_a_fault_with_its_place(found, data):
    stream = bytearray(b"".join(map(record_bytes, found)))
    at = data.draw(st.integers(0, len(stream) - 1))
    stream[at] ^= data.draw(st.integers(1, 255))
    bodies, begin = [], 0
    while begin + 4 <= len(stream):
        size = int.from_bytes(stream[begin : begin + 4], "big", signed=True)
        if not 0 <= size <= len(stream) - begin - 4:
            break
        bodies.append(bytes(stream[begin + 4 : begin + 4 + size]))
        begin += 4 + size
    try:
        assert RecordReader("a>b").feed(bytes(stream)) == one_by_one(bodies)
    except CorruptMember as fault:
        assert "a>b" in str(fault)
        assert fault.offset is not None
        lengths = [0]
        for body in bodies:
            lengths.append(lengths[-1] + 4 + len(body))
        assert fault.offset in lengths
