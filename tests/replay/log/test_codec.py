"""Determinants: Clonos' vectors, a second decoder, and bytes that are no determinants."""

import json
import pickle
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from replay.errors import CorruptDeterminant, InvariantError
from replay.log.codec import decode_all, decode_at, encode, ends_of, size_of
from replay.log.determinants import (
    KINDS,
    BufferBuilt,
    IgnoreCheckpoint,
    Order,
    Rng,
    Serializable,
    SourceCheckpoint,
    Take,
    TimerTrigger,
    Timestamp,
    is_async,
)
from tests.replay.log.oracle_codec import decode_stream
from tests.replay.log.strategies import determinants

VECTORS = Path(__file__).parents[2] / "vectors"
SINGLE = json.loads((VECTORS / "determinants.json").read_text())
INVALID = json.loads((VECTORS / "determinants_invalid.json").read_text())
STREAMS = json.loads((VECTORS / "streams.json").read_text())
CALLBACKS = {
    "WATERMARK": "watermark",
    "TIMESTAMP_EXTRACTOR": "timestamp-extractor",
    "TIMESTAMP_PERIODIC_WATERMARK_EXTRACTOR": "periodic-watermark-extractor",
    "TIMESTAMP_PUNCTUATED_WATERMARK_EXTRACTOR": "punctuated-watermark-extractor",
    "IDLE": "idle",
    "LATENCY": "latency",
}


def expected(vector):
    """The determinant that a vector describes."""
    match vector["kind"]:
        case "Order":
            # Clonos reads the byte as signed; ours is the unsigned reading of the same byte.
            return Order(vector["channel"] % 256)
        case "Timestamp":
            return Timestamp(vector["timestamp"])
        case "RNG":
            return Rng(vector["number"])
        case "Serializable":
            return Serializable(bytes.fromhex(vector["payload_hex"]))
        case "TimerTrigger":
            name = vector["callback_name"]
            callback = CALLBACKS[vector["callback_type"]] if name is None else f"internal:{name}"
            return TimerTrigger(vector["record_count"], vector["timestamp"], callback)
        case "SourceCheckpoint":
            reference = vector["storage_reference_hex"]
            return SourceCheckpoint(
                vector["record_count"],
                vector["checkpoint_id"],
                vector["checkpoint_timestamp"],
                vector["checkpoint_type"].lower(),
                None if reference is None else bytes.fromhex(reference),
            )
        case "IgnoreCheckpoint":
            return IgnoreCheckpoint(vector["record_count"], vector["checkpoint_id"])
        case "BufferBuilt":
            return BufferBuilt(vector["number_of_bytes"])


@pytest.mark.parametrize("vector", SINGLE, ids=lambda vector: f"{vector['kind']}-{vector['hex'][:24]}")
def test_every_determinant_of_clonos_is_read_and_written_alike(vector):
    data = bytes.fromhex(vector["hex"])
    determinant, end = decode_at(data, 0)
    assert determinant == expected(vector)
    assert (end, determinant.TAG) == (vector["size"], vector["tag"])
    assert encode(determinant) == data


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream["name"])
def test_every_stream_of_clonos_is_told_apart(stream):
    data = bytes.fromhex(stream["hex"])
    assert len(data) == stream["total_bytes"]
    found = list(decode_all(data))
    assert len(found) == stream["count"]
    for (offset, length, determinant), vector in zip(found, stream["decoded"], strict=True):
        assert (offset, length) == (vector["offset"], vector["size"])
        assert vector["tag"] == determinant.TAG
        if vector["kind"] != "Serializable" or "payload_hex" in vector:
            assert determinant == expected(vector)
    assert b"".join(encode(determinant) for _, _, determinant in found) == data


@pytest.mark.parametrize("vector", INVALID, ids=lambda vector: vector["hex"])
def test_a_corrupt_stream_is_read_up_to_its_fault(vector):
    read = []
    with pytest.raises(CorruptDeterminant) as caught:
        for _, _, determinant in decode_all(bytes.fromhex(vector["hex"]), "tasks/a.0/0/main/0.det"):
            read.append(determinant)
    assert read == [expected(one) for one in vector["decoded_before_error"]]
    assert caught.value.offset == vector["error_at_offset"]
    assert caught.value.path == "tasks/a.0/0/main/0.det"
    rule = "unknown determinant tag 8" if vector["hex"] == "08" else "cut short"
    assert rule in str(caught.value)
    assert str(caught.value).startswith(f"tasks/a.0/0/main/0.det at offset {vector['error_at_offset']}: ")


BAD = [
    ("03000000", "begins neither with a Java stream's magic nor with CL"),
    ("03", "cut short"),
    ("0343", "cut short"),
    ("03aced00", "cut short"),
    ("034300", "begins neither"),
    ("03434c0400000000", "unknown content type 4"),
    ("03434c00ffffffff", "negative length"),
    ("03434c007fffffff00", "claims 2147483647 bytes, and 1 are left"),
    ("04" + "00" * 12 + "07", "unknown callback type 7"),
    ("04" + "00" * 12 + "06ffffffff", "negative length"),
    ("04" + "00" * 12 + "0600000002ff", "claims 2 bytes, and 1 are left"),
    ("04" + "00" * 12 + "0600000001ff", "not UTF-8"),
    ("05" + "00" * 20 + "0200", "unknown checkpoint type 2"),
    ("05" + "00" * 20 + "0002", "has-reference is 2"),
    ("05" + "00" * 20 + "000180000000", "negative length"),
    ("05" + "00" * 20 + "00017fffffff", "claims 2147483647 bytes, and 0 are left"),
    ("03aced0005", "Java stream"),
    ("03aced00057400", "Java stream"),
]


@pytest.mark.parametrize(("tail", "rule"), BAD)
def test_each_broken_rule_is_named_with_the_offset_of_its_determinant(tail, rule):
    data = encode(Rng(1)) + bytes.fromhex(tail)
    with pytest.raises(CorruptDeterminant) as caught:
        list(decode_all(data, "x.det"))
    assert rule in str(caught.value)
    assert (caught.value.path, caught.value.offset, caught.value.tag) == ("x.det", 5, data[5])


def test_the_channel_of_an_order_is_unsigned():
    assert decode_at(b"\x00\xff", 0) == (Order(255), 2)
    assert encode(Order(200)) == b"\x00\xc8"


def test_only_the_listed_tags_are_known():
    known = {kind.TAG for kind in KINDS}
    for tag in set(range(256)) - known:
        with pytest.raises(CorruptDeterminant, match=f"unknown determinant tag {tag}"):
            decode_at(bytes([tag]) + bytes(40), 0)


def test_asynchronous_kinds_are_those_pinned_by_a_record_count():
    made = [TimerTrigger(1, 2, "idle"), SourceCheckpoint(1, 2, 3), IgnoreCheckpoint(1, 2)]
    assert all(is_async(one) and hasattr(one, "record_count") for one in made)
    assert not any(is_async(one) for one in [Order(0), Timestamp(0), Rng(0), Take(0, 0, 1), BufferBuilt(1)])


def test_what_cannot_be_written_is_refused_when_it_is_encoded():
    for one in [Order(256), Order(-1), Rng(1 << 31), TimerTrigger(0, 0, "no such"), SourceCheckpoint(0, 0, 0, "none")]:
        with pytest.raises(InvariantError, match="cannot be encoded"):
            encode(one)


@given(st.lists(determinants, max_size=30))
def test_what_was_written_is_read_back(written):
    data = b"".join(map(encode, written))
    read = list(decode_all(data))
    assert [determinant for _, _, determinant in read] == written
    assert sum(length for _, length, _ in read) == len(data)
    assert [determinant for _, _, determinant in decode_all(memoryview(data))] == written


@given(st.lists(determinants, max_size=30))
def test_a_second_decoder_reads_the_same(written):
    data = b"".join(map(encode, written))
    ours = [(offset, length, one.kind, asdict(one)) for offset, length, one in decode_all(data)]
    assert ours == decode_stream(data)


@given(st.lists(determinants, min_size=1, max_size=5), st.data())
def test_a_stream_cut_anywhere_keeps_what_stands_before_the_cut(written, data):
    whole = b"".join(map(encode, written))
    cut = data.draw(st.integers(0, len(whole) - 1))
    read, fault = [], None
    try:
        for offset, length, one in decode_all(whole[:cut]):
            read.append((offset, length, one))
    except CorruptDeterminant as caught:
        fault = caught
    assert [one for _, _, one in read] == written[: len(read)]
    end = sum(length for _, length, _ in read)
    if fault is None:
        assert end == cut
    else:
        assert fault.offset == end and len(encode(written[len(read)])) > cut - end


@given(st.binary(max_size=200))
@example(b"\x03\xac\xed\x00\x05\x73\x72\x00\x00" + bytes(8) + b"\x02\xff\xff")
def test_any_bytes_are_read_or_refused(data):
    try:
        found = list(decode_all(data))
    except CorruptDeterminant as fault:
        assert 0 <= fault.offset < len(data)
    else:
        assert b"".join(encode(one) for _, _, one in found) == data


@given(st.sampled_from(STREAMS), st.data())
def test_a_damaged_stream_is_read_or_refused(stream, data):
    whole = bytearray.fromhex(stream["hex"])
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        list(decode_all(bytes(whole)))
    except CorruptDeterminant as fault:
        assert 0 <= fault.offset < len(whole)


def ends_or_fault(ends):
    found = []
    try:
        found.extend(ends)
    except CorruptDeterminant as fault:
        return found, str(fault), fault.offset, fault.tag, fault.path
    return found, None


@given(
    st.one_of(st.binary(max_size=200), st.lists(determinants, max_size=9).map(lambda all_: b"".join(map(encode, all_))))
)
@example(b"\x01\x00\x00")
@example(b"\x00")
@example(b"\x00\x05\xff")
@example(encode(Timestamp(5)) + b"\x10\x00")
def test_ends_are_those_of_what_is_read(data):
    read = (offset + length for offset, length, _ in decode_all(data, "a.det"))
    assert ends_or_fault(ends_of(data, "a.det")) == ends_or_fault(read)


@given(determinants)
def test_a_determinant_is_as_large_as_it_is_written(determinant):
    assert size_of(determinant) == len(encode(determinant))


def test_a_fault_survives_the_way_between_processes():
    with pytest.raises(CorruptDeterminant) as caught:
        list(decode_all(b"\x09", "x.det"))
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert (str(again), again.offset, again.tag) == (str(caught.value), 0, 9)
