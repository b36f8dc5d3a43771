"""The in-flight log in memory."""

from hypothesis import given
from hypothesis import strategies as st

from replay.log.in_flight import InFlightLog


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 4), st.integers()), max_size=40),
    st.integers(0, 5),
    st.integers(0, 10),
)
def test_replay_gives_what_was_sent_from_an_epoch_on_without_the_first_ones(appends, epoch, skip):
    log = InFlightLog()
    for channel, at, buffer in appends:
        log.append(channel, at, buffer)
    of_a = [(at, buffer) for channel, at, buffer in appends if channel == "a"]
    expected = [buffer for at, buffer in sorted(of_a, key=lambda pair: pair[0]) if at >= epoch]
    assert list(log.replay("a", epoch, skip)) == expected[skip:]
    assert log.count("a", 3) == sum(1 for at, _ in of_a if at == 3)


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(0, 5))
def test_truncation_forgets_whole_epochs(epochs, before):
    log = InFlightLog()
    for i, epoch in enumerate(epochs):
        log.append("a", epoch, i)
    log.truncate(before)
    assert list(log.replay("a", 0)) == [
        i for epoch in sorted(set(epochs)) if epoch >= before for i, one in enumerate(epochs) if one == epoch
    ]


def test_a_buffer_sent_while_a_replay_runs_is_replayed_too():
    log = InFlightLog()
    log.append("a", 0, "first")
    replay = log.replay("a", 0)
    assert next(replay) == "first"
    log.append("a", 0, "second")
    log.append("a", 1, "third")
    assert list(replay) == ["second", "third"]


def test_an_unknown_channel_or_a_skip_past_the_end_replays_nothing():
    log = InFlightLog()
    log.append("a", 0, 1)
    assert list(log.replay("b", 0)) == []
    assert list(log.replay("a", 0, skip=7)) == []
    assert list(log.replay("a", 1)) == []
