"""The job that the bench of the engine runs: NEXMark records that were made beforehand, sources at full speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.model import Record, TaskId
from replay.protocols import PROTOCOLS
from replay.protocols.clonos import Clonos
from replay.runtime.engine import Run
from replay.runtime.outside.partition_log import Partition, SteadyPartition

RECORD_BYTES = 119
PARALLELISM = 5
BUFFER_BYTES = 32768
_RATE_PER_S = 250_000.0
_FLUSH_US = 100_000


class Unlogged(Clonos):
    """Keeps nothing for a recovery: what logging is compared with."""

    in_flight = False
    standbys = False


@dataclass(frozen=True, slots=True)
class Load:
    """`events` records, read by all sources together; they are made beforehand, as a queue would hold them."""

    events: int
    job: str = "nexmark-q1"
    _partitions: dict[TaskId, Partition] = field(default_factory=dict)

    @property
    def describes(self) -> str:
        return f"{self.job} over {self.events} records of {RECORD_BYTES} bytes, parallelism {PARALLELISM}"

    def run(self, *, in_flight: bool, sharing_depth: int | None) -> Run:
        options = RecordOptions(
            job=self.job,
            seed=1,
            events=self.events,
            parallelism=PARALLELISM,
            sharing_depth=sharing_depth,
            buffer_bytes=BUFFER_BYTES,
            rate_per_s=_RATE_PER_S,
        )
        run = run_of(options, PROTOCOLS)
        if not self._partitions:
            self._partitions.update(_made(run.partitions))
        return replace(
            run,
            protocol=Clonos() if in_flight else Unlogged(),
            partitions=self._partitions,
            costs=replace(run.costs, flush_us=_FLUSH_US),
        )


def _made(partitions: Mapping[TaskId, Partition]) -> dict[TaskId, Partition]:
    return {task: _queue([one.record(offset) for offset in range(one.records)]) for task, one in partitions.items()}


def _queue(records: list[Record]) -> Partition:
    return SteadyPartition(len(records), _RATE_PER_S / PARALLELISM, lambda offset, _: records[offset])
