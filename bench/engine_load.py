"""The job that the engine's benches run: 119-byte records, 32 KiB buffers, parallelism 5, sources at full speed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from replay.jobs.graphs import ORIGIN_MS
from replay.jobs.pass_through_job import pass_through_manifest, pass_through_partitions
from replay.jobs.registry import new_operator
from replay.model import Job, Protocol, Record, TaskId
from replay.protocols.clonos import Clonos
from replay.runtime.costs import Costs
from replay.runtime.engine import Run
from replay.runtime.partition_log import SteadyPartition

RECORD_BYTES = 119
PARALLELISM = 5
BUFFER_BYTES = 32768
_RATE_PER_S = 20_000.0
_FLUSH_US = 100_000


class Unlogged(Clonos):
    """Keeps nothing for a recovery: what logging is compared with."""

    name = "none"
    in_flight = False


@dataclass(frozen=True, slots=True)
class Load:
    """`events` records, read by all sources together."""

    events: int
    depth: int = 4
    clock_every: int = 0

    @property
    def describes(self) -> str:
        return f"pass-through of {self.depth} vertices, {self.events} records of {RECORD_BYTES} bytes"

    def run(self, *, in_flight: bool, sharing_depth: int | None) -> Run:
        protocol = Protocol(
            name="clonos", sharing_depth=sharing_depth, checkpoint_interval_ms=1000, buffer_bytes=BUFFER_BYTES
        )
        manifest = pass_through_manifest(
            Job("pass-through", "clonoscope bench", "", 1, ""),
            protocol,
            parallelism=PARALLELISM,
            depth=self.depth,
            options={"clock_every": self.clock_every},
        )
        partitions = pass_through_partitions(manifest, seed=1, events=self.events, rate_per_s=_RATE_PER_S)
        return Run(
            manifest=manifest,
            protocol=Clonos() if in_flight else Unlogged(),
            operator=new_operator,
            partitions={task: _padded(task, partition) for task, partition in partitions.items()},
            seed=1,
            costs=Costs(flush_us=_FLUSH_US),
        )


def _padded(task: TaskId, partition: SteadyPartition) -> SteadyPartition:
    return replace(partition, make=_padding(task, partition.make))


def _padding(task: TaskId, make: Callable[[int, int], Record]) -> Callable[[int, int], Record]:
    middle = Record("k00", ORIGIN_MS, {"n": 10_000, "amount": 50_000, "pad": ""}, ((task, 10_000),))
    pad = "x" * (RECORD_BYTES - len(middle.to_bytes()))

    def padded(offset: int, arrival_us: int) -> Record:
        record = make(offset, arrival_us)
        return Record(record.key, record.timestamp, {**record.value, "pad": pad})

    return padded
