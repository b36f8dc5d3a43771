"""Virtual time: what happens next is drawn from the seed among all that could happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from random import Random
from typing import TypeVar

from replay.errors import InvariantError

T = TypeVar("T")  # whatever is chosen from
Action = Callable[[], None]


class Stalled(InvariantError):
    """Nothing can happen any more, or nothing but clocks, and the job is not done."""


class Scheduler:
    """Holds every action that is under way. Delays are drawn around their means; equal times are ordered by chance."""

    def __init__(self, seed: int, jitter: float):
        """`jitter` 0 takes the means as they are; 1 draws delays from nothing to twice the mean."""
        self.now_us = 0
        self.random = Random(seed)
        self.jitter = jitter
        self.actions = 0
        self._count = 0
        self._heap: list[tuple[int, float, int, Action]] = []

    def around(self, mean_us: float) -> int:
        """A delay about as long as the mean."""
        if self.jitter == 0:
            return int(mean_us)
        return int(mean_us * (1 - self.jitter + 2 * self.jitter * self.random.random()))

    def after(self, mean_us: float, action: Action) -> None:
        """Does something about that much later."""
        self.at(self.now_us + self.around(mean_us), action)

    def at(self, t_us: int, action: Action) -> None:
        """Does something at that time, or now if it has passed."""
        self._count += 1
        heappush(self._heap, (max(t_us, self.now_us), self.random.random(), self._count, action))

    def choose(self, among: Sequence[T]) -> T:
        """One of them, at random."""
        return among[int(self.random.random() * len(among))]

    def run(self, done: Callable[[], bool], horizon_us: Callable[[], int]) -> None:
        """Acts until done; past the horizon nothing is expected to happen any more."""
        heap, limit_us = self._heap, horizon_us()
        while not done():
            if not heap:
                raise Stalled(f"at {self.now_us} us nothing is left to happen, and the job is not done")
            t_us, _, _, action = heappop(heap)
            # It only ever moves away, so it is looked for again where it seems to be reached.
            if t_us > limit_us and t_us > (limit_us := horizon_us()):
                raise Stalled(f"the job is not done at {t_us} us, long after its last record and failure")
            self.now_us = t_us
            self.actions += 1
            action()
