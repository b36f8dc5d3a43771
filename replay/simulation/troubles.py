"""What goes wrong in a world besides killed tasks: hosts that fail with all that is on them, and false suspicions."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from replay.simulation.plan import Plan
from replay.simulation.schedule import MOMENTS, VICTIMS, Aim, Schedule, Suspected
from replay.simulation.site import host_names

_WAYS = ("kill", "kill", "host", "host", "standby", "suspect", "suspect")
_UNRECORDED = ("upload-began", "flush-began", "suspected")
_OFTEN = ("task-rescheduled", "standby-activated", "attempt-started", "epoch-precommitted", "epoch-committed")
"""Uploads, deployments and commits, among all that is recorded."""


def troubled(draw: Random, schedule: Schedule, plan: Plan, duration_ms: float) -> Schedule:
    """The schedule with hosts and suspicions in two thirds of all worlds, among what was drawn already."""
    manifest = plan.manifest()
    tasks: list[str] = [task.id for task in manifest.tasks]
    hosts = host_names(plan.site, manifest)
    known_ms = [at_ms for blow in schedule.blows for _, at_ms in blow]

    def when() -> float:
        """Anywhere, or close to a blow."""
        if known_ms and draw.random() < 0.4:
            return round(max(0.0, draw.choice(known_ms) + draw.uniform(-20, 20)), 3)
        return round(duration_ms * draw.uniform(0.02, 1.3), 3)

    which = draw.random()
    blows = schedule.blows
    if which < 0.3:
        blow = [(draw.choice(hosts), when())]
        if draw.random() < 0.3:
            blow.append((draw.choice(hosts + tasks), round(blow[0][1] + draw.choice((0.0, draw.uniform(0, 20))), 3)))
        blows = (*blows, tuple(blow))
    suspicions = []
    if 0.2 < which < 0.5:
        timeout_ms = plan.costs.heartbeat_timeout_us / 1000
        for _ in range(draw.choice((1, 1, 2))):
            held_ms = draw.choice((None, None, round(timeout_ms * draw.uniform(0.5, 8), 3)))
            suspicions.append(Suspected(draw.choice(tasks), when(), held_ms))
    aims = tuple(_aim(draw) for _ in range(draw.choice((0, 1, 2) if 0.4 < which < 0.7 else (0,))))
    return replace(schedule, blows=blows, suspicions=tuple(suspicions), aims=(*schedule.aims, *aims))


def _aim(draw: Random) -> Aim:
    nth = draw.choice((0, 0, 1, draw.randrange(8)))
    delay_us = draw.choice((0, 0, draw.randrange(2_000), draw.randrange(40_000)))
    return Aim(
        draw.choice(MOMENTS + _OFTEN + 3 * _UNRECORDED),
        nth,
        draw.choice(VICTIMS),
        delay_us,
        draw.randrange(16),
        draw.choice(_WAYS),
    )
