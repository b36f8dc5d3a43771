"""The timers of a live attempt in virtual time: each fires late by a drawn delay, and between two elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt


class TimerThread:
    """Waits for the next timer of every callback. While its attempt replays it does nothing: the log fires timers."""

    def __init__(self, attempt: Attempt):
        self.attempt = attempt
        self._due_us: dict[str, int] = {}

    def start(self) -> None:
        """The attempt may be interrupted from now on: by what is due already, too."""
        if self.attempt.settled:
            for callback, at_ms in self.attempt.body.timers.awaiting():
                self.await_(callback, at_ms)

    def await_(self, callback: str, at_ms: int) -> None:
        """The next timer of that callback is due then."""
        attempt, scheduler = self.attempt, self.attempt.engine.scheduler
        if not attempt.settled:
            return
        at_us = max(scheduler.now_us, (at_ms - attempt.engine.origin_ms) * 1000)
        due_us = at_us + scheduler.around(attempt.engine.costs.timer_late_us)
        known_us = self._due_us.get(callback)
        if known_us is None or due_us < known_us:
            self._due_us[callback] = due_us
            scheduler.at(due_us, lambda: self._interrupt(callback, due_us))

    def _interrupt(self, callback: str, due_us: int) -> None:
        if self._due_us.get(callback) == due_us and self.attempt.executing:
            del self._due_us[callback]
            self.attempt.main.interrupt(callback)

    def fire(self, callback: str) -> None:
        """The main thread lets the timer through: it fires if it still stands and is due; then the next is awaited."""
        body = self.attempt.body
        at_ms = body.timers.next_ms(callback)
        if at_ms is not None and at_ms <= self.attempt.now_ms():
            body.fire_timer(callback)
            at_ms = body.timers.next_ms(callback)
        if at_ms is not None:
            self.await_(callback, at_ms)
