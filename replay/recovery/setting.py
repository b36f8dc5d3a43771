"""What a task's recovery knows about the task from the start: its channels, its place in the graph, its protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from replay.model import ChannelId, Graph, TaskId, channel_id
from replay.recovery.answers import Logs

Holdings = Callable[[TaskId, int], Logs]
"""What the task's own causal log holds of another task's logs, from an epoch on, at this moment."""

Informed = Callable[[TaskId, int], bool]
"""Whether the task holds all of another task's logs, from an epoch on, that the tasks below may have through it."""


def nothing_held(of: TaskId, epoch: int) -> Logs:
    """The holdings of a task that keeps nobody's determinants."""
    return Logs()


def always_informed(of: TaskId, epoch: int) -> bool:
    """A task that never failed since the checkpoint holds all that was ever told downstream through it."""
    return True


@dataclass(frozen=True, slots=True)
class Setting:
    """What doesn't change during an attempt; `distances` are the hops from each task upstream."""

    task: TaskId
    inputs: tuple[ChannelId, ...] = ()
    outputs: tuple[ChannelId, ...] = ()
    world: ChannelId | None = None
    sharing_depth: int | None = None
    on_lost: str = "rollback"
    distances: Mapping[TaskId, int] = field(default_factory=dict, hash=False)
    holdings: Holdings = nothing_held
    informed: Informed = always_informed

    @classmethod
    def of(
        cls, graph: Graph, task: TaskId, holdings: Holdings = nothing_held, informed: Informed = always_informed
    ) -> Setting:
        """From a job's manifest. A sink whose outside world keeps determinants asks it on `<task>>world`."""
        protocol = graph.manifest.protocol
        shape = graph.task(task)
        keeps = protocol.sink == "determinant" and not shape.outputs
        distances = {one: graph.distance(one, task) or 0 for one in graph.all_upstream(task)}
        return cls(
            task=task,
            inputs=shape.inputs,
            outputs=tuple(output.channel for output in shape.outputs),
            world=channel_id(task, "world") if keeps else None,
            sharing_depth=protocol.sharing_depth,
            on_lost=protocol.on_lost,
            distances=distances,
            holdings=holdings,
            informed=informed,
        )

    @property
    def asked(self) -> tuple[ChannelId, ...]:
        """Where this task's own logs may be held: at depth 0, and behind a plain or transactional sink, nowhere."""
        if self.sharing_depth == 0:
            return ()
        return self.outputs if self.world is None else (*self.outputs, self.world)

    @property
    def channels(self) -> frozenset[tuple[ChannelId, str]]:
        """Every channel that must be there, with the side this task is on."""
        return frozenset((*((c, "input") for c in self.inputs), *((c, "output") for c in self.outputs)))

    def within_depth(self, of: TaskId) -> bool:
        """Whether deltas of that upstream task's logs reach this task."""
        return self.sharing_depth is None or self.distances.get(of, 0) <= self.sharing_depth
