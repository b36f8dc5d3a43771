"""Bundles that anybody may write: numbers without measure and members that are no members end in words, and soon."""

import random

import pytest

from bench.truths.worlds import known_world
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.guarantees.audit import audit
from replay.guarantees.ledger import delivery, ledger, processing
from replay.model import json_bytes, read_json


def test_an_offset_beyond_measure_is_named_and_not_counted_up_to() -> None:
    known = known_world(7_001)
    name = next(one for one in sorted(known.members) if "/source/" in one)
    line = b'{"offset":9000000000000000000,"t_us":1,"record":["k",1,1]}\n'
    bundle = Bundle(MembersInMemory({**known.members, name: known.members[name] + line}))
    assert processing(bundle).verdict == "undecided"


def test_changed_bytes_anywhere_end_in_a_verdict_and_never_in_a_wrong_one() -> None:
    draw = random.Random("changed bytes")
    known = known_world(7_002)
    members = {name: data for name, data in known.members.items() if name != "job.json" and data}
    for number in range(25):
        name = draw.choice(sorted(members))
        at = draw.randrange(len(members[name]))
        changed = members[name][:at] + bytes([members[name][at] ^ (1 << draw.randrange(8))]) + members[name][at + 1 :]
        bundle = Bundle(MembersInMemory({**known.members, name: changed}))
        for section, truth in ((processing, known.truth.processing), (delivery, known.truth.delivery)):
            verdict = section(bundle).verdict
            assert verdict != "exactly once" or truth == verdict, f"change {number} in {name} at {at}: {verdict}"
        assert ledger(bundle).sentence


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b'{"n":0,"t_us":0,"type":"attempt-started","task":[1],"attempt":0}\n', "task"),
        (b'{"n":0,"t_us":0,"type":"epoch-committed","task":"sink.0","epoch":0,"txn":{}}\n', "txn"),
        (b'{"n":0,"t_us":0,"type":"checkpoint-completed","checkpoint":1,"re":[]}\n', "re"),
    ],
)
def test_an_event_that_names_something_by_more_than_one_value_is_damaged(line: bytes, name: str) -> None:
    bundle = Bundle(MembersInMemory({**known_world(7_001).members, "events.ndjson": line}))
    said = [one.sentence for one in processing(bundle).lacks]
    assert any(f"the {name} of event 0 is no single value" in one for one in said), said


def test_an_event_of_a_type_of_its_writers_may_have_any_fields() -> None:
    known = known_world(7_001)
    events = known.members["events.ndjson"]
    own = {
        "n": events.count(b"\n"),
        "t_us": 1 << 40,
        "type": "checked",
        "task": [1],
        "attempt": {},
        "result": {"is": []},
    }
    bundle = Bundle(MembersInMemory({**known.members, "events.ndjson": events + json_bytes(own) + b"\n"}))
    assert processing(bundle).verdict == known.truth.processing


def test_writes_of_no_transaction_and_a_recording_of_next_to_nothing_are_undecided() -> None:
    known = known_world(7_001)
    name = next(one for one in sorted(known.members) if "/sink/" in one)
    manifest = read_json(known.members["job.json"])
    manifest["protocol"]["sink"] = "transactional"
    odd = b'{"n":null,"t_us":1,"record":["k",1,1],"source":[["source.0",0]],"txn":{"a":[]},"id":[]}\n'
    members = {**known.members, "job.json": json_bytes(manifest), name: odd}
    assert (
        audit(Bundle(MembersInMemory(members)), only=["delivery", "recoverability"]).verdicts["delivery"] == "undecided"
    )
    alone = {one: known.members[one] for one in ("job.json", "events.ndjson")}
    for members in (alone, {**alone, "events.ndjson": b""}):
        bundle = Bundle(MembersInMemory(members))
        assert processing(bundle).verdict == delivery(bundle).verdict == "undecided"
