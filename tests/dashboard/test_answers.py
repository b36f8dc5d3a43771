"""Who returned a task's logs: the round of answers that counted, where asks were repeated."""

from __future__ import annotations

import json

from dashboard.queries.answers import counted, latest_round


def answer(attempt: int, channel: str, size: int, t_us: int) -> tuple[object, ...]:
    logs = json.dumps([["map.0", "main", 3, size]])
    return "determinants-received", "map.0", attempt, f"map.0>{channel}", "held", logs, t_us


def lost(attempt: int, channel: str, t_us: int) -> tuple[object, ...]:
    return "channel-lost", "map.0", attempt, f"map.0>{channel}", None, None, t_us


def replaying(attempt: int, t_us: int) -> tuple[object, ...]:
    return "recovery-state", "map.0", attempt, None, None, None, t_us


def round_of(*events: tuple[object, ...], attempt: int | None = None) -> list[tuple[str, int]]:
    return [(one.holder, one.own_bytes) for one in latest_round(counted(events), "map.0", attempt)]


def test_an_answer_whose_giver_failed_counts_no_more() -> None:
    assert round_of(answer(1, "a.0", 90, 1), answer(1, "b.0", 40, 2), lost(1, "a.0", 3)) == [("b.0", 40)]
    again = answer(1, "a.0", 20, 4)
    assert round_of(answer(1, "a.0", 90, 1), answer(1, "b.0", 40, 2), lost(1, "a.0", 3), again) == [
        ("b.0", 40),
        ("a.0", 20),
    ]


def test_a_later_answer_on_a_channel_replaces_the_one_before_until_the_attempt_replays() -> None:
    events = (answer(1, "a.0", 90, 1), answer(1, "a.0", 95, 2), replaying(1, 3))
    assert round_of(*events) == [("a.0", 95)]
    assert round_of(*events, answer(1, "a.0", 10, 4), lost(1, "a.0", 5)) == [("a.0", 95)]


def test_the_answers_of_two_recoveries_are_two_rounds() -> None:
    events = (answer(1, "a.0", 90, 1), answer(1, "b.0", 40, 2), replaying(1, 3), answer(2, "b.0", 70, 9))
    assert round_of(*events) == [("b.0", 70)]
    assert round_of(*events, attempt=1) == [("a.0", 90), ("b.0", 40)]
