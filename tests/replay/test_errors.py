"""Errors read as one sentence: where, what rule, what to do."""

import pickle

import pytest

from replay.errors import (
    BundleError,
    CorruptRecording,
    DeltaGap,
    InvariantError,
    ReplayError,
    UnexpectedEvent,
    check,
    printable,
)
from replay.model import LogId


def test_a_sentence_has_place_rule_and_remedy():
    fault = BundleError("two members have this name", path="job.json", offset=12, remedy="Pack it again")
    assert str(fault) == "job.json at offset 12: two members have this name. Pack it again."
    assert str(ReplayError("why")) == "why."
    assert str(ReplayError("why", path="x")) == "x: why."
    assert str(ReplayError("why", offset=0)) == "offset 0: why."


def test_what_a_hostile_file_says_is_shown_harmlessly():
    assert printable("a\nb\x1b[31m\u202eü") == "a\\nb\\x1b[31m\\u202eü"
    assert printable("\udcff") == "\\udcff"
    assert printable("x" * 999) == "x" * 200 + "…"
    assert str(BundleError("why", path="a\nb")).startswith("a\\nb: ")


def test_faults_survive_the_way_between_processes():
    gap = DeltaGap("why", channel="a.0>b.0", log=LogId("a.0", "main"), epoch=3, path="x", offset=4, remedy="r")
    again = pickle.loads(pickle.dumps(gap))  # noqa: S301
    assert (again.channel, again.log, again.epoch, again.path, again.offset) == (
        "a.0>b.0",
        LogId("a.0", "main"),
        3,
        "x",
        4,
    )
    assert str(again) == str(gap)
    recording = CorruptRecording("why", holders=("a", "b"))
    assert pickle.loads(pickle.dumps(recording)).holders == ("a", "b")  # noqa: S301


def test_check_raises_what_the_program_broke():
    check(True, "fine")
    with pytest.raises(InvariantError, match="no good"):
        check([], "no good")
    assert issubclass(UnexpectedEvent, InvariantError)
