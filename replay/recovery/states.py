"""The five states of a recovery, one frozen class each: what it awaits, what it does on an event, where it goes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

from replay.errors import UnexpectedEvent, check
from replay.model import ChannelId
from replay.recovery.answers import Answer, Answers, Logs
from replay.recovery.context import Context
from replay.recovery.effects import (
    DropPartialRecord,
    Effect,
    EnteredRunning,
    Escalate,
    RequestDeterminants,
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


@dataclass(frozen=True, slots=True)
class Transition:
    """Where an event leads, and what is to be done on the way."""

    state: State
    effects: tuple[Effect, ...] = ()


def to(state: State, *effects: Effect) -> Transition:
    """A transition to that state."""
    return Transition(state, effects)


@dataclass(frozen=True, slots=True)
class _State(ABC):
    """What all states share: the context, and the events that any state takes in the same way."""

    name: ClassVar[str]
    context: Context

    @abstractmethod
    def on(self, event: Event) -> Transition:
        """Where this event leads; one that the state cannot take raises."""

    def moves_on(self) -> Transition | None:
        """Where the state goes by itself, without a further event."""
        return None

    def common(self, event: Event) -> Transition:
        """Relays and replay requests, which any state takes."""
        match event:
            case DeterminantsRequested(of=of) if of != self.context.setting.task:
                return self.stays(self.context.relayed(event))
            case DeterminantsReturned(of=of) if of != self.context.setting.task:
                return self.stays(self.context.relay_answered(event))
            case ReplayRequested():
                return self.stays(self.context.replay_requested(event))
            case _:
                raise UnexpectedEvent(f"{self.context.setting.task} in {self.name} cannot take {event}")

    def with_(self, context: Context) -> State:
        """The same state with another context."""
        return replace(self, context=context)  # type: ignore[return-value]

    def stays(self, changed: tuple[Context, tuple[Effect, ...]]) -> Transition:
        """The same state with another context, and effects."""
        context, effects = changed
        return Transition(self.with_(context), effects)


class _Unstarted(_State):
    """Before the connections are complete: channels come and go, checkpoints are restored."""

    __slots__ = ()

    def common(self, event: Event) -> Transition:
        match event:
            case RestoreStarted(checkpoint):
                return to(self.with_(self.context.restore_started(checkpoint)))
            case StateRestored(checkpoint):
                return to(self.with_(self.context.restored(checkpoint)))
            case ChannelReconnected():
                return self.stays(self.context.reconnected(event))
            case ChannelLost():
                return to(self.with_(self.context.lost(event)))
            case _:
                return super().common(event)


class _Started(_State):
    """After the connections were complete once: one that comes back is asked again for what it owes."""

    __slots__ = ()

    def common(self, event: Event) -> Transition:
        match event:
            case ChannelLost():
                return to(self.with_(self.context.lost(event)))
            case ChannelReconnected(channel, side="input", received=received):
                context, _ = self.context.reconnected(event)
                if not event.diverged and context.setting.logs:
                    return to(self.with_(context), context.replay_of(channel, received))
                # Buffers may be cut anew, and records may come in another order: none can be skipped.
                return to(self.with_(context), DropPartialRecord(channel), context.replay_of(channel, 0))
            case ChannelReconnected():
                return self.stays(self.context.reconnected(event))
            case _:
                return super().common(event)


class _Executing(_Started):
    """While records are processed: epochs pass, outputs are rebuilt one after the other."""

    __slots__ = ()

    def common(self, event: Event) -> Transition:
        match event:
            case EpochStarted(epoch) if epoch >= self.context.epoch:
                return to(self.with_(replace(self.context, epoch=epoch)))
            case OutputRebuilt(channel) if channel in self.context.rebuilding:
                return self.stays(self.context.rebuilt(frozenset({channel})))
            case _:
                return super().common(event)


@dataclass(frozen=True, slots=True)
class Standby(_Unstarted):
    """Deployed, perhaps already holding a checkpoint's state; waits to be told that it takes over."""

    name: ClassVar[str] = "Standby"

    def on(self, event: Event) -> Transition:
        """Parks what it is told, until recovery starts."""
        match event:
            case RecoveryStarted():
                return to(WaitingConnections(self.context))
            case _:
                return self.common(event)


@dataclass(frozen=True, slots=True)
class WaitingConnections(_Unstarted):
    """Awaits every input and output channel and the end of the restore."""

    name: ClassVar[str] = "WaitingConnections"

    def on(self, event: Event) -> Transition:
        """Marks what is there."""
        return self.common(event)

    def moves_on(self) -> Transition | None:
        """With all channels there and no restore open, asks for replays and determinants."""
        if not self.context.ready:
            return None
        setting, epoch = self.context.setting, self.context.epoch
        replays = (self.context.replay_of(channel, 0) for channel in setting.inputs)
        requests = (RequestDeterminants(channel, setting.task, epoch) for channel in setting.asked_for_own)
        return to(WaitingDeterminants(self.context), *replays, *requests)


@dataclass(frozen=True, slots=True)
class WaitingDeterminants(_Started):
    """Awaits one answer per channel that was asked; then replays what they hold together."""

    name: ClassVar[str] = "WaitingDeterminants"
    answers: Answers = field(default_factory=Answers)
    escalated: bool = False

    @property
    def awaited(self) -> tuple[ChannelId, ...]:
        """The channels that have not answered yet."""
        return tuple(c for c in self.context.setting.asked_for_own if c not in self.answers.channels)

    def on(self, event: Event) -> Transition:
        """Collects answers; an output that was lost must answer anew."""
        setting = self.context.setting
        match event:
            case DeterminantsReturned(channel, of, result, logs) if (
                of == setting.task and channel in setting.asked_for_own
            ):
                answers = self.answers.with_(channel, Answer(result, logs.since(self.context.epoch)))
                check(all(copy.log.task == of for copy in logs), f"{channel} answers with logs of others than {of}")
                answers.merged()  # copies that disagree are reported by the answer that brings them
                return to(replace(self, answers=answers))
            case ChannelLost(channel, side="output"):
                return to(replace(self, context=self.context.lost(event), answers=self.answers.without(channel)))
            case ChannelReconnected(channel, side="output"):
                context, relayed = self.context.reconnected(event)
                is_asked = channel in setting.asked_for_own
                own = (RequestDeterminants(channel, setting.task, context.epoch),) if is_asked else ()
                return to(replace(self, context=context, answers=self.answers.without(channel)), *own, *relayed)
            case _:
                return self.common(event)

    def moves_on(self) -> Transition | None:
        """After the last answer: replays, unless a survivor past the sharing depth forbids it."""
        if self.awaited or self.escalated:
            return None
        logs = self.answers.merged()
        if not self.answers.beyond_depth:
            return self._replays(logs)
        escalate = Escalate(self._why())
        if self.context.setting.on_lost == "rollback":
            return to(replace(self, escalated=True), escalate)
        return self._replays(logs, escalate)

    def _replays(self, logs: Logs, *before: Effect) -> Transition:
        context, replays = self.context.replaying(logs)
        return to(Replaying(context, logs), *before, StartReplaying(logs), *replays)

    def _why(self) -> str:
        setting = self.context.setting
        where = ", ".join(self.answers.beyond_depth)
        return (
            f"behind {where} a task beyond the sharing depth of {setting.sharing_depth} survived that may depend on "
            f"choices of {setting.task} which no answer can rule out"
        )


@dataclass(frozen=True, slots=True)
class Replaying(_Executing):
    """The main thread follows the log that was returned; each output thread rebuilds its buffers beside it."""

    name: ClassVar[str] = "Replaying"
    logs: Logs = field(default_factory=Logs)

    def on(self, event: Event) -> Transition:
        """Follows the log to its end."""
        match event:
            case MainLogUsedUp() if self.logs.has_main:
                return self._runs()
            case _:
                return self.common(event)

    def moves_on(self) -> Transition | None:
        """With nothing to follow on the main thread, runs at once."""
        return None if self.logs.has_main else self._runs()

    def _runs(self) -> Transition:
        return to(Running(self.context), EnteredRunning())


@dataclass(frozen=True, slots=True)
class Running(_Executing):
    """Makes its own choices, though output threads may still be rebuilding; answers from its own causal log."""

    name: ClassVar[str] = "Running"

    def on(self, event: Event) -> Transition:
        """Serves those that recover."""
        match event:
            case DeterminantsRequested(of=of, epoch=epoch) if of != self.context.setting.task:
                if self.context.setting.informed(of, epoch):
                    return self.stays(self.context.answered_from_log(event))
                return self.common(event)  # its own copies were lost: tasks below may hold more, so it asks them
            case _:
                return self.common(event)


State = Standby | WaitingConnections | WaitingDeterminants | Replaying | Running
STATES: tuple[type[State], ...] = (Standby, WaitingConnections, WaitingDeterminants, Replaying, Running)
STATE_NAMES: tuple[str, ...] = tuple(state.name for state in STATES)
