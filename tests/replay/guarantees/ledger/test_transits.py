"""How long one of so many bytes may be on its way, by what is known of others."""

from random import Random

import pytest

from replay.guarantees.ledger.transits import Arrivals


def arrived(us_per_byte: float, base_us: int, *, seed: int, largest: int = 400) -> Arrivals:
    """Two hundred of various sizes, each between nothing and twice its mean."""
    draw, found = Random(seed), Arrivals()
    for _ in range(200):
        size = draw.randrange(10, largest)
        found.add(int((base_us + us_per_byte * size) * 2 * draw.random()), size, waited=False)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_over_a_narrow_channel_more_bytes_have_longer(seed: int) -> None:
    arrivals = arrived(5.0, 10, seed=seed)
    assert arrivals.ample_us(3_000, arrivals.growth()) > 2 * (10 + 5 * 3_000), f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_over_a_wide_one_they_have_little_longer_than_the_longest_known(seed: int) -> None:
    arrivals = arrived(0.0, 250, seed=seed)
    assert 2 * arrivals.longest_us <= arrivals.ample_us(600, arrivals.growth()) < 4 * arrivals.longest_us, seed


def test_what_waited_for_another_tells_nothing_of_its_bytes() -> None:
    arrivals = arrived(0.0, 250, seed=0)
    before = arrivals.growth()
    arrivals.add(9_000, 10, waited=True)
    assert arrivals.growth() == before
    assert arrivals.longest_us == 9_000


def test_of_one_size_nothing_is_known_of_others() -> None:
    arrivals = Arrivals()
    for took_us in range(100, 130):
        arrivals.add(took_us, 24, waited=False)
    assert arrivals.ample_us(10_000, arrivals.growth()) == 2 * arrivals.longest_us
