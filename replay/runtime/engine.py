"""Runs a job in virtual time: tasks, channels, coordinator, failures. Whatever is left to chance is the seed's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replay.log.deltas import LogIds
from replay.log.spill_files import SpillFiles
from replay.model import Graph, Manifest, Record, TaskId, Vertex
from replay.recovery import Logs
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.attempts.memory import Memory
from replay.runtime.checkpoint_policy import CheckpointPolicy
from replay.runtime.checkpoints import Checkpoints
from replay.runtime.costs import Costs
from replay.runtime.failing.failures import Failures
from replay.runtime.failing.kills import Blow, KillIn
from replay.runtime.failing.losses import Losses
from replay.runtime.failing.suspicion import Suspicion
from replay.runtime.horizon import horizon_us
from replay.runtime.links import Links
from replay.runtime.log_totals import LogTotals
from replay.runtime.metrics import Metrics
from replay.runtime.operators import Operator
from replay.runtime.outside.deliveries import Deliveries
from replay.runtime.outside.externals import External, Externals
from replay.runtime.outside.partition_log import Partition
from replay.runtime.outside.world import World
from replay.runtime.protocol import FaultTolerance
from replay.runtime.recorder import Members, Recorder
from replay.runtime.scheduler import Action, Scheduler


@dataclass(frozen=True, slots=True)
class Run:
    """What is to be run: a job's manifest, its operators and partitions, and what is to go wrong.

    `hosts` and `slots` (of each host) None: as many as are needed. `local_copies`: a host keeps the snapshots of its
    tasks, so one that is rescheduled there need not load them from afar.
    """

    manifest: Manifest
    protocol: FaultTolerance
    operator: Callable[[Vertex], Operator]
    partitions: Mapping[TaskId, Partition]
    seed: int
    costs: Costs = field(default_factory=Costs)
    memory: Memory = field(default_factory=Memory)
    jitter: float = 0.5
    blows: Sequence[Blow] = ()
    kills_in: Sequence[KillIn] = ()
    suspicions: Sequence[Suspicion] = ()
    checkpoints: CheckpointPolicy = field(default_factory=CheckpointPolicy)
    hosts: int | None = None
    slots: int | None = None
    local_copies: bool = False
    externals: Mapping[str, External] = field(default_factory=dict)


@dataclass(slots=True)
class Totals:
    """What is counted on the way."""

    buffers_sent: int = 0
    payload_bytes: int = 0
    delta_bytes: int = 0
    world_bytes: int = 0
    dependency_bytes: int = 0
    logs: LogTotals = field(default_factory=LogTotals)
    returned: list[tuple[TaskId, int, Logs]] = field(default_factory=list)


class Engine:
    """One run of a job, from its first record to its last checkpoint."""

    def __init__(self, run: Run, members: Members | None):
        """`members` None: the run is measured and not recorded."""
        protocol = run.manifest.protocol
        self.run_of = run
        self.protocol = run.protocol
        self.graph = Graph(run.manifest)
        self.costs = run.costs
        self.origin_ms = run.manifest.clock.origin_ms
        self.buffer_bytes = protocol.buffer_bytes
        self.delta_layout = protocol.delta_layout
        self.sharing_depth = protocol.sharing_depth
        self.logging = protocol.logs
        self.in_flight = run.protocol.in_flight
        self.in_storage = protocol.in_storage
        self.waits = run.protocol.waits
        self.tracks = run.protocol.tracks
        self.log_ids = LogIds.of(run.manifest)
        self.scheduler = Scheduler(run.seed, run.jitter)
        self.recorder = Recorder(members)
        self.totals = Totals()
        self.spill_files = SpillFiles()
        self.deliveries = Deliveries.of({task: one.records for task, one in run.partitions.items()})
        self.externals = Externals(run.seed, run.externals)
        self._serials = 0
        self.on_returned: Callable[[Attempt, Logs], None] | None = None
        self.on_event: Callable[[str, Mapping[str, Any]], None] | None = None
        self.current: dict[TaskId, Attempt] = {}
        self.world = World(self)
        self.losses = Losses(self)
        self.links = Links(self)
        self.checkpoints = Checkpoints(self, (protocol.checkpoint_interval_ms or 1000) * 1000)
        self.failures = Failures(self, run, protocol.standby)
        self.sources: tuple[TaskId, ...] = tuple(task.id for task in self.graph.tasks if not task.inputs)
        self.metrics = Metrics(self)

    # --- from the beginning to the end ---

    def run(self, progress: Callable[[int, int], None] | None = None) -> Totals:
        """Runs the job to its end; `progress` is told how many records of how many the sources have read."""
        for task in self.graph.tasks:
            seat = self.failures.placement.first(task.id, task.subtask)
            attempt = self.deploy(task.id, 0, seat.host, 0, running=True)
            attempt.seat = seat
            attempt.state_cause = self.event(
                "attempt-started", task=task.id, attempt=0, host=attempt.host, standby=False, checkpoint=0
            )
        self.failures.standbys.start()
        self.begin(0)
        self.checkpoints.start()
        self.failures.start()
        self.metrics.start()
        if progress is not None:
            self._report(progress)
        try:
            self.scheduler.run(self._done, lambda: horizon_us(self))
            for attempt in (*self.current.values(), *self.failures.fenced):
                attempt.archive()
        finally:
            self.spill_files.close()
        return self.totals

    def _done(self) -> bool:
        return self.checkpoints.done and all(one.executing and one.idle for one in self.current.values())

    def begin(self, checkpoint: int) -> None:
        """All tasks begin to execute together, from a checkpoint."""
        self.links.open_all(checkpoint)
        for attempt in self.current.values():
            attempt.deployed = True
            attempt.execute()
        for attempt in list(self.current.values()):
            self.failures.deployed(attempt)

    def deploy(self, task: TaskId, number: int, host: str, checkpoint: int, *, running: bool) -> Attempt:
        """A new attempt takes the task's place."""
        attempt = Attempt(self, task, number, host, checkpoint, running=running)
        self.current[task] = attempt
        if number:
            self.deliveries.began(task, checkpoint)
        if attempt.diverged:
            self.losses.began_anew(attempt)
        return attempt

    def next_serial(self) -> int:
        """Numbers attempts in the order in which they are deployed."""
        self._serials += 1
        return self._serials

    def _report(self, progress: Callable[[int, int], None]) -> None:
        total = sum(one.records for one in self.run_of.partitions.values())

        def tell() -> None:
            offsets = (self.current[one] for one in self.sources)
            progress(sum(one.body.source_offset for one in offsets if one.executing), total)
            self.scheduler.at(self.scheduler.now_us + 250_000, tell)

        tell()

    # --- what attempts and coordinator share ---

    def call(self, action: Action) -> None:
        """A remote call between coordinator and task."""
        self.scheduler.after(self.costs.rpc_us, action)

    def event(self, kind: str, *, re: int | None = None, **fields: Any) -> int:
        """Records an event; returns its number."""
        n = self.recorder.event(self.scheduler.now_us, kind, {**fields, "re": re})
        if self.on_event is not None:
            self.on_event(kind, fields)
        return n

    def moment(self, kind: str, **fields: Any) -> None:
        """Something begins that no event tells of: for whoever follows the run, not for its recording."""
        if self.on_event is not None:
            self.on_event(kind, fields)

    def new_operator(self, task: TaskId) -> Operator:
        """A new operator instance for a task."""
        return self.run_of.operator(self.graph.vertex_of(task))

    def partition_of(self, task: TaskId) -> Partition | None:
        """What a source reads."""
        return self.run_of.partitions.get(task)

    def state_of(self, task: TaskId, checkpoint: int) -> dict[str, Any] | None:
        """The state that a checkpoint holds of a task."""
        data = self.checkpoints.state(task, checkpoint)
        return None if data is None else json.loads(data)

    def all_exhausted(self) -> bool:
        """Whether every source has read its partition to the end, and no task is recovering."""
        if not all(one.counts and one.executing and one.manager.is_running for one in self.current.values()):
            return False
        for source in self.sources:
            partition, attempt = self.partition_of(source), self.current[source]
            if partition is not None and attempt.body.source_offset < partition.records:
                return False
        return True

    # --- counting ---

    def count_sending(self, payload_bytes: int, delta_bytes: int) -> None:
        """A buffer was sent."""
        self.totals.buffers_sent += 1
        self.totals.payload_bytes += payload_bytes
        self.totals.delta_bytes += delta_bytes

    def returned(self, attempt: Attempt, logs: Logs) -> None:
        """A recovery has its determinants."""
        self.totals.returned.append((attempt.task, attempt.number, logs))
        if self.on_returned is not None:
            self.on_returned(attempt, logs)

    def source_read(self, task: TaskId, offset: int, t_us: int) -> None:
        """A source read a record."""
        self.metrics.source_read(task, offset, t_us)

    def sink_wrote(self, attempt: Attempt, record: Record, t_us: int) -> None:
        """What a sink wrote can be seen outside."""
        self.deliveries.wrote(attempt.task, attempt.body.epoch, record)
        self.metrics.sink_wrote(attempt, record, t_us)
