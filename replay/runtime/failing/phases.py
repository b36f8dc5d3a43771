"""The phases of a recovery, with their times, and when the latency is back to what it was before."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

SAMPLE = 64
"""Over how many of the latest records the latency is looked at."""
_EVERY = 16
_SLACK = 1.1
_SLACK_US = 1_000

PHASES = (
    "failed",
    "detected",
    "replaced",
    "started",
    "restored",
    "WaitingConnections",
    "WaitingDeterminants",
    "Replaying",
    "Running",
    "rebuilt",
    "rolled-back",
    "caught-up",
)
"""In the order in which they are reached. `replaced`: a standby is activated, or the task has been given a slot."""


@dataclass(slots=True)
class Phases:
    """When each phase of one failure's recovery was reached first; what is missing was never reached."""

    reached_us: dict[str, int] = field(default_factory=dict)

    def reach(self, phase: str, t_us: int) -> None:
        """The first time counts."""
        self.reached_us.setdefault(phase, t_us)

    def has(self, phase: str) -> bool:
        """Whether it was reached."""
        return phase in self.reached_us

    def in_order(self) -> dict[str, int]:
        """Time by phase, those that were reached."""
        return {phase: self.reached_us[phase] for phase in PHASES if phase in self.reached_us}


@dataclass(slots=True)
class _Behind:
    phases: Phases
    before_us: int | None
    seen: int = 0


class Pace:
    """Follows the latency at the sinks: its 95th percentile over the latest records, before and after a failure."""

    def __init__(self) -> None:
        self._latest: deque[int] = deque(maxlen=SAMPLE)
        self._behind: list[_Behind] = []

    def failed(self, phases: Phases) -> None:
        """Notes what the latency was before this failure; while others are not caught up, what it was before those."""
        before_us = self._behind[0].before_us if self._behind else self._now_us()
        self._behind.append(_Behind(phases, before_us))

    def superseded(self, phases: Phases) -> None:
        """The same task failed again before it ran: that failure is followed from now on."""
        self._behind = [one for one in self._behind if one.phases is not phases]

    def wrote(self, latency_us: int, t_us: int) -> None:
        """A sink wrote a record that old."""
        self._latest.append(latency_us)
        if self._behind:
            self._catch_up(t_us)

    def _catch_up(self, t_us: int) -> None:
        for one in self._behind:
            if one.phases.has("Running") or one.phases.has("rolled-back"):
                one.seen += 1
        due = [one for one in self._behind if one.seen >= SAMPLE and one.seen % _EVERY == 0]
        now_us = self._now_us() if due else None
        for one in due:
            if now_us is not None and one.before_us is not None and now_us <= one.before_us * _SLACK + _SLACK_US:
                one.phases.reach("caught-up", t_us)
                self._behind.remove(one)

    def _now_us(self) -> int | None:
        ordered = sorted(self._latest)
        return ordered[int(0.95 * (len(ordered) - 1))] if ordered else None
