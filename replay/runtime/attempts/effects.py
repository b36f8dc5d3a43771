"""Performs what a recovery manager asks for: one function per effect."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from replay.errors import InvariantError
from replay.recovery import (
    AnswerDeterminants,
    DeterminantsRequested,
    DeterminantsReturned,
    DropPartialRecord,
    EnteredRunning,
    Escalate,
    ReplayInFlight,
    ReplayRequested,
    RequestDeterminants,
    RequestReplay,
    StartReplaying,
)
from replay.recovery.effects import Effect

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt

_QUESTION_BYTES = 64


def perform(attempt: Attempt, effect: Effect) -> None:
    """Does it, and records it."""
    _perform(effect, attempt)


@singledispatch
def _perform(effect: object, attempt: Attempt) -> None:
    raise InvariantError(f"nobody performs {effect}")


@_perform.register(RequestReplay)
def _(effect: RequestReplay, attempt: Attempt) -> None:
    channel = attempt.engine.graph.channel(effect.channel)
    fields = {"channel": effect.channel, "epoch": effect.epoch, "skip": effect.skip}
    n = attempt.event("replay-requested", re=attempt.cause, **fields)
    connection = attempt.inputs[channel.i]
    if connection is None:
        return  # it went away since: when it is there again, the manager asks again
    sender = connection.sender

    def arrive() -> None:
        received = sender.event("replay-request-received", re=n, **fields)
        sender.handle(ReplayRequested(effect.channel, effect.epoch, effect.skip), re=received)

    connection.send_up(_QUESTION_BYTES, arrive)


@_perform.register(RequestDeterminants)
def _(effect: RequestDeterminants, attempt: Attempt) -> None:
    fields = {"of": effect.of, "channel": effect.channel, "epoch": effect.epoch}
    n = attempt.event("determinants-requested", re=attempt.cause, **fields)
    if effect.channel == attempt.manager.setting.world:
        attempt.engine.world.ask(attempt, effect, n)
        return
    connection = attempt.output(attempt.engine.graph.channel(effect.channel).k).connection
    if connection is None:
        return
    receiver = connection.receiver

    def arrive() -> None:
        received = receiver.event("determinants-request-received", re=n, **fields)
        receiver.handle(DeterminantsRequested(effect.channel, effect.of, effect.epoch), re=received)

    connection.send_down(_QUESTION_BYTES, arrive)


@_perform.register(AnswerDeterminants)
def _(effect: AnswerDeterminants, attempt: Attempt) -> None:
    channel = attempt.engine.graph.channel(effect.channel)
    fields = {
        "of": effect.of,
        "channel": effect.channel,
        "to": channel.source,
        "result": effect.result,
        "logs": [list(extent) for extent in effect.logs.extents()],
    }
    n = attempt.event("determinants-returned", re=attempt.cause, **fields)
    attempt.doubts.relayed(bool(effect.logs))
    attempt.engine.failures.answered_for(attempt, effect.of)
    connection = attempt.inputs[channel.i]
    if connection is None:
        return
    asker = connection.sender

    def arrive() -> None:
        received = asker.event("determinants-received", re=n, **fields)
        asker.handle(DeterminantsReturned(effect.channel, effect.of, effect.result, effect.logs), re=received)

    size = _QUESTION_BYTES + sum(len(copy.data) for copy in effect.logs)
    connection.send_up(size, arrive)


@_perform.register(StartReplaying)
def _(effect: StartReplaying, attempt: Attempt) -> None:
    attempt.engine.returned(attempt, effect.logs)
    attempt.execute(effect.logs)


@_perform.register(ReplayInFlight)
def _(effect: ReplayInFlight, attempt: Attempt) -> None:
    k = attempt.engine.graph.channel(effect.channel).k
    attempt.output(k).serve(effect.epoch, effect.skip)


@_perform.register(DropPartialRecord)
def _(effect: DropPartialRecord, attempt: Attempt) -> None:
    attempt.drop_partial_record(effect.channel)


@_perform.register(Escalate)
def _(effect: Escalate, attempt: Attempt) -> None:
    n = attempt.event("escalated", re=attempt.cause, task=attempt.task, why=effect.why)
    if attempt.manager.setting.on_lost == "continue":
        attempt.engine.losses.given_up(attempt)
        return
    attempt.escalated = True
    attempt.engine.failures.escalated(attempt, effect.why, n)


@_perform.register(EnteredRunning)
def _(effect: EnteredRunning, attempt: Attempt) -> None:
    attempt.tell_when_settled()
