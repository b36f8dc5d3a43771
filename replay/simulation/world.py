"""A world: a job, its settings and its failures, all drawn from one seed; run, and its recording looked at."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from random import Random

from replay.jobs.registry import new_operator
from replay.model import Manifest, TaskId, Vertex
from replay.protocols import PROTOCOLS
from replay.recovery import Logs
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.engine import Engine, Run
from replay.runtime.failing.kills import KillIn
from replay.runtime.failing.suspicion import Suspicion
from replay.runtime.operators import Operator
from replay.runtime.recorder import MemoryMembers
from replay.simulation.jobs import WORKLOADS, random_workload
from replay.simulation.outside import to_the_outside
from replay.simulation.plan import Plan, changes
from replay.simulation.recording import Asked, Recording
from replay.simulation.schedule import Marksman, Schedule, random_schedule
from replay.simulation.settings import random_costs, random_protocol
from replay.simulation.site import Hosting
from replay.simulation.spilling import spilling
from replay.simulation.surroundings import surrounded
from replay.simulation.troubles import troubled


@dataclass(frozen=True, slots=True)
class Overlap:
    """A survivor held bytes that a recovery was not given."""

    recovering: str
    survivor: str
    what: str


def random_plan(seed: int) -> Plan:
    """The plan of that seed."""
    draw = Random(f"world {seed}")
    workload = random_workload(draw)
    events = draw.choice((12, 12, 40, 40, 80, 160))
    rate_per_s = draw.choice((400.0, 1500.0, 6000.0))
    job = workload.draw(draw)
    drawn = Plan(
        seed=seed,
        job=workload.name,
        vertices=job.vertices,
        edges=job.edges,
        protocol=random_protocol(draw, int(events / rate_per_s * 1000)),
        events=events,
        rate_per_s=rate_per_s,
        costs=random_costs(draw),
        jitter=draw.choice((0.3, 0.8, 1.0)),
        options=job.options,
    )
    plan = surrounded(to_the_outside(spilling(drawn)))
    duration_ms = workload.duration_ms(job, events, rate_per_s)
    schedule = random_schedule(draw, plan.manifest(), duration_ms)
    return replace(plan, schedule=troubled(Random(f"troubles {seed}"), schedule, plan, duration_ms))


class World:
    """Made from a plan, run once by `run`; then its recording can be checked."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.manifest: Manifest = plan.manifest()
        self.members = MemoryMembers()
        self.engine: Engine | None = None
        self.overlooked: list[Overlap] = []

    @classmethod
    def random(cls, seed: int) -> World:
        """The world of that seed."""
        return cls(random_plan(seed))

    @property
    def seed(self) -> int:
        """Of the plan, and of all that is left to chance while it runs."""
        return self.plan.seed

    @property
    def schedule(self) -> Schedule:
        """What goes wrong."""
        return self.plan.schedule

    @property
    def reproduce_with(self) -> str:
        """One line that runs this world again."""
        line = f"python -m replay.simulation --worlds 1 --seed {self.seed}"
        drawn = random_plan(self.seed)
        return line if drawn == self.plan else f"{line} --with {shlex.quote(changes(drawn, self.plan))}"

    @property
    def describes(self) -> str:
        """What was drawn."""
        return self.plan.describes

    def run(self) -> Recording:
        """Runs it to the end and returns what was recorded."""
        plan, schedule = self.plan, self.plan.schedule
        run = Run(
            manifest=self.manifest,
            protocol=PROTOCOLS[plan.protocol.name](),
            operator=self.new_operator,
            partitions=WORKLOADS[plan.job].partitions(plan, self.manifest),
            seed=plan.seed,
            costs=plan.costs,
            memory=plan.memory_of_tasks,
            jitter=plan.jitter,
            blows=[schedule.blow(i) for i in range(len(schedule.blows))],
            kills_in=[KillIn(TaskId(task), state) for task, state in schedule.kills_in],
            suspicions=[Suspicion(TaskId(one.task), one.at_ms, one.duration_ms) for one in schedule.suspicions],
            checkpoints=plan.checkpoints,
            hosts=plan.site.hosts,
            slots=plan.site.slots,
            local_copies=plan.site.local_copies,
        )
        self.engine = self.new_engine(run)
        self.engine.on_returned = self._watch
        Marksman(self.engine, schedule.aims)
        self.engine.run()
        self.members.append("job.json", self.manifest.to_bytes())
        externals = self.engine.externals
        asked = Asked(externals.calls, externals.writes)
        return Recording(
            self.manifest, self.members.members, self.engine.totals.returned, asked, self._hosting(self.engine)
        )

    def new_operator(self, vertex: Vertex) -> Operator:
        """What runs a vertex; whoever watches puts something before it."""
        return new_operator(vertex)

    def new_engine(self, run: Run) -> Engine:
        """What runs the job; whoever watches takes another one."""
        return Engine(run, self.members)

    def _hosting(self, engine: Engine) -> Hosting:
        hosts, site = engine.failures.hosts, self.plan.site
        return Hosting(
            hosts.names,
            site.slots,
            local_copies=site.local_copies,
            loses_hosts=self.schedule.strikes_hosts,
            state_bytes=self.plan.costs.state_bytes,
        )

    def _watch(self, attempt: Attempt, logs: Logs) -> None:
        """Whatever survives must not hold more of the failed task's log than the recovery was given."""
        engine = attempt.engine
        if not engine.logging or attempt.diverged:
            return
        given = {(copy.log, copy.epoch): copy.data for copy in logs}
        for survivor in engine.current.values():
            if survivor is attempt or not survivor.alive:
                continue
            for copy in survivor.causal.held(attempt.task, attempt.checkpoint):
                if not given.get((copy.log, copy.epoch), b"").startswith(copy.data):
                    what = f"{copy.log}, epoch {copy.epoch}"
                    self.overlooked.append(Overlap(f"{attempt.task} attempt {attempt.number}", survivor.task, what))
