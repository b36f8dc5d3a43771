"""The bench of the engine, a short run: every setting moves every record. No seconds are compared."""

import pytest

from bench.engine import SETTINGS, _spread, measure
from bench.engine_load import Load


def test_every_setting_moves_every_record_across_every_channel() -> None:
    numbers = measure(1, Load(500))
    bids = 46 * 500 // 50
    assert numbers["hops"] == {setting.name: 500 + bids for setting in SETTINGS}
    for clock in ("processor", "wall"):
        assert set(numbers[clock]["overhead_percent"]) == {"in-flight", "depth-1", "full"}


@pytest.mark.parametrize(("rounds", "left_out"), [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (15, 3)])
def test_the_interval_holds_the_median_nineteen_times_of_twenty(rounds: int, left_out: int) -> None:
    spread = _spread(list(range(rounds)), digits=0)
    assert (spread["from"], spread["to"]) == (left_out, rounds - 1 - left_out)
