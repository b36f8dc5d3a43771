"""What a task's recovery knows about the task from the start: its channels, its place in the graph, its protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from replay.model import WORLD, ChannelId, Graph, TaskId, channel_id
from replay.recovery.answers import Logs

Holdings = Callable[[TaskId, int], Logs]
"""What the task's own causal log holds of another task's logs, from an epoch on, at this moment."""

Informed = Callable[[TaskId, int], bool]
"""Whether the task holds all of another task's logs, from an epoch on, that the tasks below may have through it."""

Touched = Callable[[ChannelId], bool]
"""Whether a buffer has come on that input since the attempt began."""

Distance = Callable[[ChannelId, TaskId], int]
"""The hops of the longest way from a task upstream to this one, coming in on that input."""


def nothing_held(of: TaskId, epoch: int) -> Logs:
    """The holdings of a task that keeps nobody's determinants."""
    return Logs()


def always_near(channel: ChannelId, of: TaskId) -> int:
    """The distance where there is no graph."""
    return 0


def always_informed(of: TaskId, epoch: int) -> bool:
    """A task that never failed since the checkpoint holds all that was ever told downstream through it."""
    return True


def never_touched(channel: ChannelId) -> bool:
    """An attempt to which nothing has come yet."""
    return False


@dataclass(frozen=True, slots=True)
class Setting:
    """What doesn't change during an attempt. `diverged`: it recovers without determinants, as at sharing depth 0."""

    task: TaskId
    inputs: tuple[ChannelId, ...] = ()
    outputs: tuple[ChannelId, ...] = ()
    world: ChannelId | None = None
    sharing_depth: int | None = None
    in_storage: bool = False
    on_lost: str = "rollback"
    diverged: bool = False
    distance: Distance = always_near
    holdings: Holdings = nothing_held
    informed: Informed = always_informed
    touched: Touched = never_touched

    @classmethod
    def of(
        cls,
        graph: Graph,
        task: TaskId,
        holdings: Holdings = nothing_held,
        informed: Informed = always_informed,
        touched: Touched = never_touched,
        *,
        diverged: bool = False,
    ) -> Setting:
        """From a job's manifest. What the outside world keeps, or a storage, is asked for on `<task>>world`."""
        protocol = graph.manifest.protocol
        shape = graph.task(task)
        keeps = protocol.in_storage or (protocol.sink == "determinant" and not shape.outputs)

        def distance(channel: ChannelId, of: TaskId) -> int:
            hops = graph.longest_distance(of, graph.channel(channel).source)
            return 0 if hops is None else hops + 1

        return cls(
            task=task,
            inputs=shape.inputs,
            outputs=tuple(output.channel for output in shape.outputs),
            world=channel_id(task, WORLD) if keeps else None,
            sharing_depth=protocol.sharing_depth,
            in_storage=protocol.in_storage,
            on_lost=protocol.on_lost,
            diverged=diverged,
            distance=distance,
            holdings=holdings,
            informed=informed,
            touched=touched,
        )

    @property
    def logs(self) -> bool:
        """Whether determinants are logged, so that what a new attempt sends is what the one before had sent."""
        return self.in_storage or self.sharing_depth != 0

    @property
    def asked(self) -> tuple[ChannelId, ...]:
        """Where this task's own logs may be held: at depth 0, and behind a plain or transactional sink, nowhere."""
        if not self.logs:
            return ()
        if self.in_storage and self.world is not None:
            return (self.world,)
        return self.outputs if self.world is None else (*self.outputs, self.world)

    @property
    def asked_for_own(self) -> tuple[ChannelId, ...]:
        """Where it asks for its own logs; for those of others it asks in any case."""
        return () if self.diverged else self.asked

    @property
    def channels(self) -> frozenset[tuple[ChannelId, str]]:
        """Every channel that must be there, with the side this task is on."""
        return frozenset((*((c, "input") for c in self.inputs), *((c, "output") for c in self.outputs)))

    def within_depth(self, of: TaskId, channel: ChannelId) -> bool:
        """Whether all that comes on this input is known here as far as it follows from that task's choices.

        The longest way counts: on it the task's logs may stop short while its records go on.
        """
        return self.sharing_depth is None or self.distance(channel, of) <= self.sharing_depth
