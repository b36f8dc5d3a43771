"""Timers and watermarks: no timer is lost or fires twice in the state, and event time never goes back."""

from __future__ import annotations

import json
from collections.abc import Iterator

from replay.bundle.frames import BufferFrame
from replay.jobs.churn import Churn
from replay.jobs.registry import operator_name
from replay.model import TaskId
from replay.runtime.body.watermarks import IDLE, NO_WATERMARK
from replay.simulation.recording import Recording


def churning(recording: Recording) -> Iterator[TaskId]:
    """The tasks whose state tells of timers."""
    churn = operator_name(Churn)
    for vertex in recording.manifest.vertices:
        if vertex.operator == churn:
            yield from recording.tasks_of(vertex.id)


def timers_fire_once(recording: Recording) -> Iterator[str]:
    """In each checkpoint, every timer that was set has fired, was cancelled, or is set still."""
    for checkpoint in recording.completed:
        for task in churning(recording):
            state = recording.state(task, checkpoint)
            counts, waiting = state["operator"], [name for name, _ in state["operator"]["waiting"]]
            if counts["wrong"]:
                yield f"{task}: {counts['wrong']} timers fired that were not set, by checkpoint {checkpoint}"
            if counts["set"] != counts["fired"] + counts["cancelled"] + len(waiting):
                yield f"{task}: of {counts['set']} timers, {counts['fired']} fired by checkpoint {checkpoint}"
            standing = [one["namespace"] for one in state["timers"] if one["name"] == "churn"]
            if sorted(standing) != sorted(waiting):
                yield f"{task}: waits for timers {waiting}, and {standing} are set in checkpoint {checkpoint}"


def event_time_never_goes_back(recording: Recording) -> Iterator[str]:
    """Neither in a state, nor on an output, whichever attempt sends on it within a lineage."""
    for checkpoint in recording.completed:
        for task in churning(recording):
            if backwards := recording.state(task, checkpoint)["operator"]["backwards"]:
                yield f"{task}: event time went back {backwards} times by checkpoint {checkpoint}"
    for one in recording.manifest.tasks:
        for chain in recording.lineages(one.id):
            for k in range(len(one.outputs)):
                sent = _watermarks(recording, one.id, chain, k)
                if sent != sorted(sent):
                    yield f"{one.id}: its watermarks on output {k} are {sent}"


def _watermarks(recording: Recording, task: str, chain: list[int], k: int) -> list[int]:
    buffers: dict[int, BufferFrame] = {}
    for attempt in chain:
        ours = recording.buffers(task, attempt, k)
        channel = recording.graph.task(task).outputs[k].channel
        first = recording.restored_state(task, attempt).get("outputs", {}).get(channel, 0)
        buffers = {seq: frame for seq, frame in buffers.items() if seq < first} | ours
    found = (json.loads(frame.payload).get("watermark") for _, frame in sorted(buffers.items()) if frame.is_event)
    return [one for one in found if one not in (None, IDLE, NO_WATERMARK)]


EXACT = (timers_fire_once, event_time_never_goes_back)
