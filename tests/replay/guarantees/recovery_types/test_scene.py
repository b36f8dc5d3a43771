"""Which attempts one that began again is held against."""

from __future__ import annotations

import pytest

from replay.debugger.recorded.story import Story
from replay.errors import ReplayError
from replay.guarantees.recovery_types.scene import MOST_BEFORE, Unfinished, all_done, seen_outside

SINK = "sink.0"


def rolled_back(*attempts: int) -> Story:
    """Each began with a rollback of its own."""
    told = [
        {"n": n, "t_us": n, "type": "attempt-started", "task": SINK, "attempt": one, "checkpoint": 0, "rollback": n}
        for n, one in enumerate(attempts)
    ]
    return Story.read(told)


def nothing_done(task: str, attempt: int) -> bool:
    return True


@pytest.mark.parametrize(
    ("recorded", "unfinished", "expected"),
    [
        ((0, 1, 2, 3), all_done, (2,)),
        ((0, 1, 2, 3), nothing_done, (2, 1, 0)),
        ((2, 3), nothing_done, (2,)),
        ((3,), nothing_done, ()),
    ],
)
def test_what_the_outside_got_before_a_rollback_that_did_nothing_is_looked_at_too(
    recorded: tuple[int, ...], unfinished: Unfinished, expected: tuple[int, ...]
) -> None:
    assert seen_outside(rolled_back(1, 2, 3), SINK, 3, recorded, unfinished) == expected


def test_of_very_many_attempts_it_is_said_that_they_are_not_looked_at() -> None:
    attempts = range(1, MOST_BEFORE + 3)
    with pytest.raises(ReplayError, match="more than"):
        seen_outside(rolled_back(*attempts), SINK, attempts[-1], (0, *attempts), nothing_done)
