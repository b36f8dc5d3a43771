"""Equations 3.1 and 3.2, held against the paper's own terms and against recoveries counted out second by second."""

from random import Random

import pytest

from replay.guarantees.recovery_time import Parameters, interval_for, what_if

PAPERS = Parameters(interval_us=5_000_000, load=0.5, rtt_us=20_000)


def test_with_a_standby_it_is_three_round_trips_and_half_an_interval_at_that_load() -> None:
    assert what_if(PAPERS)["equation_us"] == 3 * 20_000 + 5_000_000 / 2 * 0.5
    assert what_if(PAPERS)["equation"] == "3.1"


def test_without_one_scheduling_and_the_states_download_come_before() -> None:
    asked = Parameters(
        5_000_000, 0.5, 20_000, standby=False, start_us=700_000, state_bytes=1 << 20, download_bytes_per_s=1 << 20
    )
    assert what_if(asked)["equation_us"] == 700_000 + 1_000_000 + 3 * 20_000 + 1_250_000
    assert what_if(asked, standby=True)["equation_us"] == what_if(PAPERS)["equation_us"]


def test_what_is_otherwise_may_be_asked_of_the_plain_numbers() -> None:
    assert what_if(PAPERS.to_json(), interval_ms=1_000, load=0.25) == what_if(
        Parameters(interval_us=1_000_000, load=0.25, rtt_us=20_000)
    )


def test_no_load_leaves_the_round_trips_and_a_full_one_never_catches_up() -> None:
    assert what_if(PAPERS, load=0.0)["mean_us"] == 60_000
    assert what_if(PAPERS, load=1.0)["caught_up_us"] is None


def counted_ms(down_ms: int, age_ms: int, load: float) -> tuple[float, float]:
    """A task that does one unit a millisecond and is given `load` of one: until the lost is done, until all is."""
    lost, waiting, at_ms = age_ms * load, age_ms * load, 0.0
    done_ms = None
    while waiting > 1e-9:
        waiting += load
        at_ms += 1
        if at_ms > down_ms:
            waiting -= 1
            lost -= 1
            if lost <= 1e-9 and done_ms is None:
                done_ms = at_ms
    return done_ms or at_ms, at_ms


@pytest.mark.parametrize("seed", range(20))
def test_it_is_what_counting_every_millisecond_comes_to(seed: int) -> None:
    chance = Random(seed)
    load, age_ms, rtt_ms = chance.uniform(0.05, 0.9), chance.randrange(50, 3_000), chance.randrange(1, 100)
    asked = Parameters(interval_us=2_000 * age_ms, load=load, rtt_us=1_000 * rtt_ms)
    found = what_if(asked)
    done_ms, caught_up_ms = counted_ms(3 * rtt_ms, age_ms, load)
    assert found["mean_us"] / 1000 == pytest.approx(done_ms, abs=1.5), f"seed {seed}"
    assert found["caught_up_us"] / 1000 == pytest.approx(caught_up_ms, abs=2 / (1 - load)), f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_for_a_target_meets_it_and_a_longer_one_does_not(seed: int) -> None:
    chance = Random(seed)
    asked = Parameters(
        1_000_000, chance.uniform(0.05, 0.95), chance.uniform(0, 1e5), checkpoint_us=chance.uniform(0, 1e5)
    )
    found = interval_for(asked, chance.uniform(1e5, 5e6))
    if found["mean_interval_us"] is None:
        assert what_if(asked, interval_ms=0)["mean_us"] == pytest.approx(found["target_us"] + found["short_us"])
        return
    for which in ("mean", "worst"):
        met = what_if(asked, interval_ms=found[f"{which}_interval_us"] / 1000)
        missed = what_if(asked, interval_ms=1.01 * found[f"{which}_interval_us"] / 1000)
        assert met[f"{which}_us"] == pytest.approx(found["target_us"])
        assert missed[f"{which}_us"] > found["target_us"]
