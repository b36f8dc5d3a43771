"""What every recovery state carries along: connections, restores, parked replay requests, open relays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from replay.model import ChannelId, thread_of_output
from replay.recovery.answers import Logs, Result
from replay.recovery.effects import AnswerDeterminants, Effect, ReplayInFlight, RequestReplay
from replay.recovery.events import (
    ChannelLost,
    ChannelReconnected,
    DeterminantsRequested,
    DeterminantsReturned,
    ReplayRequested,
)
from replay.recovery.relays import Relays
from replay.recovery.setting import Setting


@dataclass(frozen=True, slots=True)
class Context:
    """`rebuilding`: outputs whose in-flight log doesn't yet hold all that was sent before the failure."""

    setting: Setting
    epoch: int = 0
    connected: frozenset[tuple[ChannelId, str]] = frozenset()
    restoring: frozenset[int] = frozenset()
    relays: Relays = field(default_factory=Relays)
    parked: tuple[ReplayRequested, ...] = ()
    rebuilding: frozenset[ChannelId] = frozenset()

    @property
    def ready(self) -> bool:
        """All channels are there and no restore is open."""
        return self.setting.channels <= self.connected and not self.restoring

    def is_connected(self, output: ChannelId) -> bool:
        """Whether questions can go out there now."""
        return output == self.setting.world or (output, "output") in self.connected

    # --- connections ---

    def reconnected(self, event: ChannelReconnected) -> tuple[Context, tuple[Effect, ...]]:
        """Marks a channel; an output is (again) asked what relays still wait for."""
        context = replace(self, connected=self.connected | {(event.channel, event.side)})
        return context, self.relays.unanswered(event.channel) if event.side == "output" else ()

    def lost(self, event: ChannelLost) -> Context:
        """Unmarks a channel, and with it what its other end had said: answers, questions, replay requests."""
        context = replace(self, connected=self.connected - {(event.channel, event.side)})
        if event.side == "input":
            return replace(context, relays=self.relays.without_asker(event.channel))
        parked = tuple(request for request in self.parked if request.channel != event.channel)
        return replace(context, relays=self.relays.without_answer(event.channel), parked=parked)

    # --- restores ---

    def restore_started(self, checkpoint: int) -> Context:
        """Opens a restore."""
        return replace(self, restoring=self.restoring | {checkpoint})

    def restored(self, checkpoint: int) -> Context:
        """Closes all restores up to that checkpoint."""
        still_open = frozenset(c for c in self.restoring if c > checkpoint)
        return replace(self, restoring=still_open, epoch=max(self.epoch, checkpoint))

    # --- relays ---

    def relayed(self, event: DeterminantsRequested) -> tuple[Context, tuple[Effect, ...]]:
        """Passes a request on: a new one goes out at once on what is connected, the rest waits for its connection."""
        is_new = self.relays.of(event.of) is None
        relays, relay = self.relays.asked(event)
        if not relay.awaited(self.setting):
            return replace(self, relays=relays.without(event.of)), relay.answer(self.setting)
        outputs = (channel for channel in self.setting.asked if is_new and self.is_connected(channel))
        return replace(self, relays=relays), tuple(relay.request(channel) for channel in outputs)

    def answered_from_log(self, event: DeterminantsRequested) -> tuple[Context, tuple[Effect, ...]]:
        """Answers at once; what a relay would bring later is no longer awaited by that asker."""
        logs = self.setting.holdings(event.of, event.epoch)
        result: Result = "held" if self.setting.within_depth(event.of, event.channel) else "beyond-depth"
        relays = self.relays.without_asker(event.channel, event.of)
        return replace(self, relays=relays), (AnswerDeterminants(event.channel, event.of, result, logs),)

    def relay_answered(self, event: DeterminantsReturned) -> tuple[Context, tuple[Effect, ...]]:
        """Takes a relayed answer; after the last one, answers whoever asked."""
        relays, relay = self.relays.answered(event)
        if relay.awaited(self.setting):
            return replace(self, relays=relays), ()
        return replace(self, relays=relays.without(event.of)), relay.answer(self.setting)

    # --- replays of this task's outputs, and of its inputs ---

    def replay_requested(self, event: ReplayRequested) -> tuple[Context, tuple[Effect, ...]]:
        """Replays at once, or parks the request (the latest per channel) until the channel's buffers are rebuilt."""
        if event.channel not in self.rebuilding:
            return self, (ReplayInFlight(event.channel, event.epoch, event.skip),)
        others = tuple(request for request in self.parked if request.channel != event.channel)
        return replace(self, parked=(*others, event)), ()

    def rebuilt(self, channels: frozenset[ChannelId]) -> tuple[Context, tuple[Effect, ...]]:
        """Those outputs are whole again: replays what was parked for them."""
        due = tuple(request for request in self.parked if request.channel in channels)
        kept = tuple(request for request in self.parked if request.channel not in channels)
        context = replace(self, rebuilding=self.rebuilding - channels, parked=kept)
        return context, tuple(ReplayInFlight(r.channel, r.epoch, r.skip) for r in due)

    def replaying(self, logs: Logs) -> tuple[Context, tuple[Effect, ...]]:
        """Outputs of which nothing was returned have nothing to rebuild."""
        empty = (c for k, c in enumerate(self.setting.outputs) if not logs.has_bytes_of(thread_of_output(k)))
        return self.rebuilt(frozenset(empty))

    def replay_of(self, channel: ChannelId, received: int) -> RequestReplay:
        """Asks for an input from the current epoch on, without the buffers of it that are here already."""
        return RequestReplay(channel, self.epoch, received)
