"""The sentences of the state machine's steps."""

from __future__ import annotations

from collections.abc import Iterable

from replay.debugger.recorded.scene import Scene
from replay.debugger.recorded.story import Event, extents_of
from replay.debugger.writing.words import bytes_of, counted, listed, named, outside
from replay.model import WORLD, Thread
from replay.recovery import (
    AnswerDeterminants,
    ChannelLost,
    ChannelReconnected,
    DeterminantsRequested,
    DeterminantsReturned,
    DropPartialRecord,
    Escalate,
    Logs,
    ReplayRequested,
    RequestDeterminants,
    RequestReplay,
    RestoreStarted,
    StateRestored,
)
from replay.recovery import Event as ManagerEvent
from replay.recovery.answers import Answers
from replay.recovery.effects import Effect

_NAMED = 8
_RESULTS = {
    "held": "a copy survived",
    "failed-too": "whoever could have held it failed too",
    "beyond-depth": "a survivor lies beyond the sharing depth",
}


def transition_words(before: str, after: str, scene: Scene) -> str:
    """Why the state was entered, in words."""
    task = scene.task
    match after:
        case "WaitingConnections":
            return f"{task} is told to take over as attempt {scene.attempt}: it awaits its channels and its state."
        case "WaitingDeterminants":
            return f"All channels of {task} are there and its state is restored: it asks what is known of its logs."
        case "Replaying" if before == "WaitingDeterminants":
            return f"Every answer is in: {task} begins to replay."
        case "Running":
            return f"Nothing is left of the returned main log: from here on {task} makes its own choices."
        case _:
            return f"{task} goes from {before} to {after}."


def event_words(event: Event, told: ManagerEvent, scene: Scene, *, waits: bool) -> tuple[str, str, str]:
    """(kind, sentence, actor) of a recorded event that the manager is told; `waits`: its channel is still rebuilt."""
    match told:
        case RestoreStarted(checkpoint):
            what = "its initial state" if checkpoint == 0 else f"the state of checkpoint {checkpoint}"
            return "restore", f"{scene.task} begins to load {what} ({bytes_of(_size(event))}).", "main"
        case StateRestored(checkpoint):
            return "restore", f"The state is loaded: execution will begin in epoch {checkpoint}.", "main"
        case ChannelReconnected(channel, side, received):
            got = f"; {counted(received, 'buffer')} of its epoch had been received" if received else ""
            return "transition", f"The {side} channel {channel} is there{got}.", "main"
        case ChannelLost(channel, side):
            return "transition", f"The {side} channel {channel} is lost: what its other end had said is void.", "main"
        case DeterminantsRequested(channel, of, epoch):
            return (
                "request",
                f"{channel.partition('>')[0]} asks on {channel} what is known of the logs of {of}, from epoch {epoch} "
                f"on.",
                "main",
            )
        case DeterminantsReturned(channel, of, result):
            said = f"answers{_on(channel)} for the logs of {of}: {_told(extents_of(event), result)}."
            return "answer", f"{_sentence_with(_holder(channel, scene))} {said}", "main"
        case ReplayRequested(channel, epoch, skip):
            asker = channel.partition(">")[2]
            without = f", without {_the_first(skip)}, which it has" if skip else ""
            wait = "; it has to wait until they are rebuilt" if waits else ""
            return "request", f"{asker} asks for the buffers of {channel} from epoch {epoch} on{without}{wait}.", "main"
        case _:
            return "transition", f"{scene.task} is told {type(told).__name__}.", "main"


def _the_first(buffers: int) -> str:
    return "the first buffer" if buffers == 1 else f"the first {counted(buffers, 'buffer')}"


def effect_words(effect: Effect, scene: Scene) -> str:
    """What the manager asks the runtime to do."""
    match effect:
        case RequestReplay(channel, epoch, skip):
            without = f", without {_the_first(skip)}" if skip else ""
            return f"Asks {channel.partition('>')[0]} for the buffers of {channel} from epoch {epoch} on{without}."
        case RequestDeterminants(channel, of, epoch):
            holder = _holder(channel, scene)
            return f"Asks {holder}{_on(channel)} for what it holds of the logs of {of}, from epoch {epoch} on."
        case AnswerDeterminants(channel, of, result, logs):
            asker = channel.partition(">")[0]
            return f"Answers {asker} on {channel} for the logs of {of}: {_told(logs.extents(), result)}."
        case Escalate(why):
            return f"Gives up recovering by itself: {why}."
        case DropPartialRecord(channel):
            return f"Forgets the record that is half received on {channel}: what comes next begins a new one."
        case _:
            return f"{type(effect).__name__}."


def _holder(channel: str, scene: Scene) -> str:
    """Who is asked on a channel; the holder that is no task is called what it is."""
    holder = channel.partition(">")[2]
    return holder if holder != WORLD else outside(in_storage=scene.in_storage)


def _on(channel: str) -> str:
    """The channel of an ask; there is none to what is no task."""
    return "" if channel.endswith(f">{WORLD}") else f" on {channel}"


def _sentence_with(holder: str) -> str:
    return f"{holder[0].upper()}{holder[1:]}" if holder.startswith("the ") else holder


def merge_words(logs: Logs, answers: Answers, scene: Scene) -> str:
    """Whose copy won, and by how much."""
    if not logs:
        came = len(answers.by_channel)
        who = "The only answer" if came == 1 else f"None of the {came:,} answers"
        return f"{who} holds {'not one' if came == 1 else 'a'} byte of the lost logs: a new execution is free."
    parts = []
    for copy in logs:
        if not copy.data:
            continue
        others = [len(one.data) for _, one in answers.copies_of(copy.log, copy.epoch)]
        less = [len(copy.data) - one for one in others if one < len(copy.data)]
        behind = f" (another copy holds {bytes_of(min(less))} less)" if less else ""
        holder = copy.holder if copy.holder != WORLD else outside(in_storage=scene.in_storage)
        which = f"{bytes_of(len(copy.data))} of {named(copy.log.thread)} of epoch {copy.epoch}"
        parts.append(f"{holder}'s {which}{behind}")
    return f"The longest copy of each log wins: {_few(parts)}."


def _told(extents: Iterable[tuple[str, Thread, int, int]], result: str) -> str:
    """What an answer holds, and what that means."""
    logs = [f"{bytes_of(upto)} of {named(thread)} of epoch {epoch}" for _, thread, epoch, upto in extents if upto]
    why = "none had come to it" if result == "held" and not logs else _RESULTS[result]
    return f"{_few(logs)} ({why})"


def _few(parts: list[str]) -> str:
    """Not more of them than a sentence can hold; how many more there are is said."""
    return listed(parts if len(parts) <= _NAMED else [*parts[: _NAMED - 1], f"{len(parts) - _NAMED + 1} more logs"])


def _size(event: Event) -> int:
    size = event.get("bytes")
    return size if isinstance(size, int) else 0
