"""Places for requests: taken one by one, given back whatever happens, and refused in a sentence when none is free."""

from __future__ import annotations

import threading

import pytest

from dashboard.problems import Problem
from dashboard.turns import Turns

BUSY = "Another one is at it; try again."


def test_who_finds_no_place_is_told_and_takes_none() -> None:
    turns = Turns(BUSY, at_once=2, wait_s=0.01)
    with turns.taken():
        with turns.taken(), pytest.raises(Problem, match=BUSY) as refused, turns.taken():
            raise AssertionError("a third was let in")
        assert refused.value.status == 503
        with turns.taken():
            pass


def test_a_place_is_given_back_where_what_was_done_there_failed() -> None:
    turns = Turns(BUSY, wait_s=0.01)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), turns.taken():
            raise ZeroDivisionError


def test_who_waits_gets_the_place_that_becomes_free() -> None:
    turns = Turns(BUSY, wait_s=30)
    got = threading.Event()

    def wait() -> None:
        with turns.taken():
            got.set()

    with turns.taken():
        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not got.is_set()
    waiting.join(30)
    assert got.is_set()
