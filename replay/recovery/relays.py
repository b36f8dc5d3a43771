"""Requests for another failed task's logs that a recovering task passes on downstream, until everyone has answered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from replay.errors import UnexpectedEvent
from replay.model import ChannelId, TaskId
from replay.recovery.answers import Answer, Answers, Result
from replay.recovery.effects import AnswerDeterminants, RequestDeterminants
from replay.recovery.events import DeterminantsRequested, DeterminantsReturned
from replay.recovery.setting import Setting


@dataclass(frozen=True, slots=True)
class Relay:
    """One open request. Several inputs may ask for one task; one question downstream serves them all."""

    of: TaskId
    epoch: int
    askers: frozenset[ChannelId]
    answers: Answers = field(default_factory=Answers)

    def awaited(self, setting: Setting) -> tuple[ChannelId, ...]:
        """Who has not answered yet."""
        return tuple(channel for channel in setting.asked if channel not in self.answers.channels)

    def request(self, channel: ChannelId) -> RequestDeterminants:
        """The question, as it goes out on one output."""
        return RequestDeterminants(channel, self.of, self.epoch)

    def answer(self, setting: Setting) -> tuple[AnswerDeterminants, ...]:
        """To everyone who asked: what all answered, and this task's own copy as it is now.

        What has come on an input since the attempt began is kept, and binds whoever it follows from: where logs stop
        short of that, the task itself is one that may depend on what was lost.
        """
        answer = self.answers.relayed(setting.holdings(self.of, self.epoch))

        def result(channel: ChannelId) -> Result:
            binds = not setting.within_depth(self.of, channel) and setting.touched(channel)
            return "beyond-depth" if binds else answer.result

        askers = (channel for channel in setting.inputs if channel in self.askers)
        return tuple(AnswerDeterminants(channel, self.of, result(channel), answer.logs) for channel in askers)


@dataclass(frozen=True, slots=True)
class Relays:
    """All open relays of a task."""

    open: tuple[Relay, ...] = ()

    def of(self, task: TaskId) -> Relay | None:
        """The open relay for that task's logs."""
        return next((relay for relay in self.open if relay.of == task), None)

    def with_(self, relay: Relay) -> Relays:
        """With that relay, instead of an earlier one for the same task."""
        return Relays((*self.without(relay.of).open, relay))

    def without(self, task: TaskId) -> Relays:
        """With the relay for that task closed."""
        return Relays(tuple(relay for relay in self.open if relay.of != task))

    def asked(self, event: DeterminantsRequested) -> tuple[Relays, Relay]:
        """Opens a relay, or lets one more asker wait for the one that is open."""
        relay = self.of(event.of)
        if relay is None:
            relay = Relay(event.of, event.epoch, frozenset())
        elif event.epoch < relay.epoch:
            raise UnexpectedEvent(
                f"{event.channel} asks for the logs of {event.of} from epoch {event.epoch}, while a request from "
                f"epoch {relay.epoch} is open: within one lineage checkpoints only go forward"
            )
        relay = replace(relay, askers=relay.askers | {event.channel})
        return self.with_(relay), relay

    def answered(self, event: DeterminantsReturned) -> tuple[Relays, Relay]:
        """Takes an answer; one that nobody asked for raises."""
        relay = self.of(event.of)
        if relay is None:
            raise UnexpectedEvent(f"{event.channel} answers for the logs of {event.of}, which nobody asked for")
        relay = replace(relay, answers=relay.answers.with_(event.channel, Answer(event.result, event.logs)))
        return self.with_(relay), relay

    def without_asker(self, channel: ChannelId, of: TaskId | None = None) -> Relays:
        """The task at that input is gone (or was answered): it, or its next attempt, will ask again."""
        return Relays(
            tuple(
                replace(relay, askers=relay.askers - {channel}) if of in (None, relay.of) else relay
                for relay in self.open
            )
        )

    def without_answer(self, channel: ChannelId) -> Relays:
        """The task at that output is gone: what it answered is void."""
        return Relays(tuple(replace(relay, answers=relay.answers.without(channel)) for relay in self.open))

    def unanswered(self, channel: ChannelId) -> tuple[RequestDeterminants, ...]:
        """What must be asked (again) of an output that is there (again)."""
        return tuple(relay.request(channel) for relay in self.open if channel not in relay.answers.channels)
