"""Runs of the engine with failures of every kind, recorded in memory and checked as random worlds are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from replay.jobs.pass_through_job import pass_through_manifest, pass_through_partitions
from replay.jobs.registry import new_operator
from replay.model import Job, Protocol
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine, Run
from replay.runtime.recorder import MemoryMembers
from replay.simulation.checks import violations
from replay.simulation.recording import Recording

Event = dict[str, Any]


@dataclass(slots=True)
class Done:
    """A run that is over."""

    engine: Engine
    members: MemoryMembers
    events: list[Event] = field(default_factory=list)

    def of(self, *kinds: str) -> list[Event]:
        return [one for one in self.events if one["type"] in kinds]

    def violations(self) -> list[str]:
        engine = self.engine
        return violations(Recording(engine.run_of.manifest, self.members.members, engine.totals.returned))


def run(
    *,
    seed: int = 7,
    events: int = 400,
    parallelism: int = 2,
    depth: int = 3,
    rate_per_s: float = 1500.0,
    interval_ms: int = 80,
    sharing_depth: int | None = None,
    standby: int = 1,
    ships: Sequence[str] | None = None,
    **wanted: Any,
) -> Done:
    """To its end; what else is wanted goes to the run itself."""
    protocol = Protocol(
        name="clonos",
        sharing_depth=sharing_depth,
        standby=standby,
        checkpoint_interval_ms=interval_ms,
        buffer_bytes=200,
    )
    manifest = pass_through_manifest(
        Job("pass-through", "tests", "", seed, ""), protocol, parallelism=parallelism, depth=depth, ships=ships
    )
    asked = Run(
        manifest=manifest,
        protocol=PROTOCOLS["clonos"](),
        operator=new_operator,
        partitions=pass_through_partitions(manifest, seed=seed, events=events, each_per_s=rate_per_s),
        seed=seed,
        **wanted,
    )
    members = MemoryMembers()
    engine = Engine(asked, members)
    engine.run()
    members.append("job.json", manifest.to_bytes())
    lines = bytes(members.members["events.ndjson"]).splitlines()
    return Done(engine, members, [json.loads(line) for line in lines])
