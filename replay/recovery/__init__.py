"""Recovery of a failed task as a pure state machine: events in, effects out. See `manager.RecoveryManager`."""

from replay.log.causal_log import Copy
from replay.recovery.answers import Answer, Answers, Logs
from replay.recovery.effects import (
    AnswerDeterminants,
    DropPartialRecord,
    Effect,
    EnteredRunning,
    Escalate,
    ReplayInFlight,
    RequestDeterminants,
    RequestReplay,
    StartReplaying,
)
from replay.recovery.events import (
    ChannelLost,
    ChannelReconnected,
    DeterminantsRequested,
    DeterminantsReturned,
    EpochStarted,
    Event,
    MainLogUsedUp,
    OutputRebuilt,
    RecoveryStarted,
    ReplayRequested,
    RestoreStarted,
    StateRestored,
)
from replay.recovery.manager import Observer, RecoveryManager
from replay.recovery.setting import Setting
from replay.recovery.states import (
    STATE_NAMES,
    Replaying,
    Running,
    Standby,
    State,
    WaitingConnections,
    WaitingDeterminants,
)

__all__ = [
    "STATE_NAMES",
    "Answer",
    "AnswerDeterminants",
    "Answers",
    "ChannelLost",
    "ChannelReconnected",
    "Copy",
    "DeterminantsRequested",
    "DeterminantsReturned",
    "DropPartialRecord",
    "Effect",
    "EnteredRunning",
    "EpochStarted",
    "Escalate",
    "Event",
    "Logs",
    "MainLogUsedUp",
    "Observer",
    "OutputRebuilt",
    "RecoveryManager",
    "RecoveryStarted",
    "ReplayInFlight",
    "ReplayRequested",
    "Replaying",
    "RequestDeterminants",
    "RequestReplay",
    "RestoreStarted",
    "Running",
    "Setting",
    "Standby",
    "StartReplaying",
    "State",
    "StateRestored",
    "WaitingConnections",
    "WaitingDeterminants",
]
