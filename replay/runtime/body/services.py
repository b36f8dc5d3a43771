"""The services that a vertex asks for in the manifest, for one task; and what they choose at an epoch's start."""

from __future__ import annotations

import re
from collections.abc import Mapping

from replay.errors import ReplayError
from replay.runtime.operators import Clock, RandomNumbers
from replay.services import (
    CausalClock,
    Choices,
    ExternalCalls,
    PeriodicClock,
    RandomPerCall,
    RandomPerEpoch,
    Wall,
)

_PERIODIC = re.compile(r"periodic:([1-9][0-9]{0,8})")


class TaskServices:
    """Time, then chance, then the outside. A service that the manifest doesn't name logs every call."""

    def __init__(self, services: Mapping[str, str], vertex: str, choices: Choices, wall: Wall):
        self.periodic = _periodic_clock(services.get("time", "call"), vertex, choices, wall)
        self.clock: Clock = self.periodic or CausalClock(choices, wall)
        self._seeded = _seeded(services.get("random", "call"), vertex, choices, wall)
        self.random: RandomNumbers = self._seeded or RandomPerCall(choices, wall)
        self.external = ExternalCalls(choices, wall)

    def begin_epoch(self) -> None:
        """Always in this order: the time, then the seed."""
        if self.periodic is not None:
            self.periodic.read()
        if self._seeded is not None:
            self._seeded.begin_epoch()


def _periodic_clock(service: str, vertex: str, choices: Choices, wall: Wall) -> PeriodicClock | None:
    if service == "call":
        return None
    found = _PERIODIC.fullmatch(service)
    if found is None:
        raise ReplayError(f"the time service of {vertex} is {service!r}", remedy="It is call or periodic:<ms>")
    return PeriodicClock(choices, wall, int(found[1]))


def _seeded(service: str, vertex: str, choices: Choices, wall: Wall) -> RandomPerEpoch | None:
    if service not in ("call", "seed"):
        raise ReplayError(f"the random service of {vertex} is {service!r}", remedy="It is call or seed")
    return RandomPerEpoch(choices, wall) if service == "seed" else None
