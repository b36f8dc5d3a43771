"""What it cost to share one attempt's logs: by hop, how much was sent twice; and what another depth would have done.

The answer is one JSON object:

    {"task", "attempt", "sharing_depth" (null: full), "deepest" (from which on all depths are alike), "until_us",
     "log_bytes",
     "hops":     [{"hop", "bytes", "new", "again", "unarrived", "sendings", "channels"}, …]      as recorded
     "channels": [{"channel", "from", "to", "hop", "bytes", "new", "again", "unarrived", "sendings"}, …]
     "depths":   [{"depth", "full", "recorded", "followed", "bytes", "new", "again", "unarrived", "sendings",
                   "hops": [bytes, …], "holders", "whole" (holders of all), "found" (true, false, null: undecided),
                   "lacking": [{"thread", "epoch", "held", "needed", "by": [task, …]}, …]}, …]
     "failure":  null, or {"failure", "at_us", "epoch", "living": [[task, attempt], …], "needed_bytes"}
     "smallest": the least depth at which all was to be found, or null
     "check":    {"sendings", "unlike", "first": null or {"channel", "seq"}}
     "why_no_depths", "undecided": [sentence, …], "faults": [{"channel", "seq", "why"}, …]}

Bytes are those of the logs, without what names them on the wire. A hop is a channel's: its sender is so many hops less
one below the task, so that a depth carries what is on the hops up to it. `new` had not come to the receiver's attempt,
`again` it had, by whichever channel, `unarrived` had not arrived when the attempt of the task ended. Of depths that are
not `followed` there is more than is followed, and nothing is said but that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from replay.causality.carried import Carried, Depth, Followed
from replay.causality.depths import deepest, follow
from replay.causality.finding import MOST_LACKING, Failed, Lacking, failed
from replay.causality.life import Life, life_of, lives
from replay.causality.paths import appended, check_attempt
from replay.causality.recording import Recording
from replay.causality.turns import Turns, turns_of
from replay.model import WORLD, Protocol, TaskId


def sharing(recording: Recording, task: str, attempt: int) -> dict[str, Any]:
    """See the module's description."""
    check_attempt(recording, task, attempt)
    known, turns = lives(recording.events()), turns_of(recording.events())
    life = life_of(known, task, attempt)
    until_us = float("inf") if life is None or life.lingers else life.ended_us
    followed = follow(recording, TaskId(task), attempt, until_us, turns, known)
    protocol = recording.manifest.protocol
    log_bytes = sum(appended(recording, TaskId(task), attempt).values())
    why = _why_no_depths(protocol)
    failure = None if why or life is None else failed(recording, life, turns, known)
    doubts = [] if failure is None else _doubts(recording, turns, followed, failure)
    depths = [] if why else _depths(recording, task, attempt, until_us, followed, failure, doubts, log_bytes)
    first = followed.first_unlike
    return {
        "task": task,
        "attempt": attempt,
        "sharing_depth": protocol.sharing_depth,
        "deepest": deepest(recording, TaskId(task)),
        "until_us": None if until_us == float("inf") else until_us,
        "log_bytes": log_bytes,
        "hops": _hops(recording, task, followed.recorded),
        "channels": _channels(recording, task, followed.recorded),
        "depths": depths,
        "failure": None if failure is None else _failure(life, failure),
        "smallest": _smallest(depths),
        "check": {
            "sendings": followed.compared,
            "unlike": followed.unlike,
            "first": None if first is None else {"channel": first[0], "seq": first[1]},
        },
        "why_no_depths": why,
        "undecided": doubts,
        "faults": [{"channel": one.channel, "seq": one.seq, "why": one.why} for one in followed.recorded.faults],
    }


def _why_no_depths(protocol: Protocol) -> str:
    if protocol.in_storage:
        return "determinants go to a stable storage, and to no other task at any depth"
    if not protocol.logs:
        return "nothing was logged, so what sharing would have carried is not in the recording"
    return ""


# --- what travelled ---


def _ends(recording: Recording, channel: str) -> tuple[str, str]:
    source, _, target = channel.partition(">")
    if target == WORLD and source in recording.graph:
        return source, target
    found = recording.graph.channel(channel)
    return found.source, found.target


def _hop(recording: Recording, task: str, channel: str) -> int:
    return (recording.graph.distance(task, _ends(recording, channel)[0]) or 0) + 1


def _told(carried: Carried) -> dict[str, int]:
    return {
        "bytes": carried.bytes,
        "new": carried.new,
        "again": carried.again,
        "unarrived": carried.unarrived,
        "sendings": carried.sendings,
    }


def _summed(carried: Iterable[Carried]) -> Carried:
    found = Carried()
    for one in carried:
        found.add(one)
    return found


def _by_hop(recording: Recording, task: str, depth: Depth) -> dict[int, list[Carried]]:
    found: dict[int, list[Carried]] = {}
    for channel, carried in depth.carried.items():
        found.setdefault(_hop(recording, task, channel), []).append(carried)
    return dict(sorted(found.items()))


def _hops(recording: Recording, task: str, depth: Depth) -> list[dict[str, Any]]:
    by_hop = _by_hop(recording, task, depth).items()
    return [{"hop": hop, **_told(_summed(these)), "channels": len(these)} for hop, these in by_hop]


def _channels(recording: Recording, task: str, depth: Depth) -> list[dict[str, Any]]:
    found = []
    for channel, carried in depth.carried.items():
        source, target = _ends(recording, channel)
        hop = _hop(recording, task, channel)
        found.append({"channel": channel, "from": source, "to": target, "hop": hop, **_told(carried)})
    return sorted(found, key=lambda one: (one["hop"], -one["bytes"], one["channel"]))


# --- other depths ---


def _depths(
    recording: Recording,
    task: str,
    attempt: int,
    until_us: float,
    followed: Followed,
    failure: Failed | None,
    doubts: list[str],
    log_bytes: int,
) -> list[dict[str, Any]]:
    recorded = _recorded(recording.manifest.protocol, len(followed.computed))
    rows = []
    for n in range(len(followed.computed) + 1):
        same = n == recorded
        depth = followed.recorded if same else followed.computed[n - 1] if n else None
        decided = not doubts and (same or not n or _is_sure(followed, depth))
        row: dict[str, Any] = {
            "depth": n,
            "full": n == len(followed.computed),
            "recorded": same,
            "followed": depth is None or not depth.given_up,
            **_cost(recording, task, attempt, until_us, depth, log_bytes),
        }
        lacking = failure.lacking(depth) if failure is not None and row["followed"] else []
        row["found"] = None if failure is None or not decided or not row["followed"] else not lacking
        row["lacking"] = [_lacking(one) for one in lacking[:MOST_LACKING]] if row["found"] is False else []
        rows.append(row)
    return rows


def _recorded(protocol: Protocol, most: int) -> int:
    return most if protocol.sharing_depth is None else min(protocol.sharing_depth, most)


def _is_sure(followed: Followed, depth: Depth | None) -> bool:
    """Whether computing gave what was recorded, where the two can be compared, and nothing contradicts itself."""
    return not followed.unlike and not followed.uncompared and (depth is None or not depth.faults)


def _cost(
    recording: Recording, task: str, attempt: int, until_us: float, depth: Depth | None, log_bytes: int
) -> dict[str, Any]:
    if depth is None:
        return {**_told(Carried()), "hops": [], "holders": 0, "whole": 0}
    by_hop = {hop: _summed(these).bytes for hop, these in _by_hop(recording, task, depth).items()}
    held = [sum(copies.of_attempt(attempt, until_us).values()) for copies in depth.copies.values()]
    return {
        **_told(_summed(depth.carried.values())),
        "hops": [by_hop.get(hop, 0) for hop in range(1, max(by_hop, default=0) + 1)],
        "holders": sum(one > 0 for one in held),
        "whole": sum(one >= log_bytes > 0 for one in held),
    }


def _smallest(depths: list[dict[str, Any]]) -> int | None:
    """None where none is known to do, or a smaller one is undecided."""
    for row in depths:
        if row["found"] is None:
            return None
        if row["found"]:
            return int(row["depth"])
    return None


# --- the failure ---


def _failure(life: Life | None, failure: Failed) -> dict[str, Any]:
    return {
        "failure": None if life is None else life.failure,
        "at_us": failure.t_us,
        "epoch": failure.epoch,
        "living": sorted(list(who) for who in failure.living),
        "needed_bytes": sum(failure.needed.values()),
    }


def _lacking(one: Lacking) -> dict[str, Any]:
    thread, epoch = one.place
    by = list(dict.fromkeys(task for task, _ in one.by))
    return {"thread": thread, "epoch": epoch, "held": one.held, "needed": one.needed, "by": by}


def _doubts(recording: Recording, turns: Turns, followed: Followed, failure: Failed) -> list[str]:
    """Why nothing is said of what would have been found, at any depth."""
    found = []
    if not recording.manifest.complete:
        found.append("The recording is not complete.")
    if turns.gaps:
        found.append("The recorder had to leave something out, and says so in its events.")
    if followed.recorded.faults:
        found.append("Not every delta of these logs could be followed.")
    if followed.unknown or failure.bound.unknown:
        found.append("Buffers arrived that are not among those that were sent.")
    if turns.escalated and recording.manifest.protocol.on_lost == "continue":
        found.append("The job went on without choices that were lost, so that logs are no longer what they were.")
    return found
