"""Sections of an audit hold so many claims and count the others."""

import json

from replay.guarantees.claims import MOST_CLAIMS, MOST_EVIDENCE, Section


def test_what_is_too_much_is_counted() -> None:
    section = Section("delivery", "Delivery")
    for number in range(MOST_CLAIMS + 3):
        section.claim(f"task:{number}", "exactly once", "It is.", (f"event:{n}" for n in range(MOST_EVIDENCE + 5)))
        section.lack("job", f"It can't be said of {number}.", "events.ndjson")
    assert (len(section.claims), section.claims_left_out) == (MOST_CLAIMS, 3)
    assert (len(section.lacks), section.lacks_left_out) == (MOST_CLAIMS, 3)
    assert len(section.claims[0].evidence) == MOST_EVIDENCE


def test_the_same_lack_is_said_once_and_all_is_json() -> None:
    section = Section("delivery", "Delivery", good=False, numbers={"outputs": 3})
    for _ in range(2):
        section.lack("sink:sink", "Nobody knows.", "tasks/sink.0/0/sink/0.ndjson")
    section.claim("job", "at least once", "1207 went out twice.", ["sink:p.0/0/0#1", "sink:p.0/1/0#1"])
    told = json.loads(json.dumps(section.to_json()))
    assert len(told["lacks"]) == 1 and told["claims"][0]["evidence"] == ["sink:p.0/0/0#1", "sink:p.0/1/0#1"]
