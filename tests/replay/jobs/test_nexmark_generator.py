"""NEXMark's events: their proportions and references, when they come, and that any offset can be read again."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

from replay.jobs.nexmark.generator import Generator, Habits
from replay.jobs.nexmark.partition import HeldBack, NexmarkPartition
from replay.jobs.nexmark.rate import SHAPES, Rate

PERSON = ["id", "name", "emailAddress", "creditCard", "city", "state", "dateTime", "extra"]
AUCTION = [
    "id",
    "itemName",
    "description",
    "initialBid",
    "reserve",
    "dateTime",
    "expires",
    "seller",
    "category",
    "extra",
]
BID = ["auction", "bidder", "price", "dateTime", "extra"]
KINDS = {tuple(PERSON): "person", tuple(AUCTION): "auction", tuple(BID): "bid"}


def made(
    partitions: int, each: int, *, seed: int = 5, held_back_ms: int = 0, shape: str = "sine", **habits: Any
) -> list[NexmarkPartition]:
    rate = Rate.shaped(shape, low_per_s=250.0, high_per_s=750.0, period_ms=2000)
    return [
        NexmarkPartition(
            Generator(seed=seed, partition=i, partitions=partitions, rate=rate, habits=Habits(**habits)),
            records=each,
            held_back=HeldBack(held_back_ms, one_in=10),
            seed=seed + i,
        )
        for i in range(partitions)
    ]


def everything(partitions: list[NexmarkPartition]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for partition in partitions:
        for offset in range(partition.records):
            value = partition.record(offset).value
            found.append((KINDS[tuple(value)], value))
    return found


def test_persons_auctions_and_bids_are_one_three_and_46_in_fifty() -> None:
    assert Counter(kind for kind, _ in everything(made(2, 500))) == {"person": 20, "auction": 60, "bid": 920}


@pytest.mark.parametrize("partitions", [1, 2, 5])
@pytest.mark.parametrize("held_back_ms", [0, 200])
def test_whoever_is_named_existed_by_then(partitions: int, held_back_ms: int) -> None:
    born: dict[tuple[str, int], int] = {}
    events = everything(made(partitions, 2000, held_back_ms=held_back_ms))
    for kind, value in events:
        if kind != "bid":
            assert born.setdefault((kind, value["id"]), value["dateTime"]) == value["dateTime"], "an id is given once"
    for kind, value in events:
        if kind == "auction":
            assert born["person", value["seller"]] <= value["dateTime"] < value["expires"]
            assert 100 <= value["initialBid"] < value["reserve"]
        if kind == "bid":
            assert born["auction", value["auction"]] <= value["dateTime"]
            assert born["person", value["bidder"]] <= value["dateTime"]
            assert type(value["price"]) is int


def test_some_sellers_auctions_and_bidders_are_hot() -> None:
    events = everything(made(1, 20_000))
    bids = [value for kind, value in events if kind == "bid"]
    on_hot = sum(one["auction"] % 100 == 0 for one in bids) / len(bids)
    by_hot = sum(one["bidder"] % 100 == 1 for one in bids) / len(bids)
    auctions = [value for kind, value in events if kind == "auction"]
    of_hot = sum(one["seller"] % 100 == 0 for one in auctions) / len(auctions)
    assert (on_hot, by_hot, of_hot) == (
        pytest.approx(0.5, abs=0.03),
        pytest.approx(0.75, abs=0.03),
        pytest.approx(0.75, abs=0.04),
    )


def test_an_offset_read_again_out_of_turn_gives_the_same_record() -> None:
    one, other = made(1, 1000, held_back_ms=150)[0], made(1, 1000, held_back_ms=150)[0]
    there = [one.record(offset).to_bytes() for offset in range(1000)]
    assert [other.record(offset).to_bytes() for offset in reversed(range(1000))] == there[::-1]
    assert made(1, 1000, held_back_ms=150, seed=6)[0].record(17).to_bytes() != there[17]


def test_every_event_comes_once_and_none_is_later_than_the_bound() -> None:
    (ordered,), (held_back,) = made(1, 3000), made(1, 3000, held_back_ms=200)
    times = [held_back.record(offset).timestamp for offset in range(3000)]
    assert sorted(held_back.record(offset).to_bytes() for offset in range(3000)) == sorted(
        ordered.record(offset).to_bytes() for offset in range(3000)
    )
    late_ms = [max(times[: i + 1]) - at_ms for i, at_ms in enumerate(times)]
    assert 0 < sum(ms > 0 for ms in late_ms) < 600
    assert 20 < max(late_ms) <= 200


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("held_back_ms", [0, 120])
def test_a_record_is_there_from_its_arrival_on_and_not_before(shape: str, held_back_ms: int) -> None:
    (partition,) = made(1, 1500, held_back_ms=held_back_ms, shape=shape)
    before_us = 0
    for offset in range(1500):
        at_us = partition.arrival_us(offset)
        assert at_us >= before_us
        assert partition.there_at(at_us) > offset
        assert at_us == 0 or partition.there_at(at_us - 1) <= offset
        assert at_us // 1000 >= partition.record(offset).timestamp - 1_600_000_000_000
        before_us = at_us
    assert partition.there_at(10**12) == 1500


def test_the_rate_rises_and_falls() -> None:
    (partition,) = made(1, 4000, shape="square")
    there = [partition.there_at(second * 1_000_000) for second in range(5)]
    assert [after - before for before, after in pairwise(there)] == [750, 250, 750, 250]


@pytest.mark.parametrize("wanted", [119, 200, 1000])
def test_records_have_the_size_asked_for_on_average(wanted: int) -> None:
    (partition,) = made(1, 5000, record_bytes=wanted)
    assert sum(len(partition.record(i).to_bytes()) for i in range(5000)) / 5000 == pytest.approx(wanted, rel=0.03)
