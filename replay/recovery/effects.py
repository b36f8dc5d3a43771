"""What a recovery asks the runtime to do: imperative, one frozen class each. A state never does anything itself."""

from __future__ import annotations

from dataclasses import dataclass

from replay.model import ChannelId, TaskId
from replay.recovery.answers import Logs, Result


@dataclass(frozen=True, slots=True)
class RequestReplay:
    """Ask the sender of the input `channel` for its buffers from `epoch` on, without the first `skip` of them."""

    channel: ChannelId
    epoch: int
    skip: int


@dataclass(frozen=True, slots=True)
class RequestDeterminants:
    """Ask the receiver of the output `channel` for what it holds of the logs of `of`, from `epoch` on."""

    channel: ChannelId
    of: TaskId
    epoch: int


@dataclass(frozen=True, slots=True)
class AnswerDeterminants:
    """Answer the task at the other end of the input `channel`."""

    channel: ChannelId
    of: TaskId
    result: Result
    logs: Logs


@dataclass(frozen=True, slots=True)
class StartReplaying:
    """Start the task: main and output threads first replay these logs (any may be empty), then go on by themselves."""

    logs: Logs


@dataclass(frozen=True, slots=True)
class ReplayInFlight:
    """Send the output `channel` its buffers of the in-flight log from `epoch` on, without the first `skip`."""

    channel: ChannelId
    epoch: int
    skip: int


@dataclass(frozen=True, slots=True)
class DropPartialRecord:
    """Forget the record that is half received on the input `channel`: what comes next begins a new one."""

    channel: ChannelId


@dataclass(frozen=True, slots=True)
class Escalate:
    """A survivor past the sharing depth may depend on choices that nobody can return."""

    why: str


@dataclass(frozen=True, slots=True)
class EnteredRunning:
    """Nothing is left to replay on the main thread; from here on the task makes its own choices."""


Effect = (
    RequestReplay
    | RequestDeterminants
    | AnswerDeterminants
    | StartReplaying
    | ReplayInFlight
    | DropPartialRecord
    | Escalate
    | EnteredRunning
)
