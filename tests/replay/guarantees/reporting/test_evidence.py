"""Every form of evidence that `claims` names is taken apart, said in words, and never guessed at."""

import re

import pytest

from replay.guarantees import claims
from replay.guarantees.reporting.evidence import Evidence, evidence, in_words

NAMES = {
    "event:12": (Evidence("event", number=12), "event 12"),
    "det:map-1.0/2/out-0/3#1204": (
        Evidence("det", "map-1.0", thread="out-0", attempt=2, epoch=3, number=1204),
        "determinant 1,204 of map-1.0, attempt 2, out-0, epoch 3",
    ),
    "log:map-1.0/0/main/3@77": (
        Evidence("log", "map-1.0", thread="main", attempt=0, epoch=3, number=77),
        "log of map-1.0, attempt 0, main, epoch 3, from byte 77",
    ),
    "buffer:a.0>b.1/0#5": (
        Evidence("buffer", channel="a.0>b.1", attempt=0, number=5),
        "buffer 5 of a.0>b.1, attempt 0",
    ),
    "sending:a.0>b.1/0#5/2": (
        Evidence("sending", channel="a.0>b.1", attempt=0, number=5, sending=2),
        "sending 2 of buffer 5 of a.0>b.1, attempt 0",
    ),
    "receipt:a.0>b.1/0#5/2": (
        Evidence("receipt", channel="a.0>b.1", attempt=0, number=5, sending=2),
        "receipt 2 of buffer 5 of a.0>b.1, attempt 0",
    ),
    "source:in.0/1#1207": (
        Evidence("source", "in.0", attempt=1, number=1207),
        "source record 1,207 of in.0, attempt 1",
    ),
    "sink:sink.0/1/2#9": (
        Evidence("sink", "sink.0", attempt=1, epoch=2, number=9),
        "output 9 of sink.0, attempt 1, epoch 2",
    ),
    "state:map-1.0/1/4": (Evidence("state", "map-1.0", attempt=1, number=4), "snapshot 4 of map-1.0, attempt 1"),
    "outside:orders.db#3": (Evidence("outside", "orders.db", number=3), "row 3 of orders.db"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_taken_apart_and_said_in_words(name: str) -> None:
    assert (evidence(name), in_words(name)) == NAMES[name]


def test_every_form_that_claims_may_name_is_known() -> None:
    documented = re.findall(r"^ {4}(\w+):", claims.__doc__ or "", re.MULTILINE)
    assert documented == [name.partition(":")[0] for name in NAMES]


@pytest.mark.parametrize("name", ["", "event:", "event:x", "det:a/0/main/3", "step:4", f"event:{'9' * 400}", "det:a#1"])
def test_what_has_no_such_form_stands_for_itself(name: str) -> None:
    assert evidence(name) is None and in_words(name) == (name if len(name) < 200 else f"{name[:200]}…")


def test_a_task_may_be_called_anything() -> None:
    found = evidence("det:<b>#7&\u202e\n.0/1/main/2#3")
    assert found is not None and (found.task, found.number) == ("<b>#7&\u202e\n.0", 3)
    assert "\n" not in found.words and "\u202e" not in found.words
