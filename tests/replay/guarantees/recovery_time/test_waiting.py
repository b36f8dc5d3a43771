"""When nothing waited any more, and what was waited for last: held against a walk over every moment."""

from random import Random

import pytest

from replay.guarantees.recovery_time.waiting import Arrival, Arrivals


def drawn(chance: Random) -> Arrivals:
    """Buffers that come and are taken one at a time, in any order of inputs."""
    now_us, taken = 0, []
    for _ in range(chance.randrange(0, 25)):
        received_us = chance.randrange(0, 300)
        now_us = max(now_us + chance.randrange(1, 20), received_us)
        taken.append(Arrival(now_us, received_us, chance.randrange(2)))
    return Arrivals(sorted(taken), chance.choice([None, chance.randrange(0, 500)]))


def waits_at(one: Arrivals, t_us: int) -> bool:
    left = one.never_taken_us is not None and one.never_taken_us <= t_us
    return left or any(each.received_us <= t_us < each.taken_us for each in one.taken)


@pytest.mark.parametrize("seed", range(60))
def test_the_first_moment_without_anything_that_waits_is_found(seed: int) -> None:
    chance = Random(seed)
    one, since_us = drawn(chance), chance.randrange(0, 300)
    moments = range(since_us, max([since_us, *(each.taken_us for each in one.taken)]) + 1)
    assert one.caught_up_us(since_us) == next((t for t in moments if not waits_at(one, t)), None), f"seed {seed}"


@pytest.mark.parametrize("seed", range(60))
def test_what_was_waited_for_came_when_all_before_it_was_done(seed: int) -> None:
    chance = Random(seed)
    one, since_us, until_us = drawn(chance), 20, 260
    inside = [each for each in one.taken if since_us <= each.taken_us <= until_us]
    before = [since_us, *(each.taken_us for each in inside)]
    awaited = [each for each, done_us in zip(inside, before, strict=False) if each.received_us > done_us]
    assert one.waited_for(since_us, until_us) == (awaited[-1] if awaited else None), f"seed {seed}"
