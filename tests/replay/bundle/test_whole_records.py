"""A recording that goes on: members end with the last record that is there as a whole."""

from __future__ import annotations

import pytest

from replay.bundle.frames import ReceiptFrame
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.whole_records import WholeRecords
from replay.log.codec import encode
from replay.log.determinants import Order, Serializable, SourceCheckpoint, TimerTrigger, Timestamp

RECEIPT = ReceiptFrame(1, 0, 0, 10, 20, 0, 0, 0).to_bytes()
WHOLE = {
    "tasks/a.0/0/main/0.det": (encode(Order(1)), encode(Timestamp(7))),
    "tasks/a.0/0/main/1.det": (encode(Order(1)), encode(Serializable(b"CL\x02\x00\x00\x00\x02hi"))),
    "tasks/a.0/0/main/2.det": (encode(Order(1)), encode(Serializable(bytes.fromhex("aced00057400026869")))),
    "tasks/a.0/0/main/3.det": (encode(Order(1)), encode(TimerTrigger(1, 2, "internal:clock"))),
    "tasks/a.0/0/main/4.det": (encode(Order(1)), encode(SourceCheckpoint(1, 2, 3, "savepoint", b"here"))),
    "tasks/a.0/0/received-0/0.rcv": (RECEIPT, RECEIPT),
    "tasks/a.0/0/sink/0.ndjson": (b'{"n":0}\n', b'{"n":1}\n'),
}


@pytest.mark.parametrize("name", WHOLE)
def test_wherever_a_member_is_cut_only_whole_records_are_left(name: str) -> None:
    first, second = WHOLE[name]
    for length in range(len(first) + len(second) + 1):
        members = WholeRecords(MembersInMemory({name: (first + second)[:length]}))
        left = b"" if length < len(first) else first if length < len(first) + len(second) else first + second
        with members.open(name) as stream:
            assert (members.size(name), members.read(name), stream.read()) == (len(left), left, left)


def test_a_torn_snapshot_is_none_yet() -> None:
    name = "tasks/a.0/0/state/1.json"
    torn = WholeRecords(MembersInMemory({name: b'{"operator":'}))
    assert name not in torn and list(torn.names()) == []
    assert name in WholeRecords(MembersInMemory({name: b"{}"}))


def test_what_is_damaged_and_not_torn_stays() -> None:
    name = "tasks/a.0/0/main/0.det"
    damaged = encode(Order(1)) + b"\xff" + encode(Order(1))
    assert WholeRecords(MembersInMemory({name: damaged})).read(name) == damaged


def test_a_last_line_is_found_however_long_it_is() -> None:
    name = "tasks/a.0/0/sink/0.ndjson"
    whole = b'{"n":0}\n'
    assert WholeRecords(MembersInMemory({name: whole + b"x" * 200_000})).read(name) == whole
    assert WholeRecords(MembersInMemory({name: b"x" * 200_000})).read(name) == b""
