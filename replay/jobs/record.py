"""`record`: runs a sample job in virtual time and writes the bundle of its recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from replay.bundle.writer import BundleWriter
from replay.jobs.options import RecordOptions, WrongOption, parse_kill, parse_kill_in
from replay.jobs.pass_through_job import pass_through_manifest, pass_through_partitions
from replay.jobs.registry import new_operator
from replay.jobs.summary import summary_of
from replay.model import Job, Manifest, Protocol, TaskId
from replay.runtime.engine import Engine, Run
from replay.runtime.kills import Blow, Kill, KillIn
from replay.runtime.protocol import FaultTolerance

JOBS = {"pass-through": "Records go from sources through maps, which stamp them with time and order, to plain sinks."}
"""What `record --list` names."""

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
    return {"job": options.job, "out": str(out), "command": options.command(), **summary_of(engine)}


def run_of(options: RecordOptions, protocols: Protocols, *, recorded_at: str = "") -> Run:
    """The run that the options ask for, checked against the job that they make."""
    if options.job not in JOBS:
        raise WrongOption(f"there is no job {options.job!r}", remedy=f"Choose one of {', '.join(JOBS)}")
    job = Job(options.job, RECORDER, recorded_at, options.seed, options.command())
    manifest = pass_through_manifest(job, protocol_of(options), parallelism=options.parallelism, depth=options.depth)
    partitions = pass_through_partitions(
        manifest, seed=options.seed, events=options.events, rate_per_s=options.rate_per_s
    )
    return Run(
        manifest=manifest,
        protocol=protocols[options.protocol](),
        operator=new_operator,
        partitions=partitions,
        seed=options.seed,
        blows=[_blow(manifest, text) for text in options.kills],
        kills_in=[KillIn(_known(manifest, task), state) for task, state in map(parse_kill_in, options.kills_in)],
    )


def protocol_of(options: RecordOptions) -> Protocol:
    """As the manifest tells of it."""
    return Protocol(
        name=options.protocol,
        sharing_depth=options.sharing_depth,
        standby=options.standby,
        checkpoint_interval_ms=options.checkpoint_interval_ms,
        sink=options.sink,
        spill=options.spill,
        buffer_bytes=options.buffer_bytes,
        delta_layout=options.delta_layout,
        on_lost=options.on_lost,
    )


def _blow(manifest: Manifest, text: str) -> Blow:
    return Blow(tuple(Kill(_known(manifest, task), at_ms) for task, at_ms in parse_kill(text)))


def _known(manifest: Manifest, task: str) -> TaskId:
    found = manifest.task(task)
    if found is None:
        names = ", ".join(one.id for one in manifest.tasks)
        raise WrongOption(f"the job has no task {task!r} to kill", remedy=f"Its tasks are {names}")
    return found.id
