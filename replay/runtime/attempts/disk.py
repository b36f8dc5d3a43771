"""A task's disk in virtual time: one request after the other, each as long as its seek and its bytes take."""

from __future__ import annotations

from replay.runtime.costs import Costs
from replay.runtime.scheduler import Action, Scheduler


class Disk:
    """Requests go on where the one before ended, or pay for a seek."""

    def __init__(self, scheduler: Scheduler, costs: Costs):
        self._scheduler = scheduler
        self._costs = costs
        self._busy_until_us = 0
        self._last: tuple[str, str] | None = None

    def write(self, name: str, size_bytes: int, done: Action) -> None:
        """Appends to a file."""
        self._request(("write", name), size_bytes, done)

    def read(self, name: str, size_bytes: int, done: Action) -> None:
        """Reads what stands next in a file, or elsewhere."""
        self._request(("read", name), size_bytes, done)

    def _request(self, where: tuple[str, str], size_bytes: int, done: Action) -> None:
        scheduler = self._scheduler
        cost_us = self._costs.disk_us(size_bytes, seeks=where != self._last)
        self._last = where
        # One microsecond apart at least: equal times would be ordered by chance.
        begins_us = max(scheduler.now_us, self._busy_until_us)
        self._busy_until_us = max(begins_us + scheduler.around(cost_us), self._busy_until_us + 1)
        scheduler.at(self._busy_until_us, done)
