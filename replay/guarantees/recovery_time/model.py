"""Equations 3.1 and 3.2: what a recovery takes, and the checkpoint interval that a target asks for. Plain arithmetic.

    RT = 3 * RTT + CI / 2 * L                  with a standby                                   (3.1)
    RT = S + SSD + 3 * RTT + CI / 2 * L        where the task is scheduled anew                 (3.2)

Beside the paper's terms stand two that a recording shows: how long the failure goes unnoticed, and how long a
checkpoint takes until it is complete, since what was begun before is done again too. With both 0 it is the paper's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

ROUND_TRIPS = 3
"""To tell the standby, to connect, to ask for determinants."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Times in microseconds. `load`: the share of what the task can take that it is given.

    `start_us` is S. SSD is `restore_us` and what `state_bytes` take at `download_bytes_per_s` (None: no time).
    """

    interval_us: float
    load: float
    rtt_us: float = 0.0
    detection_us: float = 0.0
    checkpoint_us: float = 0.0
    standby: bool = True
    start_us: float = 0.0
    restore_us: float = 0.0
    state_bytes: float = 0.0
    download_bytes_per_s: float | None = None

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Parameters:
        """The inverse of `to_json`."""
        return cls(**fields)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, for whoever computes the same elsewhere."""
        return asdict(self)

    @property
    def download_us(self) -> float:
        """SSD: the state's download; none of it is waited for where a standby has the state."""
        if self.standby:
            return 0.0
        rate = self.download_bytes_per_s
        return self.restore_us + (self.state_bytes * 1e6 / rate if rate else 0.0)

    @property
    def down_us(self) -> float:
        """All terms but the last: until the new attempt processes its first record."""
        scheduled_us = 0.0 if self.standby else self.start_us
        return time_down(self.rtt_us, scheduled_us, self.download_us) + self.detection_us

    def recovery_us(self, age_us: float) -> float:
        """Until all that was done since the checkpoint is done again, that having been triggered so long before."""
        return time_to_do_again(self.down_us, age_us, self.load)

    @property
    def mean_age_us(self) -> float:
        """How long before a failure the checkpoint was triggered that it begins from: half an interval, on average."""
        return self.interval_us / 2 + self.checkpoint_us

    @property
    def worst_age_us(self) -> float:
        """Just before the next one would have been complete."""
        return self.interval_us + self.checkpoint_us


def time_down(rtt: float, start: float = 0.0, download: float = 0.0) -> float:
    """The terms of the equations before the last one, in whatever unit they come."""
    return ROUND_TRIPS * rtt + start + download


def time_to_do_again(down: float, age: float, load: float) -> float:
    """The equations, with so much time to do again: CI / 2 on average."""
    return down + age * load


def time_to_catch_up(down: float, age: float, load: float) -> float | None:
    """Until nothing waits any more: what came meanwhile is done too. None: with a full load it never is."""
    return time_to_do_again(down, age, load) / (1 - load) if load < 1 else None


def what_if(
    parameters: Parameters | Mapping[str, Any],
    *,
    interval_ms: float | None = None,
    load: float | None = None,
    rtt_us: float | None = None,
    state_bytes: float | None = None,
    standby: bool | None = None,
) -> dict[str, Any]:
    """What recoveries would take if these were otherwise; plain numbers, microseconds. Also from `to_json`'s fields."""
    known = parameters.to_json() if isinstance(parameters, Parameters) else parameters
    wanted = {
        "interval_us": None if interval_ms is None else interval_ms * 1000,
        "load": load,
        "rtt_us": rtt_us,
        "state_bytes": state_bytes,
        "standby": standby,
    }
    asked = {**known, **{name: value for name, value in wanted.items() if value is not None}}
    return told(Parameters.from_json(asked))


def told(one: Parameters) -> dict[str, Any]:
    """The terms, and what they come to: as the paper has it, on average, at worst, and until nothing waits."""
    down = one.down_us
    return {
        "terms": {
            "detection_us": one.detection_us,
            "round_trips_us": ROUND_TRIPS * one.rtt_us,
            "start_us": 0.0 if one.standby else one.start_us,
            "download_us": one.download_us,
            "replay_us": one.mean_age_us * one.load,
        },
        "equation": "3.1" if one.standby else "3.2",
        "equation_us": down - one.detection_us + one.interval_us / 2 * one.load,
        "down_us": down,
        "mean_us": one.recovery_us(one.mean_age_us),
        "worst_us": one.recovery_us(one.worst_age_us),
        "caught_up_us": time_to_catch_up(down, one.mean_age_us, one.load),
    }


def interval_for(one: Parameters, target_us: float) -> dict[str, Any]:
    """The longest checkpoint interval with which recoveries take no longer, on average and at worst; plain numbers.

    None where none does, or any: `short_us` is what is missing even if there were nothing to do again. One that is
    shorter than `least_us`, which a checkpoint takes itself, can't be had.
    """
    found: dict[str, Any] = {"target_us": target_us, "mean_interval_us": None, "worst_interval_us": None}
    found |= {"short_us": 0.0, "least_us": one.checkpoint_us}
    left_us = target_us - one.down_us - one.checkpoint_us * one.load
    if left_us <= 0:
        return {**found, "short_us": -left_us}
    if one.load <= 0:
        return found
    longest_us = left_us / one.load
    return {**found, "mean_interval_us": 2 * longest_us, "worst_interval_us": longest_us}
