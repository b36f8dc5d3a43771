"""Walking Java streams: what the real java.io.ObjectOutputStream wrote, and what nobody should have written."""

import json
import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import CorruptDeterminant
from replay.log.java_stream import MAX_CLASSES, MAX_NESTING, MAX_SUPERCLASSES, end_of_stream

WRITTEN = json.loads((Path(__file__).parent / "java" / "java_streams.json").read_text())
MAGIC = b"\xac\xed\x00\x05"
NULL, STRING = b"\x70", b"\x74\x00\x01x"


def reference(handle):
    return b"\x71" + struct.pack(">i", 0x7E0000 + handle)


def class_desc(name=b"C", flags=2, fields=b"\x00\x00", annotation=b"", parent=NULL):
    return (
        b"\x72"
        + struct.pack(">H", len(name))
        + name
        + bytes(8)
        + bytes([flags])
        + fields
        + annotation
        + b"\x78"
        + parent
    )


@pytest.mark.parametrize("written", WRITTEN, ids=lambda one: one["what"])
def test_the_end_is_found_whatever_surrounds_the_stream(written):
    data = bytes.fromhex(written["hex"])
    for before, after in ((b"", b""), (b"\x03", b"\x00\x02"), (b"xyz", b"\x78\x70" * 9)):
        whole = before + data + after
        assert end_of_stream(whole, len(before), len(whole)) == len(before) + len(data)


@pytest.mark.parametrize("written", WRITTEN, ids=lambda one: one["what"])
def test_a_stream_cut_short_is_refused(written):
    data = bytes.fromhex(written["hex"])
    for cut in {*range(0, len(data), max(1, len(data) // 50)), len(data) - 1}:
        with pytest.raises(CorruptDeterminant, match="are left"):
            end_of_stream(data, 0, cut)


@given(st.sampled_from([one for one in WRITTEN if len(one["hex"]) < 20_000]), st.data())
def test_a_damaged_stream_ends_somewhere_inside_or_is_refused(written, data):
    whole = bytearray.fromhex(written["hex"])
    for _ in range(data.draw(st.integers(1, 5))):
        whole[data.draw(st.integers(4, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        end = end_of_stream(bytes(whole), 0, len(whole))
    except CorruptDeterminant as fault:
        assert "the Java stream breaks its grammar at its byte" in str(fault)
    else:
        assert 4 < end <= len(whole)


REFUSED = {
    "no magic": (b"\xac\xed\x00\x04" + NULL, "AC ED 00 05"),
    "unknown tag": (MAGIC + b"\x6f", "tag 0x6f"),
    "block data where a value must be": (MAGIC + b"\x77\x00", "tag 0x77"),
    "reset": (MAGIC + b"\x79" + NULL, "tag 0x79"),
    "an exception of the writer": (MAGIC + b"\x7b", "recorded an exception"),
    "a reference to nothing": (MAGIC + reference(0), "not shown yet"),
    "a negative reference": (MAGIC + b"\x71" + b"\xff" * 4, "not shown yet"),
    "an object of null class": (MAGIC + b"\x73" + NULL, "of no class"),
    "a string for a class": (MAGIC + b"\x73" + STRING, "a class must stand here"),
    "an object that is its own class": (MAGIC + b"\x73" + class_desc(parent=reference(0)), "does not lead to a class"),
    "a negative long string": (MAGIC + b"\x7c" + b"\xff" * 8, "-1 bytes are needed"),
    "a gigantic long string": (MAGIC + b"\x7c\x7f" + b"\xff" * 7, "are left"),
    "a negative array": (MAGIC + b"\x75" + class_desc(b"[I") + b"\xff" * 4, "negative size"),
    "a gigantic array": (MAGIC + b"\x75" + class_desc(b"[J") + b"\x7f\xff\xff\xff", "are left"),
    "a gigantic array of objects": (MAGIC + b"\x75" + class_desc(b"[L") + b"\x7f\xff\xff\xff" + NULL * 9, "are left"),
    "an array of no array class": (MAGIC + b"\x75" + class_desc(b"C") + bytes(4), "no array class"),
    "an array without a component": (MAGIC + b"\x75" + class_desc(b"[") + bytes(4), "no component type"),
    "an unknown field type": (MAGIC + b"\x73" + class_desc(fields=b"\x00\x01Q\x00\x01q"), "a field is of type"),
    "primitives behind objects": (
        MAGIC + b"\x73" + class_desc(fields=b"\x00\x02L\x00\x01o" + STRING + b"I\x00\x01i"),
        "behind an object field",
    ),
    "a class of both ways": (MAGIC + b"\x73" + class_desc(flags=6), "both serializable and externalizable"),
    "an externalizable of protocol 1": (MAGIC + b"\x73" + class_desc(flags=4), "no end that can be found"),
    "a proxy of minus one": (MAGIC + b"\x73\x7d" + b"\xff" * 4, "-1 interfaces"),
    "an enum without a constant": (MAGIC + b"\x7e" + class_desc(flags=18) + NULL, "a string must stand here"),
    "an enum whose constant is no string": (MAGIC + b"\x7e" + class_desc(flags=18) + reference(0), "to a string"),
}


@pytest.mark.parametrize(("data", "rule"), REFUSED.values(), ids=REFUSED.keys())
def test_each_broken_rule_of_the_grammar_is_named(data, rule):
    with pytest.raises(CorruptDeterminant, match=rule):
        end_of_stream(data, 0, len(data))


def test_nesting_costs_no_recursion_and_is_bounded():
    array = b"\x75" + class_desc(b"[L") + struct.pack(">i", 1)
    again = b"\x75" + reference(0) + struct.pack(">i", 1)
    deep = MAGIC + array + again * (MAX_NESTING // 4) + NULL
    assert end_of_stream(deep, 0, len(deep)) == len(deep)
    deeper = MAGIC + array + again * 2 * MAX_NESTING + NULL
    with pytest.raises(CorruptDeterminant, match="nests deeper"):
        end_of_stream(deeper, 0, len(deeper))


def test_classes_and_ancestors_are_bounded():
    line = MAGIC + b"\x73" + b"".join(class_desc(parent=b"") for _ in range(MAX_SUPERCLASSES + 2)) + NULL
    with pytest.raises(CorruptDeterminant, match="ancestors"):
        end_of_stream(line, 0, len(line))
    many = b"".join(b"\x76" + class_desc() for _ in range(MAX_CLASSES + 1))
    crowd = MAGIC + b"\x75" + class_desc(b"[L") + struct.pack(">i", MAX_CLASSES + 1) + many
    with pytest.raises(CorruptDeterminant, match="classes"):
        end_of_stream(crowd, 0, len(crowd))


def test_a_hostile_stream_costs_memory_in_proportion_to_its_bytes():
    # Each object of six bytes claims a thousand fields of which only the first is ever reached.
    fields = struct.pack(">H", 1000) + b"".join(
        b"L\x00\x01f" + (STRING if i == 0 else reference(1)) for i in range(1000)
    )
    first = b"\x73" + class_desc(fields=fields)
    data = MAGIC + first + (b"\x73" + reference(0)) * 8000
    tracemalloc.start()
    with pytest.raises(CorruptDeterminant):
        end_of_stream(data, 0, len(data))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
