"""`record`: runs a sample job in virtual time and writes the bundle of its recording."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from replay.bundle.writer import BundleWriter
from replay.jobs.catalogue import job_named
from replay.jobs.code import naming_its_code
from replay.jobs.idle_options import refuse_idle
from replay.jobs.kill_options import parse_kill, parse_kill_in, parse_suspect
from replay.jobs.option_fields import WrongOption
from replay.jobs.options import RecordOptions
from replay.jobs.registry import new_operator
from replay.jobs.summary import summary_of
from replay.model import Job, Manifest, Protocol, TaskId
from replay.runtime.attempts.memory import Memory
from replay.runtime.checkpoint_policy import CheckpointPolicy
from replay.runtime.costs import Costs
from replay.runtime.engine import Engine, Run
from replay.runtime.failing.kills import Blow, Kill, KillHost, KillIn
from replay.runtime.failing.suspicion import Suspicion
from replay.runtime.protocol import FaultTolerance

RECORDER = "clonoscope 0.1"
Progress = Callable[[int, int], None]
Protocols = Mapping[str, type[FaultTolerance]]
"""By name: `replay.protocols.PROTOCOLS`. Passed in, since jobs and protocols don't know each other."""


def record(
    options: RecordOptions,
    out: Path | str,
    progress: Progress | None = None,
    *,
    protocols: Protocols,
    recorded_at: str = "",
) -> dict[str, Any]:
    """Records a job into a bundle at `out`, or leaves nothing there; returns what there is to say about it."""
    run = run_of(options, protocols, recorded_at=recorded_at)
    with BundleWriter(out) as writer:
        engine = Engine(run, writer)
        engine.run(progress)
        writer.close(run.manifest)
    summary = summary_of(engine, shows_all=job_named(options.job).shows_all)
    return {"job": options.job, "out": str(out), "command": options.command(), **summary}


def run_of(options: RecordOptions, protocols: Protocols, *, recorded_at: str = "") -> Run:
    """The run that the options ask for, checked against the job that they make."""
    sample = job_named(options.job)
    sample.check(options)
    job = Job(options.job, RECORDER, recorded_at, options.seed, options.command())
    protocol = protocols[options.protocol]()
    refuse_idle(options, sample, protocol)
    manifest = naming_its_code(sample.manifest(job, protocol_of(options, protocol), options))
    return Run(
        manifest=manifest,
        protocol=protocol,
        operator=new_operator,
        partitions=sample.partitions(manifest, options),
        seed=options.seed,
        costs=costs_of(options),
        memory=memory_of(options),
        blows=[_blow(manifest, text) for text in options.kills],
        suspicions=[Suspicion(_known(manifest, task), at) for task, at in map(parse_suspect, options.suspects)],
        hosts=options.hosts,
        slots=options.slots,
        checkpoints=CheckpointPolicy(
            back_off_intervals=options.back_off,
            timeout_us=options.checkpoint_timeout_ms * 1000,
            min_pause_us=options.checkpoint_pause_ms * 1000,
            incremental=options.snapshots == "incremental",
        ),
        kills_in=[KillIn(_known(manifest, task), state) for task, state in map(parse_kill_in, options.kills_in)],
    )


def protocol_of(options: RecordOptions, protocol: FaultTolerance) -> Protocol:
    """As the manifest tells of it; what the protocol has no use for is 0."""
    return Protocol(
        name=options.protocol,
        sharing_depth=options.sharing_depth if protocol.shares else 0,
        standby=options.standby if protocol.standbys else 0,
        checkpoint_interval_ms=options.checkpoint_interval_ms,
        sink=options.sink,
        spill=options.spill,
        buffer_bytes=options.buffer_bytes,
        delta_layout=options.delta_layout,
        on_lost=options.on_lost,
    )


def costs_of(options: RecordOptions) -> Costs:
    """What the options say that things cost."""
    return Costs(
        record_us=options.record_cost_us,
        flush_us=round(options.flush_ms * 1000),
        disk_bytes_per_s=max(1, round(options.disk_mib_s * (1 << 20))),
        state_bytes=round(options.state_mib * (1 << 20)),
        rtt_us=round(options.rtt_ms * 1000),
        bandwidth_bytes_per_s=max(1, round(options.bandwidth_mib_s * (1 << 20))),
        heartbeat_us=options.heartbeat_ms * 1000,
        heartbeat_timeout_us=options.heartbeat_timeout_ms * 1000,
    )


def memory_of(options: RecordOptions) -> Memory:
    """What the options say that a task's logs may take."""
    return Memory(
        determinant_pool_bytes=round(options.determinant_pool_mib * (1 << 20)),
        in_flight_buffers=options.in_flight_pool,
        spill_interval_us=round(options.spill_interval_ms * 1000),
        spill_threshold=options.spill_threshold,
        prefetch_buffers=options.prefetch,
    )


def _blow(manifest: Manifest, text: str) -> Blow:
    return Blow(tuple(_kill(manifest, name, at_ms) for name, at_ms in parse_kill(text)))


def _kill(manifest: Manifest, name: str, at_ms: float) -> Kill | KillHost:
    is_host = manifest.task(name) is None and re.fullmatch("host-[0-9]+", name)
    return KillHost(name, at_ms) if is_host else Kill(_known(manifest, name), at_ms)


def _known(manifest: Manifest, task: str) -> TaskId:
    found = manifest.task(task)
    if found is None:
        names = ", ".join(one.id for one in manifest.tasks)
        raise WrongOption(f"the job has no task {task!r} to kill", remedy=f"Its tasks are {names}")
    return found.id
