"""Connections: one per channel and pair of attempts, in order both ways, gone when either end is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from replay.model import Channel
from replay.runtime.costs import Costs
from replay.runtime.scheduler import Scheduler

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt


class Connection:
    """Between the current attempts of a channel's two tasks. Buffers and questions go down, answers come up."""

    def __init__(self, scheduler: Scheduler, costs: Costs, channel: Channel, sender: Attempt, receiver: Attempt):
        self.channel = channel
        self.sender = sender
        self.receiver = receiver
        self.open = True
        self.in_use = 0
        self._scheduler = scheduler
        self._costs = costs
        self._down_us = 0
        self._up_us = 0

    @property
    def has_credit(self) -> bool:
        """Whether the receiver has room for another buffer."""
        return self.in_use < self._costs.credits

    def send_down(self, size: int, deliver: Callable[[], None]) -> None:
        """Towards the receiver; what is under way when the connection breaks is lost."""
        self._down_us = self._deliver(self._down_us, size, self.receiver, deliver)

    def send_up(self, size: int, deliver: Callable[[], None]) -> None:
        """Towards the sender."""
        self._up_us = self._deliver(self._up_us, size, self.sender, deliver)

    def _deliver(self, after_us: int, size: int, end: Attempt, deliver: Callable[[], None]) -> int:
        def arrive() -> None:
            if self.open and end.alive:
                deliver()

        scheduler = self._scheduler
        # One microsecond apart: equal times would be ordered by chance.
        at_us = max(scheduler.now_us + scheduler.around(self._costs.wire_us(size)), after_us + 1)
        scheduler.at(at_us, arrive)
        return at_us

    def release(self) -> None:
        """The receiver took a buffer: the sender may send another."""
        self.in_use -= 1
        if self.open and self.sender.alive:
            self.sender.output(self.channel.k).wake()

    def close(self) -> None:
        """Nothing that is under way will arrive."""
        self.open = False
