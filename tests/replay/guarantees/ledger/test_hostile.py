"""Bundles that anybody may write: numbers without measure and members that are no members end in words, and soon."""

import random

from bench.truths.worlds import known_world
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.guarantees.ledger import delivery, ledger, processing


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
