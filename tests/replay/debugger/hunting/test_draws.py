"""Every draw from numpy's own generator is seen, whatever it moves: numbers, what the one before left, or a seed."""

from collections.abc import Callable, Iterator
from itertools import count
from types import FrameType

import numpy as np
import numpy.random
import pytest

from replay.debugger.hunting.draws import Draws

_seeds = count()
DRAWS: dict[str, Callable[[], object]] = {
    "a number": np.random.random,
    "of a normal distribution, the second of a pair": np.random.normal,
    "a small integer": lambda: np.random.randint(0, 3, dtype=np.uint8),
    "as many as the generator has": lambda: np.random.random(312),
    "a seed": lambda: np.random.seed(next(_seeds)),
    "an order": lambda: np.random.shuffle(["a", "b", "c"]),
}
# More than the generator makes at once.
TIMES = 700


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    bits, state = np.random.get_bit_generator(), np.random.get_state()
    np.random.seed(7)
    yield
    np.random.set_bit_generator(bits)
    np.random.set_state(state)


def heard_of(draw: Callable[[], object]) -> int:
    """How many of `TIMES` lines, each of which draws, were heard; a line that draws nothing stands before each."""
    heard: list[int] = []

    def operator() -> int:
        before = len(heard)
        draw()
        return before

    def is_own(frame: FrameType) -> bool:
        return frame.f_code is operator.__code__

    draws = Draws(is_own, lambda frame, line: heard.append(line - frame.f_code.co_firstlineno))
    for n in range(TIMES):
        with draws.watched():
            assert operator() == n, "heard of a draw that was none"
    assert set(heard) == {2}
    return len(heard)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_every_draw_is_heard_at_its_line(draw: Callable[[], object]) -> None:
    assert heard_of(draw) == TIMES


def test_draws_of_a_generator_of_another_kind_are_heard() -> None:
    np.random.set_bit_generator(np.random.PCG64(3))
    assert heard_of(np.random.random) == TIMES


def test_what_others_draw_meanwhile_is_nobodys() -> None:
    heard: list[int] = []
    draws = Draws(lambda frame: frame.f_code.co_name == "operator", lambda frame, line: heard.append(line))

    def operator() -> int:
        return len(heard)

    for _ in range(3):
        np.random.random()
        with draws.watched():
            assert operator() == 0
    assert heard == []
