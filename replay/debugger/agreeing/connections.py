"""A channel comes back to an attempt that had lost it, or that never had it."""

from __future__ import annotations

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource


def check_connections(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first channel that comes back to an attempt that still has it."""
    if source.manifest.clock.kind != "virtual":
        return
    has: dict[tuple[str, str, str], int] = {}
    """By task, attempt and channel: the event that it came with."""
    for event in source.events():
        kind, number = event.get("type"), event.get("n")
        key = str(event.get("at")), str(event.get("attempt")), str(event.get("channel"))
        task = str(event.get("task"))
        if not isinstance(number, int):
            continue
        if kind == "attempt-started" and event.get("attempt") == 0 and task in source.graph:
            shape = source.graph.task(task)
            has |= {(task, "0", one): number for one in (*shape.inputs, *(one.channel for one in shape.outputs))}
        elif kind == "channel-lost":
            has.pop(key, None)
        elif kind == "channel-reconnected":
            if key in has:
                raise DivergenceFound(
                    f"Event {number}: channel-reconnected says that {key[2]} came back to attempt {key[1]} of "
                    f"{key[0]}, which has it since event {has[key]}: a channel-lost between the two is missing, or "
                    f"one of them was changed.",
                    member="events.ndjson",
                    event=number,
                    cause=has[key],
                    channel=key[2],
                )
            has[key] = number
