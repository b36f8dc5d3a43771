"""A recovery that was answered by a task which has failed since: it may follow choices that nobody else knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replay.model import ChannelId
from replay.recovery import ChannelLost, DeterminantsReturned, Event

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt

CAUSE = "whoever answered its recovery failed, and a task above it needs what only they held"


class Doubts:
    """Of one attempt. As long as the tasks above it live, they send again what the lost answer rested on.

    When one of them fails as well and asks, neither this task nor those below it can return all that the answer
    rested on: then this attempt must not go on with it, and begins again with what is held now.
    """

    def __init__(self, attempt: Attempt):
        self._attempt = attempt
        self._gave: set[ChannelId] = set()
        self._relayed = False
        self._lost = False

    def relayed(self, has_bytes: bool) -> None:
        """Something was answered to a task above."""
        self._relayed = self._relayed or has_bytes

    def follow(self, event: Event) -> None:
        """What the recovery manager was told."""
        match event:
            case DeterminantsReturned(channel=channel, logs=logs) if logs:
                self._gave.add(channel)
            case ChannelLost(channel, side="output") if channel in self._gave:
                self._gave.discard(channel)
                self._lost = self._lost or self._attempt.executing or self._relayed
        if self._must_begin_again:
            self._attempt.engine.scheduler.at(self._attempt.engine.scheduler.now_us, self._begin_again)

    @property
    def _must_begin_again(self) -> bool:
        attempt = self._attempt
        if not self._lost or not attempt.counts or attempt.informed:
            return False
        return any(relay.askers for relay in attempt.manager.state.context.relays.open)

    def _begin_again(self) -> None:
        attempt = self._attempt
        if self._must_begin_again:
            attempt.engine.failures.fail(attempt, CAUSE, together=None, first_of_several=False)
