"""Why a recovery gave somebody a record twice, or otherwise: what the recording tells of how it was recovered."""

from __future__ import annotations

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event, Story
from replay.errors import printable
from replay.model import Protocol, TaskId


def reason(source: RecordingSource, story: Story, task: str, attempt: int) -> tuple[str, tuple[str, ...]]:
    """A sentence, and the events that prove it; empty where none of the reasons that are known is the one."""
    protocol = source.manifest.protocol
    started = story.start_of(task, attempt)[1]
    if protocol.on_lost == "continue" and not protocol.in_storage:
        beyond = _beyond(story, task, attempt)
        if beyond or story.recovers_without_determinants(task, attempt):
            return _lost(protocol, beyond), (*started, *(f"event:{event['n']}" for event in beyond[:3]))
    outputs = source.graph.task(TaskId(task)).outputs
    if outputs and not protocol.logs:
        said = "Nothing is logged, so the new attempt chose anew what the one before had chosen, and whoever had taken "
        return f"{said}what that one sent took what this one sends as well.", started
    if not outputs and protocol.sink == "plain":
        return _given_at_once(story, task, attempt), started
    return "", ()


def _beyond(story: Story, task: str, attempt: int) -> list[Event]:
    """Answers by which what the task itself had chosen is nowhere that was asked."""
    return [
        event
        for event in story.of_attempt.get((task, attempt), ())
        if (event.get("type"), event.get("result")) == ("determinants-received", "beyond-depth")
        and event.get("of") == task
        and isinstance(event.get("n"), int)
    ]


def _lost(protocol: Protocol, beyond: list[Event]) -> str:
    """Choices that nobody held any more, and that were not waited for."""
    named = f" of {printable(str(beyond[0].get('of')))}" if beyond else ""
    depth = "full" if protocol.sharing_depth is None else protocol.sharing_depth
    return (
        f"Choices{named} were lost: somebody follows from them who is further away than they travel (sharing depth "
        f"{depth}), and the job goes on all the same (--on-lost continue). So the new attempt chose anew, beside "
        "whoever stands on the old choices."
    )


def _given_at_once(story: Story, task: str, attempt: int) -> str:
    checkpoint = story.checkpoint_of(task, attempt)
    where = f"checkpoint {checkpoint}" if checkpoint else "the beginning"
    return (
        f"A plain sink gives to the outside at once. {printable(task)} went back to {where} and gave again what it had "
        "given since then: no transaction had kept that back."
    )
