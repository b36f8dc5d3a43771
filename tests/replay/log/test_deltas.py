"""Delta messages: Clonos' own in both layouts, and bytes that are none."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import CorruptMember, InvariantError
from replay.log.deltas import DeltaEntry, LogIds, WireId, decode_extents, decode_message, encode_flat, encode_grouping
from replay.model import LogId
from tests.replay.log.clonos import entries_of, ids_of, scenarios
from tests.replay.log.graphs import graph

MESSAGES = [
    pytest.param(scenario, op, id=f"{scenario['name']}-{i}")
    for scenario in scenarios()
    for i, op in enumerate(scenario["ops"])
    if op["op"] == "enrich" and op["delta_hex"]
]
ENCODERS = {"flat": encode_flat, "grouping": encode_grouping}


def layout_of(scenario):
    return scenario["nodes"][0]["strategy"].lower()


@pytest.mark.parametrize(("scenario", "op"), MESSAGES)
def test_every_message_of_clonos_is_read(scenario, op):
    ids, data = ids_of(scenario), bytes.fromhex(op["delta_hex"])
    read = decode_message(data, ids, layout_of(scenario))
    assert {(ids.wire(one.log), one.epoch, one.offset, one.data) for one in read} == entries_of(op["decoded"])


@pytest.mark.parametrize(("scenario", "op"), MESSAGES)
def test_every_message_of_clonos_is_written_alike(scenario, op):
    ids, data = ids_of(scenario), bytes.fromhex(op["delta_hex"])
    read = decode_message(data, ids, layout_of(scenario))
    # A message without news is of 12 bytes there; ours sends none.
    assert ENCODERS[layout_of(scenario)](read, ids) == (data if read else b"")


@pytest.mark.parametrize(("scenario", "op"), MESSAGES)
def test_a_message_of_clonos_cut_anywhere_is_refused(scenario, op):
    ids, data = ids_of(scenario), bytes.fromhex(op["delta_hex"])
    for cut in range(1, len(data)):
        with pytest.raises(CorruptMember) as caught:
            decode_message(data[:cut], ids, layout_of(scenario), path="x.dlt", at=100)
        assert caught.value.path == "x.dlt"
        assert 100 <= caught.value.offset <= 100 + cut


JOB = graph(
    [("a.0", "b.0"), ("a.0", "b.1"), ("b.0", "c.0"), ("b.1", "c.0")],
    numbers={"a.0": 40000, "c.0": 900},
    partitions={"b.0": (-1, 7)},
)
IDS = LogIds.of(JOB.manifest)
LOGS = [LogId(task.id, thread) for task in JOB.tasks for thread in task.threads]

messages = st.lists(
    st.tuples(
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.dictionaries(
            st.sampled_from(LOGS), st.tuples(st.integers(0, (1 << 31) - 1), st.binary(max_size=20)), min_size=1
        ),
    ),
    unique_by=lambda pair: pair[0],
    max_size=4,
).map(
    lambda epochs: [
        DeltaEntry(log, epoch, offset, data)
        for epoch, logs in sorted(epochs)
        for log, (offset, data) in sorted(logs.items())
    ]
)


@pytest.mark.parametrize("layout", ["flat", "grouping"])
@given(messages)
def test_what_was_written_is_read_back(layout, entries):
    data = ENCODERS[layout](entries, IDS)
    # The grouping layout has a task's logs together, so order within an epoch is its own.
    assert sorted(decode_message(data, IDS, layout), key=key) == sorted(entries, key=key)
    for one in decode_extents(data, IDS, layout):
        assert DeltaEntry(one.log, one.epoch, one.offset, data[one.at : one.at + one.length]) in entries


def test_a_name_that_two_logs_share_is_neither_written_nor_believed():
    one, other, third = LogId("a.0", "out-0"), LogId("a.0", "out-256"), LogId("a.0", "main")
    ids = LogIds({one: WireId(1, (0, 0), 0), other: WireId(1, (0, 0), 0), third: WireId(1)})
    assert ids.log(WireId(1)) == third and ids.log(WireId(1, (0, 0), 0)) is None
    with pytest.raises(InvariantError, match="shares its name on the wire"):
        encode_flat([DeltaEntry(other, 0, 0, b"x")], ids)


def key(entry):
    return entry.epoch, entry.log


@given(messages)
def test_the_flat_layout_is_as_the_format_says(entries):
    """A second reading of the flat layout, by the format's words alone."""
    data, at, read = encode_flat(entries, IDS), 0, []
    while at < len(data):
        header_bytes, epoch = struct.unpack_from(">iq", data, at)
        head, body = data[at + 12 : at + header_bytes], at + header_bytes
        while head:
            number, is_main = struct.unpack_from(">HB", head)
            head = head[3:]
            thread = "main"
            if not is_main:
                lower, upper, sub = struct.unpack_from(">qqB", head)
                head = head[17:]
                thread = f"out-{sub}"
                assert (lower, upper) == ((-1, 7) if number == JOB.task("b.0").number else (0, 0))
            offset, length = struct.unpack_from(">ii", head)
            head = head[8:]
            task = next(task.id for task in JOB.tasks if task.number == number)
            read.append(DeltaEntry(LogId(task, thread), epoch, offset, data[body : body + length]))
            body += length
        at = body
    assert read == entries


@given(st.binary(max_size=120), st.sampled_from(["flat", "grouping"]))
def test_any_bytes_are_read_or_refused(data, layout):
    try:
        decode_message(data, IDS, layout)
    except CorruptMember as fault:
        assert 0 <= fault.offset <= len(data)


@given(messages, st.sampled_from(["flat", "grouping"]), st.data())
def test_damaged_messages_are_read_or_refused(entries, layout, data):
    whole = bytearray(ENCODERS[layout](entries, IDS))
    if whole:
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        read = decode_message(bytes(whole), IDS, layout)
    except CorruptMember as fault:
        assert 0 <= fault.offset <= len(whole)
    else:
        assert sum(len(one.data) for one in read) <= len(whole)


def message(*, header=None, epoch=0, entry=b"", data=b""):
    return struct.pack(">iq", 12 + len(entry) if header is None else header, epoch) + entry + data


MAIN_OF_C = struct.pack(">HB", 900, 1)
BAD = {
    "header too small": (message(header=11), "the delta header claims 11 bytes"),
    "header negative": (message(header=-1), "the delta header claims -1 bytes"),
    "header too large": (message(header=13), "the delta header claims 13 bytes"),
    "unknown task": (message(entry=struct.pack(">HBii", 9, 1, 0, 0)), "main log of task number 9, which the manifest"),
    "unknown output": (message(entry=struct.pack(">HBqqBii", 900, 0, 0, 0, 0, 0, 0)), "output 0 of partition"),
    "a name of two logs": (
        message(entry=struct.pack(">HBqqBii", 40000, 0, 0, 0, 5, 0, 0)),
        "which the manifest does not give to one log",
    ),
    "flag": (message(entry=struct.pack(">HBii", 900, 2, 0, 0)), "a flag of the delta header is 2"),
    "negative offset": (message(entry=MAIN_OF_C + struct.pack(">ii", -1, 0)), "claims offset -1"),
    "negative length": (message(entry=MAIN_OF_C + struct.pack(">ii", 0, -1)), "and -1 bytes"),
    "gigantic length": (message(entry=MAIN_OF_C + struct.pack(">ii", 0, (1 << 31) - 1)), "and 2147483647 bytes"),
    "entry past the header": (message(entry=MAIN_OF_C, data=bytes(8)), "cut short"),
    "epochs that fall": (message(epoch=4) + message(epoch=3), "epoch 3 follows that of epoch 4"),
    "an epoch twice": (message(epoch=4) + message(epoch=4), "epoch 4 follows that of epoch 4"),
}


@pytest.mark.parametrize(("data", "rule"), BAD.values(), ids=BAD.keys())
def test_each_broken_rule_is_named(data, rule):
    with pytest.raises(CorruptMember, match=rule) as caught:
        decode_message(data, IDS, "flat", path="tasks/b.0/0/sent-0/0.dlt", at=1000)
    assert str(caught.value).startswith("tasks/b.0/0/sent-0/0.dlt at offset 10")
