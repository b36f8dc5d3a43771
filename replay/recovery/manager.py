"""The recovery manager: the only place where a task's recovery state changes. Engine and debugger both call it."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from replay.errors import UnexpectedEvent
from replay.recovery.context import Context
from replay.recovery.effects import Effect
from replay.recovery.events import (
    ChannelLost,
    ChannelReconnected,
    DeterminantsRequested,
    DeterminantsReturned,
    Event,
    OutputRebuilt,
    ReplayRequested,
)
from replay.recovery.setting import Setting
from replay.recovery.states import Running, Standby, State


class Observer(Protocol):
    """Is told of every event that was taken; `event` is None where a state moved on by itself."""

    def transition(self, before: State, event: Event | None, after: State, effects: tuple[Effect, ...]) -> None:
        """One step of the state machine; `before` and `after` may be the same state."""


class RecoveryManager:
    """A task's recovery. It knows no threads, no clock and no I/O: `handle` takes an event and returns effects."""

    def __init__(self, setting: Setting, *, running: bool = False, epoch: int = 0, observer: Observer | None = None):
        """A new attempt begins in Standby; with `running`, the first attempt of a task, with all its channels."""
        self.setting = setting
        self.observer = observer
        context = Context(setting, epoch=epoch)
        if running:
            self.state: State = Running(replace(context, connected=setting.channels))
        else:
            self.state = Standby(replace(context, rebuilding=frozenset(setting.outputs)))

    @property
    def is_running(self) -> bool:
        """Whether the task makes its own choices."""
        return isinstance(self.state, Running)

    @property
    def epoch(self) -> int:
        """The epoch from which inputs would be asked for now."""
        return self.state.context.epoch

    def handle(self, event: Event) -> tuple[Effect, ...]:
        """Takes an event; the runtime performs what is returned, in that order. A state never does anything itself."""
        self._check_channel(event)
        transition = self.state.on(event)
        effects = self._enter(event, transition.state, transition.effects)
        while (onward := self.state.moves_on()) is not None:
            effects += self._enter(None, onward.state, onward.effects)
        return effects

    def _enter(self, event: Event | None, after: State, effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
        before, self.state = self.state, after
        if self.observer is not None:
            self.observer.transition(before, event, after, effects)
        return effects

    def _check_channel(self, event: Event) -> None:
        setting = self.setting
        asked = setting.outputs if setting.world is None else (*setting.outputs, setting.world)
        match event:
            case ChannelReconnected(channel, side=side) | ChannelLost(channel, side=side):
                known = (channel, side) in setting.channels
            case DeterminantsRequested(channel):
                known = channel in setting.inputs
            case DeterminantsReturned(channel):
                known = channel in asked and self.state.context.is_connected(channel)
            case ReplayRequested(channel) | OutputRebuilt(channel):
                known = channel in setting.outputs
            case _:
                return
        if not known:
            raise UnexpectedEvent(f"{setting.task} in {self.state.name} has no such channel for {event}")
