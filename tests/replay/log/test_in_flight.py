"""The in-flight log and its replays, against plain lists."""

from random import Random

import pytest

from replay.errors import InvariantError
from replay.log.in_flight import InFlightLog

SEEDS = range(30)


class ListOfBuffers:
    """A channel's buffers as (epoch, buffer), and a replay as an index that moves with what is truncated."""

    def __init__(self):
        self.kept = []
        self.at = None

    def replay(self, epoch, skip):
        before = sum(1 for one, _ in self.kept if one < epoch)
        self.at = min(before + skip, len(self.kept))

    def truncate(self, before_epoch):
        gone = sum(1 for one, _ in self.kept if one < before_epoch)
        del self.kept[:gone]
        if self.at is not None:
            self.at = max(0, self.at - gone)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_gives_what_a_list_gives_while_the_log_grows_and_is_truncated(seed):
    chance, log = Random(seed), InFlightLog()
    lists = {"a": ListOfBuffers(), "b": ListOfBuffers()}
    replays, epoch, oldest, number = {}, 0, 0, 0
    for _ in range(500):
        channel, act = chance.choice("ab"), chance.random()
        model = lists[channel]
        if act < 0.4:
            number += 1
            log.append(channel, epoch, number)
            model.kept.append((epoch, number))
        elif act < 0.5:
            epoch += chance.choice((1, 1, 2))
        elif act < 0.55:
            oldest = chance.randint(oldest, epoch)
            gone = [kept.buffer for kept in log.truncate(oldest)]
            expected = [one for each in lists.values() for at, one in each.kept if at < oldest]
            assert sorted(gone) == sorted(expected), f"seed {seed}"
            for each in lists.values():
                each.truncate(oldest)
        elif act < 0.62:
            first = chance.randint(oldest, epoch)
            there = sum(1 for at, _ in model.kept if at >= first)
            assert log.kept_since(channel, first) == there
            assert log.count(channel, first) == sum(1 for at, _ in model.kept if at == first)
            skip = chance.randint(0, there)
            replays[channel] = log.replay(channel, first, skip)
            model.replay(first, skip)
        elif channel in replays:
            replay, rest = replays[channel], model.kept[model.at :]
            assert [kept.buffer for kept in replay.ahead()] == [one for _, one in rest], f"seed {seed}"
            assert (replay.head.buffer if replay.head else None) == (rest[0][1] if rest else None)
            replay.advance()
            model.at += bool(rest)
    assert number > 100


def test_a_buffer_sent_while_a_replay_runs_is_replayed_too():
    log = InFlightLog()
    log.append("a", 0, "first")
    replay = log.replay("a", 0)
    replay.advance()
    assert replay.head is None
    log.append("a", 0, "second")
    log.append("a", 1, "third")
    assert [kept.buffer for kept in replay.ahead()] == ["second", "third"]


def test_an_unknown_channel_or_a_skip_past_the_end_replays_nothing():
    log = InFlightLog()
    log.append("a", 0, 1)
    assert log.replay("b", 0).head is None
    assert log.replay("a", 0, skip=7).head is None
    assert log.replay("a", 1).head is None


def test_a_replay_of_a_channel_without_buffers_gives_those_that_come():
    log = InFlightLog()
    replay = log.replay("a", 0)
    kept = log.append("a", 2, "late")
    assert replay.head is kept


def test_what_is_truncated_is_marked():
    log = InFlightLog()
    old, new = log.append("a", 0, "old"), log.append("a", 1, "new")
    assert log.truncate(1) == [old]
    assert (old.dropped, new.dropped) == (True, False)


def test_a_channel_does_not_go_back_to_an_epoch():
    log = InFlightLog()
    log.append("a", 3, "x")
    with pytest.raises(InvariantError, match="a: epoch 2 comes after a later one"):
        log.append("a", 2, "y")
