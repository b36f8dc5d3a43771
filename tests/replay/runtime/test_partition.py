"""Which outputs a record goes to, edge by edge."""

from __future__ import annotations

from replay.model import Graph, Record
from replay.runtime.body.partition import partitions
from tests.replay.runtime import eventful


class Numbers:
    def __init__(self) -> None:
        self.bounds: list[int] = []

    def next_int(self, bound: int) -> int:
        self.bounds.append(bound)
        return len(self.bounds) % bound


def sent(ship: str, records: int = 7, parallelism: int = 3) -> tuple[list[tuple[int, ...]], Numbers]:
    numbers = Numbers()
    graph = Graph(eventful.manifest(ships=(ship, "hash", "hash"), parallelism=parallelism))
    (edge,) = partitions(graph, "source.0", numbers)
    edge.begin_epoch()
    found = [tuple(edge.of(Record(f"k{n}", 0, n))) for n in range(records)]
    edge.begin_epoch()
    return [*found, tuple(edge.of(Record("k0", 0, 0)))], numbers


def test_rebalance_goes_round_and_begins_anew_with_every_epoch() -> None:
    found, numbers = sent("rebalance")
    assert found == [(0,), (1,), (2,), (0,), (1,), (2,), (0,), (0,)]
    assert numbers.bounds == []


def test_random_asks_the_random_service() -> None:
    found, numbers = sent("random")
    assert numbers.bounds == [3] * 8
    assert found[:3] == [(1,), (2,), (0,)]


def test_where_there_is_no_choice_nothing_is_drawn() -> None:
    found, numbers = sent("random", parallelism=1)
    assert set(found) == {(0,)} and numbers.bounds == []


def test_a_key_always_goes_the_same_way() -> None:
    found, _ = sent("hash", records=40)
    assert found[0] == found[-1] and {k for (k,) in found} == {0, 1, 2}


def test_broadcast_goes_everywhere_and_forward_straight_on() -> None:
    assert set(sent("broadcast")[0]) == {(0, 1, 2)}
    assert set(sent("forward")[0]) == {(0,)}
