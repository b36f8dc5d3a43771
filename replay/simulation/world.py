"""A world: a job, its settings and its failures, all drawn from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from replay.jobs.pass_through_job import pass_through_manifest, pass_through_partitions
from replay.jobs.registry import new_operator
from replay.model import Job, Manifest, Protocol, TaskId
from replay.protocols import PROTOCOLS
from replay.recovery import STATE_NAMES, Logs
from replay.runtime.attempt import Attempt
from replay.runtime.costs import Costs
from replay.runtime.engine import Engine, Run
from replay.runtime.kills import Blow, Kill, KillIn
from replay.runtime.recorder import MemoryMembers
from replay.simulation.recording import Recording


@dataclass(frozen=True, slots=True)
class Schedule:
    """What goes wrong: blows of kills that belong together, and kills in a recovery state."""

    blows: tuple[tuple[tuple[str, float], ...], ...] = ()
    kills_in: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """How many strikes there are."""
        return sum(map(len, self.blows)) + len(self.kills_in)

    def smaller(self) -> Sequence[Schedule]:
        """Every schedule with one strike less."""
        found = [replace(self, kills_in=_without(self.kills_in, i)) for i in range(len(self.kills_in))]
        for i, blow in enumerate(self.blows):
            for j in range(len(blow)):
                rest = _without(blow, j)
                blows = (*self.blows[:i], *((rest,) if rest else ()), *self.blows[i + 1 :])
                found.append(replace(self, blows=blows))
        return found


def _without(items: tuple[Any, ...], i: int) -> tuple[Any, ...]:
    return (*items[:i], *items[i + 1 :])


@dataclass(frozen=True, slots=True)
class Overlap:
    """A survivor held bytes that a recovery was not given."""

    recovering: str
    survivor: str
    what: str


class World:
    """Built by `random`, run once by `run`; then its recording can be checked."""

    def __init__(self, seed: int, manifest: Manifest, events: int, rate_per_s: float, costs: Costs, jitter: float):
        self.seed = seed
        self.manifest = manifest
        self.events = events
        self.rate_per_s = rate_per_s
        self.costs = costs
        self.jitter = jitter
        self.schedule = Schedule()
        self.members = MemoryMembers()
        self.engine: Engine | None = None
        self.overlooked: list[Overlap] = []

    @classmethod
    def random(cls, seed: int, schedule: Schedule | None = None) -> World:
        """The world of that seed; a schedule in place of its own shows what a smaller one does."""
        draw = Random(f"world {seed}")
        events = draw.choice((12, 40, 80, 160, 300))
        rate_per_s = draw.choice((400.0, 1500.0, 6000.0))
        manifest = _manifest(draw, seed, int(events / rate_per_s * 1000))
        world = cls(seed, manifest, events, rate_per_s, _costs(draw), draw.choice((0.3, 0.8, 1.0)))
        drawn = _schedule(draw, manifest, 1000 * events / rate_per_s / _parallelism(manifest))
        world.schedule = drawn if schedule is None else schedule
        return world

    @property
    def reproduce_with(self) -> str:
        """One line that runs this world again."""
        return f"python -m replay.simulation --worlds 1 --seed {self.seed}"

    @property
    def describes(self) -> str:
        """What was drawn."""
        protocol, vertices = self.manifest.protocol, self.manifest.vertices
        ships = ",".join(edge.ship for edge in self.manifest.edges)
        return (
            f"{len(vertices)} vertices of {vertices[0].parallelism} ({ships}), {self.events} records, "
            f"{protocol.buffer_bytes}-byte buffers, sharing depth {protocol.sharing_depth}, "
            f"standby {protocol.standby}, {self.schedule}"
        )

    def run(self) -> Recording:
        """Runs it to the end and returns what was recorded."""
        run = Run(
            manifest=self.manifest,
            protocol=PROTOCOLS["clonos"](),
            operator=new_operator,
            partitions=pass_through_partitions(
                self.manifest, seed=self.seed, events=self.events, rate_per_s=self.rate_per_s
            ),
            seed=self.seed,
            costs=self.costs,
            jitter=self.jitter,
            blows=[Blow(tuple(Kill(TaskId(task), at) for task, at in blow)) for blow in self.schedule.blows],
            kills_in=[KillIn(TaskId(task), state) for task, state in self.schedule.kills_in],
        )
        self.engine = Engine(run, self.members)
        self.engine.on_returned = self._watch
        self.engine.run()
        self.members.append("job.json", self.manifest.to_bytes())
        return Recording(self.manifest, self.members.members, self.engine.totals.returned)

    def _watch(self, attempt: Attempt, logs: Logs) -> None:
        """Whatever survives must not hold more of the failed task's log than the recovery was given."""
        engine = attempt.engine
        if not engine.logging:
            return
        given = {(copy.log, copy.epoch): copy.data for copy in logs}
        for survivor in engine.current.values():
            if survivor is attempt or not survivor.alive:
                continue
            for copy in survivor.causal.held(attempt.task, attempt.checkpoint):
                if not given.get((copy.log, copy.epoch), b"").startswith(copy.data):
                    what = f"{copy.log}, epoch {copy.epoch}"
                    self.overlooked.append(Overlap(f"{attempt.task} attempt {attempt.number}", survivor.task, what))


def _parallelism(manifest: Manifest) -> int:
    return manifest.vertices[0].parallelism


def _manifest(draw: Random, seed: int, duration_ms: int) -> Manifest:
    depth = draw.choice((2, 3, 3, 4, 4, 5))
    parallelism = draw.choice((1, 2, 2, 3)) if depth < 5 else draw.choice((1, 2))
    protocol = Protocol(
        name="clonos",
        sharing_depth=draw.choice((None, None, None, 1, 1, 2, 3, 0)),
        standby=draw.choice((0, 1, 1, 2)),
        checkpoint_interval_ms=max(10, int(duration_ms * draw.choice((0.1, 0.25, 0.6, 2)))),
        buffer_bytes=draw.choice((24, 64, 200, 1000)),
    )
    ships = [draw.choice(("hash", "hash", "forward")) for _ in range(depth - 1)]
    return pass_through_manifest(
        Job("pass-through", "clonoscope simulation", "", seed, ""),
        protocol,
        parallelism=parallelism,
        depth=depth,
        ships=ships,
        options={"clock_every": draw.choice((0, 1, 1, 3))},
    )


def _costs(draw: Random) -> Costs:
    return Costs(
        record_us=draw.choice((5, 50, 400)),
        cut_us=draw.choice((2, 20, 300)),
        flush_us=draw.choice((100, 2_000, 20_000)),
        rtt_us=draw.choice((20, 500, 10_000)),
        rpc_us=draw.choice((20, 500, 10_000)),
        connect_us=draw.choice((50, 2_000, 30_000)),
        loss_notice_us=draw.choice((20, 1_000, 20_000)),
        heartbeat_timeout_us=draw.choice((5_000, 200_000)),
        snapshot_us=draw.choice((50, 2_000, 20_000)),
        restore_us=draw.choice((50, 5_000, 40_000)),
        deploy_us=draw.choice((500, 20_000, 200_000)),
        metric_us=10_000_000,
        credits=draw.choice((1, 2, 8)),
        batch_records=draw.choice((1, 4, 32)),
    )


def _schedule(draw: Random, manifest: Manifest, duration_ms: float) -> Schedule:
    tasks = [task.id for task in manifest.tasks]
    blows = []
    for _ in range(draw.choice((0, 1, 1, 1, 2, 3))):
        at_ms = _when(draw, duration_ms, manifest.protocol.checkpoint_interval_ms or 1000)
        blows.append(tuple((task, round(at_ms + _apart(draw), 3)) for task in _struck(draw, manifest)))
    kills_in = tuple(
        (draw.choice([task for blow in blows for task, _ in blow] or tasks), draw.choice(STATE_NAMES))
        for _ in range(draw.choice((0, 0, 1, 2)) if blows else 0)
    )
    return Schedule(tuple(blows), kills_in)


def _when(draw: Random, duration_ms: float, interval_ms: int) -> float:
    """Anywhere, or soon after a checkpoint is likely to have been triggered."""
    at_ms = duration_ms * draw.uniform(0.02, 1.3)
    if draw.random() < 0.35:
        at_ms = (1 + at_ms // interval_ms) * interval_ms + draw.choice((0.1, 1.0, 10.0)) * draw.random()
    return round(at_ms, 3)


def _apart(draw: Random) -> float:
    return draw.choice((0.0, 0.0, draw.uniform(0, 2), draw.uniform(0, 30)))


def _struck(draw: Random, manifest: Manifest) -> list[str]:
    """One task, two at random, or two that a channel connects."""
    channels = [one.channel for task in manifest.tasks for one in task.outputs]
    tasks: list[str] = [task.id for task in manifest.tasks]
    how = draw.random()
    if how < 0.45:
        return [draw.choice(tasks)]
    if how < 0.8:
        return draw.choice(channels).split(">")
    return draw.sample(tasks, min(len(tasks), draw.choice((2, 3, 4))))
