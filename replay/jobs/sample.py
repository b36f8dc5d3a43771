"""A sample job: its graph, what its sources read, and the options that mean something to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

from replay.jobs.graphs import Shape, manifest_of
from replay.jobs.option_fields import WrongOption, flag_of, option_of
from replay.jobs.options import RecordOptions
from replay.model import Job, Manifest, Protocol, TaskId
from replay.runtime.outside.partition_log import Partition

__all__ = ["SampleJob", "Shape", "most_per_s", "rate_per_s"]


@dataclass(frozen=True, slots=True)
class SampleJob:
    """`depth` is the fewest vertices in a row that it can be made of; `times` names its default first.

    `shows_all`: something comes out of every source record, so that one of which nothing does was lost.
    """

    name: str
    description: str
    shape: Callable[[RecordOptions], Shape]
    partitions: Callable[[Manifest, RecordOptions], Mapping[TaskId, Partition]]
    depth: int = 3
    times: tuple[str, ...] = ("processing",)
    takes: frozenset[str] = field(default_factory=frozenset)
    shows_all: bool = False

    def check(self, options: RecordOptions) -> None:
        """Refuses what means nothing to this job."""
        if options.depth is not None and options.depth < self.depth:
            raise WrongOption(
                f"--depth is {options.depth}, and {self.name} has {self.depth} vertices in a row",
                remedy=f"Give --depth {self.depth} or more, or leave it out",
            )
        if options.time is not None and options.time not in self.times:
            raise WrongOption(
                f"{self.name} doesn't run on {options.time} time", remedy=f"It runs on {' or '.join(self.times)} time"
            )
        for one in fields(options):
            option = option_of(one)
            given = option is not None and option.special and getattr(options, one.name) != one.default
            if given and one.name not in self.takes:
                raise WrongOption(f"{flag_of(one)} means nothing to {self.name}", remedy="Leave it out")

    def manifest(self, job: Job, protocol: Protocol, options: RecordOptions) -> Manifest:
        """The graph that the options ask for."""
        return manifest_of(job, protocol, *self.shape(options))


def most_per_s(options: RecordOptions) -> float:
    """Records in a second at which tasks of which each processes its share of every record are never idle."""
    return options.parallelism * 1_000_000 / options.record_cost_us


def rate_per_s(options: RecordOptions) -> float:
    """Records that come into being in a second, in all partitions together, on average."""
    return options.rate_per_s if options.load is None else most_per_s(options) * options.load / 100
