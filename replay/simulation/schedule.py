"""What goes wrong in a world: blows at times, kills in recovery states, and aims at what the run itself records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from replay.model import WORLD, Graph, Manifest, TaskId
from replay.recovery import STATE_NAMES
from replay.runtime.engine import Engine
from replay.runtime.failing.kills import Blow, Kill, KillHost

VICTIMS = ("self", "upstream", "downstream", "any")
MOMENTS: tuple[str, ...] = (
    "checkpoint-triggered",
    "checkpoint-acknowledged",
    "checkpoint-acknowledged",
    "checkpoint-completed",
    "checkpoint-notified",
    "checkpoint-aborted",
    "checkpoint-ignored",
    "task-failed",
    "failure-detected",
    "standby-activated",
    "task-rescheduled",
    "attempt-started",
    "restore-started",
    "state-restored",
    "channel-lost",
    "channel-reconnected",
    "recovery-state",
    "determinants-requested",
    "determinants-request-received",
    "determinants-request-received",
    "determinants-returned",
    "determinants-received",
    "replay-requested",
    "replay-request-received",
    "escalated",
    "global-rollback",
    "epoch-precommitted",
    "epoch-committed",
    "epoch-aborted",
)
"""Every kind of event that a strike may follow; what makes recoveries meet one another is there more than once."""


@dataclass(frozen=True, slots=True)
class Aim:
    """After the so-and-so-manieth event of a kind, strikes the task that it is about, or a neighbour of it.

    `way`: `kill` the task, its `host`, or that of its `standby`; or `suspect` it.
    """

    event: str
    nth: int
    victim: str
    delay_us: int
    pick: int = 0
    way: str = "kill"

    def task(self, graph: Graph, fields: Mapping[str, Any]) -> TaskId:
        """Whom it hits; `pick` chooses among several."""
        tasks = [task.id for task in graph.tasks]
        about = fields.get("task") or fields.get("at") or fields.get("of")
        among: Sequence[TaskId] = tasks
        if about == WORLD:  # which can't be struck: whoever asked it can
            about = fields.get("of")
        if about is not None and self.victim != "any":
            near = {"upstream": graph.upstream, "downstream": graph.downstream}.get(self.victim)
            among = (near(about) if near else ()) or (TaskId(about),)
        return among[self.pick % len(among)]


@dataclass(frozen=True, slots=True)
class Suspected:
    """A task whose heartbeats are held up from a time on, for so long; None: long enough to be missed."""

    task: str
    at_ms: float
    duration_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Blows of kills that belong together, of tasks or of hosts; kills in a recovery state, aims, and suspicions."""

    blows: tuple[tuple[tuple[str, float], ...], ...] = ()
    kills_in: tuple[tuple[str, str], ...] = ()
    aims: tuple[Aim, ...] = ()
    suspicions: tuple[Suspected, ...] = ()

    @property
    def size(self) -> int:
        """How many strikes there are."""
        return sum(map(len, self.blows)) + len(self.kills_in) + len(self.aims) + len(self.suspicions)

    @property
    def strikes_hosts(self) -> bool:
        """Whether a host may fail."""
        return any(is_host(name) for blow in self.blows for name, _ in blow) or any(
            aim.way in ("host", "standby") for aim in self.aims
        )

    def smaller(self) -> Sequence[Schedule]:
        """Every schedule with one strike less."""
        found = [replace(self, kills_in=_without(self.kills_in, i)) for i in range(len(self.kills_in))]
        found += [replace(self, suspicions=_without(self.suspicions, i)) for i in range(len(self.suspicions))]
        found += [replace(self, aims=_without(self.aims, i)) for i in range(len(self.aims))]
        for i, blow in enumerate(self.blows):
            for j in range(len(blow)):
                rest = _without(blow, j)
                blows = (*self.blows[:i], *((rest,) if rest else ()), *self.blows[i + 1 :])
                found.append(replace(self, blows=blows))
        return found

    def within(self, tasks: Sequence[str]) -> Schedule:
        """Without what strikes a task that is not among these; hosts stay."""
        blows = (tuple(one for one in blow if one[0] in tasks or is_host(one[0])) for blow in self.blows)
        kills_in = tuple(one for one in self.kills_in if one[0] in tasks)
        suspicions = tuple(one for one in self.suspicions if one.task in tasks)
        return replace(self, blows=tuple(blow for blow in blows if blow), kills_in=kills_in, suspicions=suspicions)

    def blow(self, i: int) -> Blow:
        """One of the blows, as a run is given it."""
        return Blow(
            tuple(KillHost(name, at) if is_host(name) else Kill(TaskId(name), at) for name, at in self.blows[i])
        )


def is_host(name: str) -> bool:
    """Whether a blow strikes a host, and not a task, whose name has a point."""
    return "." not in name


def _without(items: tuple[Any, ...], i: int) -> tuple[Any, ...]:
    return (*items[:i], *items[i + 1 :])


class Marksman:
    """Follows the events of a run and makes the aimed strikes, each once."""

    def __init__(self, engine: Engine, aims: Sequence[Aim]):
        self.engine = engine
        self._waiting = list(aims)
        self._seen: dict[str, int] = {}
        engine.on_event = self.saw

    def saw(self, kind: str, fields: Mapping[str, Any]) -> None:
        """An event was recorded."""
        if self.engine.checkpoints.finished:
            return  # all is told, and nobody would recover any more
        nth = self._seen[kind] = self._seen.get(kind, -1) + 1
        for aim in [one for one in self._waiting if one.event == kind and one.nth == nth]:
            self._waiting.remove(aim)
            self._strike(aim, aim.task(self.engine.graph, fields))

    def _strike(self, aim: Aim, task: TaskId) -> None:
        failures, at_us = self.engine.failures, self.engine.scheduler.now_us + aim.delay_us
        if aim.way == "suspect":
            failures.suspicions.suspect_at(task, at_us)
        elif aim.way in ("host", "standby"):
            failures.kills.strike_host_at(lambda: self._host(aim, task), at_us)
        else:
            failures.kills.strike_at(task, at_us)

    def _host(self, aim: Aim, task: TaskId) -> str:
        """Where the task is by then, or one of its standbys if it has any."""
        standbys = sorted(self.engine.failures.standbys.hosts_of(task))
        if aim.way == "standby" and standbys:
            return standbys[aim.pick % len(standbys)]
        return self.engine.failures.placement.host_of(task)


def random_schedule(draw: Random, manifest: Manifest, duration_ms: float) -> Schedule:
    """Few strikes in most worlds; one that follows another in some, aimed at what recoveries are made of."""
    tasks: list[str] = [task.id for task in manifest.tasks]
    blows = []
    for _ in range(draw.choice((0, 1, 1, 1, 2, 3))):
        at_ms = _when(draw, duration_ms, manifest.protocol.checkpoint_interval_ms or 1000)
        blows.append(tuple((task, round(at_ms + _apart(draw), 3)) for task in _struck(draw, manifest)))
    kills_in = tuple(
        (draw.choice([task for blow in blows for task, _ in blow] or tasks), draw.choice(STATE_NAMES))
        for _ in range(draw.choice((0, 0, 1, 2)) if blows else 0)
    )
    aims = tuple(_aim(draw) for _ in range(draw.choice((0, 0, 1, 1, 2))))
    return Schedule(tuple(blows), kills_in, aims)


def _when(draw: Random, duration_ms: float, interval_ms: int) -> float:
    """Anywhere, or just before or soon after a checkpoint is likely to be triggered."""
    at_ms = duration_ms * draw.uniform(0.02, 1.3)
    if draw.random() < 0.4:
        apart_ms = draw.choice((-0.1, -1.0, 0.1, 1.0, 10.0)) * draw.random()
        at_ms = max(0.0, (1 + at_ms // interval_ms) * interval_ms + apart_ms)
    return round(at_ms, 3)


def _apart(draw: Random) -> float:
    return draw.choice((0.0, 0.0, draw.uniform(0, 2), draw.uniform(0, 30)))


def _struck(draw: Random, manifest: Manifest) -> list[str]:
    """One task, two at random, or two that a channel connects, in either order."""
    channels = [one.channel for task in manifest.tasks for one in task.outputs]
    tasks: list[str] = [task.id for task in manifest.tasks]
    how = draw.random()
    if how < 0.45:
        return [draw.choice(tasks)]
    if how < 0.8:
        ends = draw.choice(channels).split(">")
        return ends if draw.random() < 0.5 else ends[::-1]
    return draw.sample(tasks, min(len(tasks), draw.choice((2, 3, 4))))


def _aim(draw: Random) -> Aim:
    kind = draw.choice(MOMENTS)
    nth = draw.choice((0, 0, 1, draw.randrange(8)))
    delay_us = draw.choice((0, 0, draw.randrange(50), draw.randrange(2_000), draw.randrange(40_000)))
    return Aim(kind, nth, draw.choice(VICTIMS), delay_us, draw.randrange(16))
