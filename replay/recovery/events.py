"""What can happen to a task that is of interest to its recovery: past tense, one frozen class each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from replay.model import ChannelId, TaskId
from replay.recovery.answers import Logs, Result

Side = Literal["input", "output"]
"""Which end of the channel this task is: `input` where it receives."""


@dataclass(frozen=True, slots=True)
class RecoveryStarted:
    """The coordinator told a standby to take over."""


@dataclass(frozen=True, slots=True)
class RestoreStarted:
    """The state of a checkpoint began to be loaded."""

    checkpoint: int


@dataclass(frozen=True, slots=True)
class StateRestored:
    """The state of a checkpoint is loaded; its epoch is where execution will begin."""

    checkpoint: int


@dataclass(frozen=True, slots=True)
class ChannelReconnected:
    """A channel is there (again). `received`: buffers of the current epoch that this side's input already has.

    `diverged`: the sender recovers without determinants, so what it sends may not be what was received.
    """

    channel: ChannelId
    side: Side
    received: int = 0
    diverged: bool = False


@dataclass(frozen=True, slots=True)
class ChannelLost:
    """The other end of a channel is gone."""

    channel: ChannelId
    side: Side


@dataclass(frozen=True, slots=True)
class DeterminantsRequested:
    """The task at the other end of the input `channel` asks for what is held of the logs of `of`, from `epoch` on."""

    channel: ChannelId
    of: TaskId
    epoch: int


@dataclass(frozen=True, slots=True)
class DeterminantsReturned:
    """The answer of the output `channel` to a request for the logs of `of`, own or relayed."""

    channel: ChannelId
    of: TaskId
    result: Result
    logs: Logs = field(default_factory=Logs)


@dataclass(frozen=True, slots=True)
class ReplayRequested:
    """The receiver of the output `channel` asks for its buffers from `epoch` on, without the first `skip` of them."""

    channel: ChannelId
    epoch: int
    skip: int


@dataclass(frozen=True, slots=True)
class MainLogUsedUp:
    """The main thread has replayed, and appended again, the last determinant that was returned."""


@dataclass(frozen=True, slots=True)
class OutputRebuilt:
    """Every buffer of the output `channel` that a returned determinant names is rebuilt and in the in-flight log."""

    channel: ChannelId


@dataclass(frozen=True, slots=True)
class EpochStarted:
    """The task passed a barrier: replays of its inputs are asked for from this epoch on."""

    epoch: int


Event = (
    RecoveryStarted
    | RestoreStarted
    | StateRestored
    | ChannelReconnected
    | ChannelLost
    | DeterminantsRequested
    | DeterminantsReturned
    | ReplayRequested
    | MainLogUsedUp
    | OutputRebuilt
    | EpochStarted
)
EVENTS: tuple[type[Event], ...] = (
    RecoveryStarted,
    RestoreStarted,
    StateRestored,
    ChannelReconnected,
    ChannelLost,
    DeterminantsRequested,
    DeterminantsReturned,
    ReplayRequested,
    MainLogUsedUp,
    OutputRebuilt,
    EpochStarted,
)
