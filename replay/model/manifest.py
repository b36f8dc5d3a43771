"""The manifest: what a job is, who recorded it, and its tasks and channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.model.ids import MAIN, ChannelId, TaskId, Thread, thread_of_output
from replay.model.record import json_bytes


@dataclass(frozen=True, slots=True)
class Job:
    """Who recorded what."""

    name: str
    recorder: str = ""
    recorded_at: str = ""
    seed: int | None = None
    command: str = ""


@dataclass(frozen=True, slots=True)
class Clock:
    """What `t_us` counts from; `virtual` is one clock, `wall` is several hosts'."""

    origin_ms: int
    kind: str = "virtual"


IN_STORAGE = ("pessimistic", "optimistic")
"""The protocols under which tasks leave their own logs in a stable storage, the `world` of the format."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """The fault-tolerance protocol and its settings. `sharing_depth` None is full."""

    name: str
    sharing_depth: int | None = None
    standby: int = 0
    checkpoint_interval_ms: int | None = None
    sink: str = "plain"
    spill: str = "memory"
    buffer_bytes: int = 32768
    delta_layout: str = "flat"
    holder_scope: str = "task"
    on_lost: str = "rollback"
    observed: bool = False

    @property
    def in_storage(self) -> bool:
        """Whether a recovery asks a stable storage, and no task."""
        return self.name in IN_STORAGE

    @property
    def waits(self) -> bool:
        """Whether a buffer that was cut waits for the stable storage before it is sent."""
        return self.name == "pessimistic"

    @property
    def logs(self) -> bool:
        """Whether determinants are logged to be returned; if not, a new attempt does as it likes."""
        return self.in_storage or self.sharing_depth != 0


@dataclass(frozen=True, slots=True)
class Vertex:
    """A step of the job, run by `parallelism` tasks."""

    id: str
    kind: str
    operator: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    parallelism: int = 1
    services: Mapping[str, str] = field(default_factory=dict)

    @property
    def seeds_random(self) -> bool:
        """Its random numbers follow from a seed an epoch; else each of them is logged."""
        return self.services.get("random") == "seed"


@dataclass(frozen=True, slots=True)
class Edge:
    """How records go from one vertex to another."""

    source: str
    target: str
    ship: str


@dataclass(frozen=True, slots=True)
class Output:
    """An output channel, and the ids that Clonos gives its thread."""

    channel: ChannelId
    partition: tuple[int, int] = (0, 0)
    sub: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """One subtask of a vertex; `inputs` and `outputs` are in channel-index order."""

    id: TaskId
    vertex: str
    subtask: int
    number: int
    inputs: tuple[ChannelId, ...] = ()
    outputs: tuple[Output, ...] = ()
    partitions: tuple[Any, ...] = ()

    @property
    def threads(self) -> tuple[Thread, ...]:
        """The main thread and one per output."""
        return (MAIN, *(thread_of_output(k) for k in range(len(self.outputs))))

    @property
    def counted_inputs(self) -> int:
        """How many inputs an order or a take may name: its channels, or the partitions that a source reads."""
        return len(self.inputs) or len(self.partitions)


@dataclass(frozen=True, slots=True)
class Manifest:
    """`job.json`. `raw` is the object as it was read, with fields that this version does not know."""

    job: Job
    clock: Clock
    protocol: Protocol
    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    tasks: tuple[Task, ...]
    determinants: str = "clonos"
    complete: bool = True
    raw: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, source: bytes | Mapping[str, Any], path: str = "job.json") -> Manifest:
        """Reads and checks a manifest; whatever is wrong with it is one `BundleError`."""
        from replay.model.manifest_fields import read_manifest

        return read_manifest(source, path)

    def to_json(self) -> dict[str, Any]:
        """The object to write: the known fields in the order of the format, then the unknown ones as they came."""
        from replay.model.manifest_fields import manifest_json

        return manifest_json(self)

    def to_bytes(self) -> bytes:
        """`job.json` as it is written."""
        return json_bytes(self.to_json()) + b"\n"

    def task(self, task: str) -> Task | None:
        """The task of that id, if the manifest names it."""
        return next((t for t in self.tasks if t.id == task), None)

    def vertex(self, vertex: str) -> Vertex | None:
        """The vertex of that id, if the manifest names it."""
        return next((v for v in self.vertices if v.id == vertex), None)
