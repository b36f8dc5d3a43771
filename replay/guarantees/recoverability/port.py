"""What recoverability is computed from: who held and who depended on how much of each log, as rows where it grew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from replay.model import Graph, Manifest


class Place(NamedTuple):
    """One epoch of one thread's log."""

    task: str
    thread: str
    epoch: int


class Held(NamedTuple):
    """From `t_us` on, `holder`'s attempt held `place`, as `attempt` of its task wrote it, up to `upto`."""

    place: Place
    attempt: int
    holder: str
    holder_attempt: int
    t_us: int
    upto: int


class Depended(NamedTuple):
    """From `t_us` on, `task`'s attempt depended on `place` up to `upto`."""

    task: str
    attempt: int
    t_us: int
    place: Place
    upto: int


class Written(NamedTuple):
    """From `t_us` on the outside saw a write of a sink's attempt, made in `epoch`.

    The sink's own main log stood at `offset` of that epoch when it had taken its last buffer before, and at `after`
    when it took the next one, or at its end. One that `waits` was held back for a checkpoint: it follows from no later
    epoch.
    """

    task: str
    attempt: int
    t_us: int
    epoch: int
    offset: int
    after: int
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """Whose failures are counted, whether the outside counts among the dependents, and how deep logs travelled.

    `depth` None is as the job was recorded. `least`: what isn't known to be held counts as not held.
    """

    by: str = "task"
    world: bool = False
    depth: int | None = None
    least: bool = True


@dataclass(slots=True)
class Worst:
    """The smallest set of failures that orphans somebody, over time: from each moment on, None where there is none."""

    steps: list[tuple[int, int | None]] = field(default_factory=list)
    first_us: int = -1
    place: Place | None = None
    upto: int = 0

    @property
    def smallest(self) -> int | None:
        """Over the whole job."""
        return min((size for _, size in self.steps if size is not None), default=None)

    def at(self, t_us: int) -> int | None:
        """At a moment, after all that happened in it."""
        found: int | None = None
        for since_us, size in self.steps:
            if since_us > t_us:
                break
            found = size
        return found


class Lost(NamedTuple):
    """When an attempt went on without what its task's log had held from `returned` to `upto`, `dependent` lived."""

    place: Place
    attempt: int
    t_us: int
    returned: int
    upto: int
    dependent: str
    dependent_attempt: int


@dataclass(slots=True)
class Swept:
    """The answers to all questions, and what else was seen on the way."""

    worst: dict[Question, Worst] = field(default_factory=dict)
    lost: list[Lost] = field(default_factory=list)
    lost_left_out: int = 0
    surplus: list[int] = field(default_factory=list)
    """Of every bucket of time, at its end: bytes of unstable logs that are held by who doesn't depend on them."""
    uncertain_us: int = -1
    """First moment when the outside may depend on more than is certain; -1: never."""


class Situation(NamedTuple):
    """What was so of one byte of a log at one moment: who had it, who depended on it, and since when."""

    attempt: int
    holders: tuple[tuple[str, int, int], ...]
    dependents: tuple[tuple[str, int, int], ...]


class Causality(Protocol):
    """A recording, as far as recoverability reads it; implemented for bundles here, and for the lake in `ingest`."""

    @property
    def manifest(self) -> Manifest:
        """`job.json`."""

    @property
    def graph(self) -> Graph:
        """Tasks and channels."""

    def events(self) -> Iterable[Mapping[str, Any]]:
        """Lines of `events.ndjson`, in order, with at least the fields that are asked for."""

    def sweep(self, questions: Sequence[Question], buckets: Sequence[int]) -> Swept:
        """Answers all questions; `buckets` are the ends of stretches of time."""

    def situation(self, place: Place, upto: int, t_us: int) -> Situation:
        """Of the byte before `upto`."""

    def taken(self, task: str, attempt: int, t_us: int) -> Iterable[str]:
        """Evidence: the receipts of what an attempt took in that microsecond."""

    def determinant(self, place: Place, attempt: int, offset: int) -> str | None:
        """Evidence: the determinant that an offset lies in."""

    def read(self, task: str) -> str:
        """What the recording has of a source's records: `records`, `references`, `nothing`, or `missing`."""

    def unfollowed(self) -> Iterable[tuple[str, str, str]]:
        """(channel, why, after which buffer) of deltas that could not be followed; known after the sweep."""

    def gaps(self) -> Iterable[tuple[str, str]]:
        """(channel, what is missing): receipts whose buffer or sending isn't there, sendings without any receipt."""
