"""Fencing: nothing that an attempt does after it failed, or was taken for failed, reaches anyone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from replay.bundle.frames import read_sendings
from replay.causality.life import SUSPECTED
from replay.model import Channel
from replay.simulation.recording import Recording

Known = list[tuple[int, int]]
"""Since when an attempt of a task or a newer one is known: (time, attempt), ascending."""


def nothing_is_done_after_the_end(recording: Recording) -> Iterator[str]:
    """An attempt that was killed sends, takes, writes and tells nothing any more. One that is suspected runs on."""
    ended = {
        (one["task"], one["attempt"]): (one["n"], one["t_us"])
        for one in recording.events
        if one["type"] == "task-failed" and one["cause"] != SUSPECTED
    }
    for one in recording.events:
        n, _ = ended.get((one.get("at"), one.get("attempt")), (one["n"], 0))
        if n < one["n"]:
            yield f"event {one['n']}: {one['at']} attempt {one['attempt']} tells of {one['type']} after its end"
    for (task, attempt), (_, end_us) in ended.items():
        shape = recording.graph.task(task)
        done = [line["t_us"] for _, line in recording.sink_lines(task, attempt)]
        done += [one.t_us for k in range(len(shape.outputs)) for one in recording.sendings(task, attempt, k)]
        done += [
            one.taken_us for i in range(len(shape.inputs)) for one in recording.receipts(task, attempt, i) if one.taken
        ]
        if late := [t_us for t_us in done if t_us > end_us]:
            yield f"{task} attempt {attempt} ended at {end_us} us, and did something at {late} us"


def whoever_knows_a_newer_attempt_takes_nothing_of_an_older_one(recording: Recording) -> Iterator[str]:
    """From its answer for the newer one on, or from its connection to it, whichever comes first."""
    met = _sides(recording)
    for channel in recording.graph.channels:
        for attempt in range(recording.attempts(channel.target)):
            known = _known(recording, channel, attempt, met.get(channel.id, []))
            since = [t_us for t_us, _ in known]
            for one in recording.receipts(channel.target, attempt, channel.i):
                before = bisect_left(since, one.received_us)
                if before and known[before - 1][1] > one.sender_attempt:
                    yield (
                        f"{channel.target} attempt {attempt} received buffer {one.seq} of {channel.source} attempt "
                        f"{one.sender_attempt} at {one.received_us} us, and knew of attempt {known[before - 1][1]}"
                    )


def _known(recording: Recording, channel: Channel, attempt: int, met: list[tuple[int, int]]) -> Known:
    starts = [one["n"] for one in recording.starts[channel.source]]
    found: Known = []
    for one in recording.events_at(channel.target, attempt):
        if one["type"] == "determinants-returned" and one["of"] == channel.source:
            found.append((one["t_us"], bisect_left(starts, one["n"]) - 1))
        elif one["type"] == "channel-reconnected" and (one["channel"], one["side"]) == (channel.id, "input"):
            # The receiver is told later than the sender, perhaps when a newer one is there already.
            before = bisect_left(met, (one["n"], 0))
            found.append((one["t_us"], met[before - 1][1] if before else 0))
    return found


def _sides(recording: Recording) -> dict[str, list[tuple[int, int]]]:
    """By channel, when an attempt of its sender was connected: event and attempt."""
    found: dict[str, list[tuple[int, int]]] = {}
    for one in recording.events:
        if one["type"] == "channel-reconnected" and one["side"] == "output":
            found.setdefault(one["channel"], []).append((one["n"], one["attempt"]))
    return found


def the_world_takes_nothing_of_an_older_attempt(recording: Recording) -> Iterator[str]:
    """Once a newer one executes: no commit of a transaction, no write in one, no log for the stable storage."""
    for task in recording.manifest.tasks:
        began = _executes(recording, task.id)
        for attempt in range(recording.attempts(task.id) - 1):
            later = [began[one] for one in began if one > attempt]
            if not later:
                continue
            n, t_us = min(later)
            for one in recording.events_at(task.id, attempt):
                if one["type"] in ("epoch-committed", "epoch-aborted") and one["n"] > n and _is_fenced(recording):
                    yield f"event {one['n']}: {task.id} attempt {attempt} ends a transaction that is not its any more"
            writes = [line["t_us"] for _, line in recording.sink_lines(task.id, attempt) if _is_fenced(recording)]
            for _, data in recording.world(task.id, attempt):
                writes += [frame.t_us for _, frame in read_sendings(data)]
            if late := [one for one in writes if one > t_us]:
                yield f"{task.id} attempt {attempt} was heard outside at {late} us, after {t_us} us"


def _is_fenced(recording: Recording) -> bool:
    """Whether the world knows attempts by their numbers; others take what comes, or count an id once."""
    return recording.manifest.protocol.sink in ("transactional", "determinant")


def _executes(recording: Recording, task: str) -> dict[int, tuple[int, int]]:
    """When each attempt began to execute, of those that recovered alone: event and time."""
    return {
        one["attempt"]: (one["n"], one["t_us"])
        for attempt in range(recording.attempts(task))
        for one in recording.events_at(task, attempt)
        if one["type"] == "recovery-state" and one["to"] == "Replaying"
    }


def checkpoints_complete_by_attempts_that_count(recording: Recording) -> Iterator[str]:
    """Every task's snapshot is of the attempt that runs when the checkpoint completes, and that nobody suspected."""
    fenced = {
        (one["task"], one["attempt"]): one["n"]
        for one in recording.events
        if one["type"] == "task-failed" and one["cause"] == SUSPECTED
    }
    acknowledged: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for one in recording.events:
        if one["type"] == "checkpoint-acknowledged":
            acknowledged.setdefault((one["task"], one["checkpoint"]), []).append((one["attempt"], one["n"]))
    for one in recording.events:
        if one["type"] != "checkpoint-completed":
            continue
        for task, starts in recording.starts.items():
            runs = sum(start["n"] < one["n"] for start in starts) - 1
            good = [
                n
                for attempt, n in acknowledged.get((task, one["checkpoint"]), ())
                if attempt == runs and n < min(one["n"], fenced.get((task, attempt), n + 1))
            ]
            if not good:
                yield f"checkpoint {one['checkpoint']} completed without {task} attempt {runs}"


CHECKS = (
    nothing_is_done_after_the_end,
    whoever_knows_a_newer_attempt_takes_nothing_of_an_older_one,
    the_world_takes_nothing_of_an_older_attempt,
    checkpoints_complete_by_attempts_that_count,
)
