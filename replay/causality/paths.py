"""The causal path of one attempt of a task: how far its logs travelled, when, by which buffers, until it ended.

The answer is one JSON object:

    {"task", "attempt", "sharing_depth" (null: full), "started_us", "ended_us", "ended_by" ("failure", "rollback",
     "end of the recording"), "failure" (or null),
     "logs":    [{"thread", "epoch", "bytes"}, …]                    what the attempt had appended when it ended
     "log_bytes",                                                    all of them together
     "holders": [{"holder", "attempt", "hops", "bytes",              what that attempt of the holder had in the end
                  "logs": [{"thread", "epoch", "upto", "bytes"}, …], "bytes" being the whole log's
                  "growth": [{"t_us", "thread", "epoch", "before", "upto", "held_bytes", "channel", "sender",
                              "sender_attempt", "seq", "sending", "sent_us", "received_us", "taken_us" (-1: never)}, …],
                  "growth_rows"}, …]                                 rows in all; where more, `growth` is thinned
     "channels": [{"channel", "from", "to", "bytes", "sendings", "first_us", "last_us"}, …]
     "stopped":  [{"task", "hops", "why"}, …]                        downstream, but out of reach
     "silent":   [{"task", "hops"}, …]                               within reach, but nothing came
     "faults":   [{"channel", "seq", "why"}, …]}                     deltas that could not be followed
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from replay.causality.holders import Growth, Holders, holders
from replay.causality.life import Life, life_of, lives
from replay.causality.recording import Recording
from replay.errors import ReplayError, printable
from replay.model import WORLD, Graph, Protocol, TaskId, Thread

MAX_GROWTH_ROWS = 400


def causal_path(recording: Recording, task: str, attempt: int) -> dict[str, Any]:
    """See the module's description."""
    check_attempt(recording, task, attempt)
    graph = recording.graph
    known = lives(recording.events())
    life = life_of(known, task, attempt) or Life(task, attempt, 0, _end_us(known), "unknown")
    logs = appended(recording, TaskId(task), attempt)
    found = holders(recording, TaskId(task))
    mine = [one for one in found.growths if one.attempt == attempt and (life.lingers or one.t_us <= life.ended_us)]
    holding = {one.holder for one in mine}
    # One that was only suspected runs on for a while, and what it sends still arrives.
    ended_us = max([life.ended_us, *(one.t_us for one in mine)])
    return {
        "task": task,
        "attempt": attempt,
        "sharing_depth": recording.manifest.protocol.sharing_depth,
        "started_us": life.started_us,
        "ended_us": ended_us,
        "ended_by": life.ended_by,
        "failure": life.failure,
        "logs": [{"thread": thread, "epoch": epoch, "bytes": size} for (thread, epoch), size in logs.items()],
        "log_bytes": sum(logs.values()),
        "holders": _holders(graph, task, mine, logs),
        "channels": _channels(graph, mine),
        **_out_of_reach(graph, task, recording.manifest.protocol, holding),
        "faults": _faults(found),
    }


def check_attempt(recording: Recording, task: str, attempt: int) -> None:
    """Raises where there is no such attempt."""
    if task not in recording.graph:
        raise ReplayError(f"the recording has no task {printable(task)}", remedy="Its tasks are those of job.json")
    if attempt not in set(recording.attempts(task)):
        raise ReplayError(
            f"{task} has no attempt {attempt} in this recording", remedy="Attempts are counted from 0 for each task"
        )


def appended(recording: Recording, task: TaskId, attempt: int) -> dict[tuple[Thread, int], int]:
    """How long each log and epoch of an attempt had become."""
    return {
        (thread, epoch): len(recording.log_bytes(task, attempt, thread, epoch))
        for thread in recording.graph.task(task).threads
        for epoch in recording.epochs(task, attempt, thread)
    }


def _holders(
    graph: Graph, task: str, mine: Iterable[Growth], logs: dict[tuple[Thread, int], int]
) -> list[dict[str, Any]]:
    by_holder: dict[tuple[TaskId, int], list[Growth]] = {}
    for one in mine:
        by_holder.setdefault((one.holder, one.holder_attempt), []).append(one)
    place = {one: n for n, one in enumerate((*graph.order, WORLD))}
    found = []
    for (holder, attempt), growths in sorted(by_holder.items(), key=lambda pair: (place[pair[0][0]], pair[0][1])):
        upto: dict[tuple[Thread, int], int] = {}
        rows = []
        for one in growths:
            upto[one.thread, one.epoch] = one.upto
            rows.append(_row(graph, one, sum(upto.values())))
        found.append(
            {
                "holder": holder,
                "attempt": attempt,
                "hops": _hops(graph, task, growths[0]) if holder == WORLD else graph.distance(task, holder),
                "bytes": sum(upto.values()),
                "logs": [
                    {"thread": thread, "epoch": epoch, "upto": length, "bytes": logs.get((thread, epoch), length)}
                    for (thread, epoch), length in sorted(upto.items())
                ],
                "growth": _thinned(rows),
                "growth_rows": len(rows),
            }
        )
    return found


def _hops(graph: Graph, task: str, left: Growth) -> int:
    """The world outside is one hop past who left the log there."""
    return (graph.distance(task, _ends(graph, left.channel)[0]) or 0) + 1


def _ends(graph: Graph, channel: str) -> tuple[str, str]:
    """Where a channel leads from and to; the way to the world outside is none of the graph's."""
    source, _, target = channel.partition(">")
    if target == WORLD and source in graph:
        return source, target
    found = graph.channel(channel)
    return found.source, found.target


def _row(graph: Graph, one: Growth, held_bytes: int) -> dict[str, Any]:
    return {
        "t_us": one.t_us,
        "thread": one.thread,
        "epoch": one.epoch,
        "before": one.before,
        "upto": one.upto,
        "held_bytes": held_bytes,
        "channel": one.channel,
        "sender": _ends(graph, one.channel)[0],
        "sender_attempt": one.sender_attempt,
        "seq": one.seq,
        "sending": one.sending,
        "sent_us": one.sent_us,
        "received_us": one.t_us,
        "taken_us": one.taken_us,
    }


def _thinned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most so many rows, evenly spread, the last one always among them."""
    if len(rows) <= MAX_GROWTH_ROWS:
        return rows
    return [rows[(n + 1) * len(rows) // MAX_GROWTH_ROWS - 1] for n in range(MAX_GROWTH_ROWS)]


def _channels(graph: Graph, mine: Iterable[Growth]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    sendings: dict[str, set[tuple[int, int, int]]] = {}
    for one in mine:
        source, target = _ends(graph, one.channel)
        entry = found.setdefault(
            one.channel,
            {
                "channel": one.channel,
                "from": source,
                "to": target,
                "bytes": 0,
                "sendings": 0,
                "first_us": one.sent_us,
                "last_us": one.t_us,
            },
        )
        entry["bytes"] += one.upto - one.before
        entry["first_us"] = min(entry["first_us"], one.sent_us)
        entry["last_us"] = max(entry["last_us"], one.t_us)
        sendings.setdefault(one.channel, set()).add((one.sender_attempt, one.seq, one.sending))
    for channel_id, entry in found.items():
        entry["sendings"] = len(sendings[channel_id])
    place: dict[str, int] = {channel.id: n for n, channel in enumerate(graph.channels)}
    return [found[one] for one in sorted(found, key=lambda one: (place.get(one, len(place)), one))]


def _out_of_reach(graph: Graph, task: str, protocol: Protocol, holding: set[TaskId]) -> dict[str, Any]:
    stopped, silent, depth = [], [], protocol.sharing_depth
    unshared = "determinants go to the stable storage alone" if protocol.in_storage else "determinants are not shared"
    for one in graph.order:
        hops = graph.distance(task, one)
        if not hops or one in holding:
            continue
        if depth is not None and hops > depth:
            why = unshared if depth == 0 else f"beyond the sharing depth of {depth}"
            stopped.append({"task": one, "hops": hops, "why": why})
        else:
            silent.append({"task": one, "hops": hops})
    return {"stopped": stopped, "silent": silent}


def _faults(found: Holders) -> list[dict[str, Any]]:
    return [{"channel": one.channel, "seq": one.seq, "why": one.why} for one in found.faults]


def _end_us(known: dict[str, list[Life]]) -> int:
    return max((life.ended_us for of_task in known.values() for life in of_task), default=0)
