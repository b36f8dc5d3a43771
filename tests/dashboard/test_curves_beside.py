"""Curves of two recordings in one picture: where their points stand, and where there is no line."""

import random
import re

import pytest

from dashboard.queries.curves_beside import HEIGHT, WIDTH, _picture, path


@pytest.mark.parametrize("seed", range(20))
def test_every_point_stands_where_its_time_and_value_are(seed: int) -> None:
    rng = random.Random(seed)
    begin, high = rng.randrange(-50, 50), rng.uniform(1, 100)
    points = [(begin + 10 * n, rng.uniform(0, high)) for n in range(rng.randrange(2, 50))]
    end = points[-1][0] + rng.randrange(100)
    drawn = [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", path(points, begin, end, high))]
    for (t_us, value), (x, y) in zip(points, drawn, strict=True):
        assert abs(x / WIDTH * (end - begin) + begin - t_us) <= (end - begin) / WIDTH, seed
        assert abs((1 - y / HEIGHT) * high - value) <= high / HEIGHT, seed


def test_a_time_of_which_nothing_is_told_is_no_line() -> None:
    points = [(n * 10, 1.0) for n in range(20) if not 5 < n < 12]
    assert re.findall(r"[ML]", path(points, 0, 190, 1.0)) == ["M", *"LLLLL", "M", *"LLLLLLL"]


def test_both_stand_from_their_failure_on() -> None:
    first, second = [(n * 1_000_000, 5.0) for n in range(11)], [(n * 1_000_000, 10.0) for n in range(21)]
    picture = _picture(("rate", "records/s"), [first, second], [4_000_000, 10_000_000], aligned=True)
    assert (picture["begin"], picture["end"], picture["high"]) == ("−10.0 s", "10.0 s", "10 records/s")
    assert float(picture["zero"]) == WIDTH / 2
    told = dict(picture["rows"])
    assert told["−10.0 s"] == ["–", "10 records/s"] and len(told) == 12
    at = next(values for when, values in picture["rows"] if when.startswith("0."))
    assert at == ["5 records/s", "10 records/s"]
