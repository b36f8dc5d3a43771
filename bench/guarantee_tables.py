"""A job that never ran, as tables of the lake: buffers cut and taken at random times, what follows from that derived.

Tasks stand in layers, each sends to all of the next one. A source chooses once per buffer, all others log the order in
which they take. Who is within the sharing depth holds what it will depend on from when the buffer arrives.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ingest.jobs.causal_tables import table_rows
from ingest.lake.manifest import LakeManifest
from ingest.lake.publish import publish
from ingest.lake.readers import Lake
from ingest.lake.recoverability.of_lake import LakeCausality
from ingest.lake.schema import LAKE_TABLES
from ingest.lake.writers import FileSummary, TableWriter
from ingest.transforms.growth.channel_rows import BUFFERS, SENDINGS, ChannelRows
from ingest.transforms.growth.growing import Growth, grown
from ingest.transforms.growth.lifetimes import Lifetimes
from ingest.transforms.growth.places import Names
from ingest.transforms.growth.runs import Run
from ingest.transforms.growth.spool import Spool
from replay.guarantees.claims import Section
from replay.guarantees.recoverability.of_bundle import BundleCausality
from replay.guarantees.recoverability.port import Depended, Held, Place
from replay.guarantees.recoverability.section import recoverability_of
from replay.guarantees.recoverability.sweep import Rows
from replay.jobs.graphs import manifest_of
from replay.model import Edge, Graph, Job, Manifest, Protocol, Vertex

JOB = "j_1"
EPOCHS = 12
DURATION_US = 60_000_000
ARRIVES_US, TAKEN_US, WRITTEN_US = 500, 300, 20
TASKS_ON_A_HOST = 5
ORDER_BYTES, TIMESTAMP_BYTES = 2, 9


def made_up(folder: Path, vertices: int, tasks: int, buffers: int, depth: int | None) -> dict[str, int]:
    """Writes and publishes the tables; returns how many rows they have."""
    manifest = job_of(vertices, tasks, depth)
    names = Names(Graph(manifest))
    rows = made_up_rows(names, buffers // sum(len(task.outputs) for task in manifest.tasks))
    spool = Spool(folder / "growing")
    staging = folder / "staging"
    staging.mkdir(parents=True)
    growth = grown(rows, names, Lifetimes(), manifest.protocol, spool, lambda done, total: None)
    growth.holders = [_arrived(run, growth, depth) for run in growth.frontiers]
    files = [file for table in ("holders", "frontiers") for file in table_rows(LAKE_TABLES[table], staging, growth)]
    files += _write("sinks", staging, [_sinks(names, rows)])
    files += [file for table in ("sendings", "buffers") for file in write_table(table, staging, names, rows)]
    LakeManifest(JOB, tuple(files)).write(staging)
    publish(folder / "data", staging, JOB, "w", 0)
    (folder / "job.json").write_bytes(manifest.to_bytes())
    return {table: sum(file.rows for file in files if file.table == table) for table in ("holders", "frontiers")}


def job_of(vertices: int, tasks: int, depth: int | None) -> Manifest:
    """Layers of tasks."""
    names = ["source", *(f"map-{n}" for n in range(1, vertices - 1)), "sink"]
    kinds = ["source", *["operator"] * (vertices - 2), "sink"]
    made = [Vertex(name, kind, parallelism=tasks) for name, kind in zip(names, kinds, strict=True)]
    edges = [Edge(one, other, "hash") for one, other in itertools.pairwise(names)]
    return manifest_of(Job("made up", "bench", "", 1, ""), Protocol("clonos", depth), made, edges)


def made_up_rows(names: Names, each: int) -> ChannelRows:
    """Layer by layer: what a task has logged by a cut follows from what it took before."""
    draw = np.random.default_rng(1)
    found = ChannelRows(names)
    every_us = DURATION_US // EPOCHS
    taken: dict[str, list[Any]] = {}
    for task in names.graph.order:
        takes = np.sort(np.concatenate(taken.get(task, [np.zeros(0, np.int64)])))
        for output in names.graph.task(task).outputs:
            cut = np.sort(draw.integers(0, DURATION_US, each))
            epoch = cut // every_us
            begun = epoch * every_us
            size = ORDER_BYTES if len(takes) else TIMESTAMP_BYTES
            logged = takes if len(takes) else cut
            count = np.searchsorted(logged, cut, side="right") - np.searchsorted(logged, begun)
            seq, zeros = np.arange(each), np.zeros(each, np.int64)
            received = cut + ARRIVES_US
            takes_at = np.maximum.accumulate(received + draw.integers(0, TAKEN_US, each))
            of_buffers = (zeros, seq, epoch, cut, epoch, count * size)
            channel = pa.DictionaryArray.from_arrays(pa.array(np.zeros(each, np.int32)), [output.channel])
            found.add_buffers(dict(zip(BUFFERS, of_buffers, strict=True)), channel)
            of_sendings = (zeros, seq, zeros, zeros, cut + 50, received, takes_at)
            found.add_sendings(dict(zip(SENDINGS, of_sendings, strict=True)), channel)
            taken.setdefault(names.graph.channel(output.channel).target, []).append(takes_at)
    found.epochs.append(np.arange(EPOCHS))
    return found


def _arrived(run: Run, growth: Growth, depth: int | None) -> Run:
    """What a task depends on it held since it arrived, if the log comes that far."""
    names = growth.names
    hops = np.array([names.graph.distance(task, names.tasks[run.who]) or 99 for task in names.tasks])
    near = hops[names.task_of_log[growth.places.log[run.place]]] <= (depth or 99)
    place = run.place[near]
    places, first = np.unique(place, return_index=True)
    whose = np.zeros(len(place), np.int64)
    bounds = np.append(first, len(place))
    return Run(run.who, 0, places, bounds, place, run.t_us[near] - TAKEN_US // 2, run.upto[near], whose)


# --- what stands beside the two tables ---


def _write(table: str, staging: Path, parts: Iterable[dict[str, Any]]) -> list[FileSummary]:
    writer = TableWriter(LAKE_TABLES[table], staging, "part-00000")
    for columns in parts:
        rows = next(len(one) for one in columns.values() if not isinstance(one, (str, int)))
        writer.add({key: pa.array(one) if isinstance(one, np.ndarray) else one for key, one in columns.items()}, rows)
    return writer.close()


def write_table(
    table: str, staging: Path, names: Names, rows: ChannelRows, parts: Iterable[dict[str, Any]] | None = None
) -> list[FileSummary]:
    """Channel by channel, in the table's order; what is not `parts` is told by the rows."""
    of_channel = {"sendings": _sendings, "buffers": _buffers}
    channels = sorted(channel.id for channel in names.graph.channels)
    return _write(table, staging, parts or (of_channel[table](channel, rows) for channel in channels))


def _sinks(names: Names, rows: ChannelRows) -> dict[str, Any]:
    sinks = [task for task in names.graph.tasks if not task.outputs]
    times = [
        np.sort(np.concatenate([rows.sendings.whole(one)["taken_us"] for one in task.inputs])) + WRITTEN_US
        for task in sinks
    ]
    counts = [len(one) for one in times]
    t_us = np.concatenate(times)
    return {
        "task": pa.array(np.repeat([task.id for task in sinks], counts)),
        "attempt": 0,
        "epoch": t_us // (DURATION_US // EPOCHS),
        "n": np.concatenate([np.arange(count) for count in counts]),
        "t_us": t_us,
    }


def _sendings(channel: str, rows: ChannelRows) -> dict[str, Any]:
    found = rows.sendings.whole(channel)
    epoch = found["taken_us"] // (DURATION_US // EPOCHS)
    return {**found, "channel": channel, "flags": 0, "taken_epoch": epoch, "taken_offset": 0, "taken_count": 0}


def _buffers(channel: str, rows: ChannelRows) -> dict[str, Any]:
    return {
        **{name: rows.buffers.whole(channel)[name] for name in BUFFERS},
        "channel": channel,
        "bytes": 32_768,
        "flags": 0,
        "records": 100,
    }


class MadeUp:
    """Such a job as a recording, as far as recoverability reads it."""

    def __init__(self, folder: Path) -> None:
        self.manifest = Manifest.from_json((folder / "job.json").read_bytes())
        self.graph = Graph(self.manifest)
        self.job = Lake(folder / "data").job(JOB)

    def section(self, how: str) -> Section:
        """By the tables' own sweep, or by plain Python over all of their rows."""
        causality = LakeCausality if how == "tables" else PlainCausality
        return recoverability_of(causality(self, self.job))  # type: ignore[arg-type]

    def events(self) -> Iterator[Mapping[str, Any]]:
        """Attempts begin, checkpoints complete."""
        for n, task in enumerate(self.graph.tasks):
            started = {"type": "attempt-started", "t_us": 0, "task": task.id, "attempt": 0}
            yield {"n": n, **started, "host": f"host-{n // TASKS_ON_A_HOST}"}
        for epoch in range(1, EPOCHS):
            t_us = epoch * DURATION_US // EPOCHS + 100_000
            yield {
                "n": len(self.graph.tasks) + epoch,
                "type": "checkpoint-completed",
                "t_us": t_us,
                "checkpoint": epoch,
            }
        yield {"n": len(self.graph.tasks) + EPOCHS, "type": "metric", "t_us": DURATION_US + 2_000}

    def attempts(self, task: str) -> tuple[int, ...]:
        """None fails."""
        return (0,)

    def source(self, task: str, attempt: int) -> Iterator[Mapping[str, Any]]:
        """There are records."""
        yield {"offset": 0, "record": []}

    def determinants(self, task: str, attempt: int, thread: str, epoch: int) -> Iterator[Any]:
        """There are no bytes."""
        return iter(())


class PlainCausality(LakeCausality):
    """All rows of the tables as objects, swept in plain Python."""

    sweep = BundleCausality.sweep

    @cached_property
    def rows(self) -> Rows:
        """Read at once."""
        from replay.guarantees.recoverability.outside import depended_outside

        held = self.job.rows("SELECT task, thread, epoch, attempt, holder, holder_attempt, t_us, upto FROM holders")
        needs = self.job.rows("SELECT task, attempt, t_us, of_task, thread, epoch, upto FROM frontiers")
        depended = [Depended(one[0], one[1], one[2], Place(*one[3:6]), one[6]) for one in needs]
        outside = depended_outside(depended, self.written)
        return Rows.of((Held(Place(*one[:3]), *one[3:]) for one in held), [*depended, *outside])
