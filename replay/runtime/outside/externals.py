"""The outside world that operators call: seeded, never twice of one mind, sometimes at fault; it counts what it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from replay.model import json_bytes
from replay.services import ExternalFault

_FAULT_EVERY = 16


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as the outside sees it; `nth` counts how often it was asked the very same before."""

    request: Any
    nth: int
    random: Random


External = Callable[[Asked], Any]
"""Answers in JSON, or raises `ExternalFault`."""


def drifting(asked: Asked) -> Any:
    """A service that changes while it is being asked: another answer every time, and now and then none."""
    if asked.random.randrange(_FAULT_EVERY) == 0:
        raise ExternalFault("Unavailable", f"no answer to call {asked.nth} of its kind")
    return {"nth": asked.nth, "value": asked.random.randrange(1 << 16)}


class Externals:
    """All services outside, by name; a name that isn't given answers as `drifting` does."""

    def __init__(self, seed: int, services: Mapping[str, External]):
        self.calls = 0
        self.faults = 0
        self.writes: Counter[tuple[str, bytes]] = Counter()
        self._services = services
        self._random = Random(f"outside {seed}")
        self._asked: Counter[tuple[str, bytes]] = Counter()

    def ask(self, call: str, request: Any, effect: str) -> Any:
        """The answer, now; asked again it may be another."""
        what = (call, json_bytes(request))
        asked = Asked(request, self._asked[what], self._random)
        self._asked[what] += 1
        self.calls += 1
        if effect == "write":
            self.writes[what] += 1
        try:
            return self._services.get(call, drifting)(asked)
        except ExternalFault:
            self.faults += 1
            raise

    @property
    def repeated_writes(self) -> int:
        """How many calls with an effect came on top of the first of their kind."""
        return sum(times - 1 for times in self.writes.values())
