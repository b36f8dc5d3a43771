"""Choices are made and logged, or taken from a log and logged again in the same order."""

from __future__ import annotations

import pytest

from replay.errors import InvariantError
from replay.log.codec import encode
from replay.log.determinants import Determinant, IgnoreCheckpoint, Order, Timestamp
from replay.services import CausalClock, Choices, Cursor, Divergence


class Wall:
    def __init__(self, now_ms: int) -> None:
        self.now = now_ms

    def now_ms(self) -> int:
        return self.now

    def random_int32(self) -> int:
        raise AssertionError("only the clock is asked here")

    def external(self, call: str, request: object, effect: str) -> object:
        raise AssertionError("only the clock is asked here")


def log_of(*determinants: Determinant) -> bytes:
    return b"".join(map(encode, determinants))


def choices(logs: dict[int, bytes]) -> tuple[Choices, list[tuple[Determinant, int]]]:
    appended: list[tuple[Determinant, int]] = []
    return Choices(lambda one, epoch: appended.append((one, epoch)), cursor=Cursor(logs)), appended


def test_a_live_clock_logs_what_it_read() -> None:
    live, appended = choices({})
    assert CausalClock(live, Wall(5)).now_ms() == 5
    assert appended == [(Timestamp(5), 0)]


def test_a_replayed_clock_reads_the_log_and_goes_on_live_at_its_end() -> None:
    replayed, appended = choices({0: log_of(Timestamp(1), Timestamp(2))})
    clock = CausalClock(replayed, Wall(9))
    assert [clock.now_ms() for _ in range(3)] == [1, 2, 9]
    assert [one for one, _ in appended] == [Timestamp(1), Timestamp(2), Timestamp(9)]
    assert not replayed.replaying


def test_an_interruption_is_due_at_its_record_count_and_not_before() -> None:
    replayed, _ = choices({0: log_of(Order(1), IgnoreCheckpoint(3, 7))})
    assert replayed.due(3) is None, "what stands before it comes first"
    replayed.follow(Order)
    assert replayed.due(2) is None
    assert replayed.due(3) == IgnoreCheckpoint(3, 7)


def test_another_kind_than_the_logged_one_is_a_divergence_with_its_place() -> None:
    replayed, _ = choices({0: log_of(Order(1), Order(0))})
    replayed.follow(Order)
    with pytest.raises(Divergence) as parted:
        CausalClock(replayed, Wall(9)).now_ms()
    assert (parted.value.epoch, parted.value.offset) == (0, 2)
    assert "timestamp" in parted.value.asked


def test_an_epoch_that_is_used_up_does_not_lend_from_the_next() -> None:
    replayed, _ = choices({1: log_of(Timestamp(4))})
    with pytest.raises(Divergence):
        CausalClock(replayed, Wall(9)).now_ms()


def test_a_missed_interruption_is_a_divergence() -> None:
    replayed, _ = choices({0: log_of(IgnoreCheckpoint(3, 7))})
    with pytest.raises(Divergence):
        replayed.due(4)


def test_there_is_nothing_to_follow_where_nothing_is_replayed() -> None:
    live, _ = choices({})
    with pytest.raises(InvariantError):
        live.follow(Order)
