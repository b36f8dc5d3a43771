"""Which plants leave no trace: the changed recording is one that an undamaged job could have left, and here is why.

Nothing here asks the debugger. Each argument is looked up in the undamaged recording's own bytes: what else is known of
the attempt that did it, in time, and who names what was changed.
"""

from __future__ import annotations

import json
from dataclasses import replace

from replay.bundle.frames import read_buffers, read_receipts, read_sendings
from replay.log.codec import decode_all
from replay.log.determinants import Timestamp
from tests.replay.debugger.diverging.known import (
    ARRIVALS,
    BESIDE,
    US_PER_MS,
    Event,
    events_at,
    events_in,
    times_of,
    times_with,
)
from tests.replay.debugger.diverging.plants import EVENTS, Plant
from tests.replay.debugger.diverging.untold import why_untold
from tests.replay.debugger.worlds import MemoryMembers, bundle_of


def why_no_trace(undamaged: MemoryMembers, plant: Plant) -> str | None:
    """The argument; None where there is none, so that whoever doesn't notice the plant has missed something."""
    if plant.member == EVENTS:
        before, after = events_in(undamaged), events_in(plant.members)
        if len(after) == len(before) - 1:
            return why_untold(undamaged, before, plant.start)
        if plant.kind == "events swapped":
            return _swapped(undamaged, before, plant.start, plant.start + 1)
        changed = [n for n, (one, other) in enumerate(zip(before, after, strict=False)) if one != other]
        if len(changed) == 1 and _another_host(before, before[changed[0]], after[changed[0]]):
            return "nothing else tells on which host that standby was, and it took nothing over"
        if len(changed) == 1 and _but_time(before[changed[0]]) == _but_time(after[changed[0]]):
            return _moved(undamaged, before, changed[0], after[changed[0]]["t_us"])
        return None
    return _another_time(undamaged, plant)


def _another_host(events: list[Event], one: Event, other: Event) -> bool:
    if one["type"] != "restore-started" or "at" in one or any(event.get("re") == one["n"] for event in events):
        return False
    return {**one, "host": None} == {**other, "host": None}


def _but_time(one: Event) -> Event:
    return {name: value for name, value in one.items() if name != "t_us"}


def _reads_clock_between(members: MemoryMembers, task: str, attempt: int, old: int, new: int) -> bool:
    """What the clock said tells milliseconds apart."""
    if old // US_PER_MS == new // US_PER_MS:
        return False
    logs = (data for name, data in members.members.items() if name.startswith(f"tasks/{task}/{attempt}/main/"))
    return any(isinstance(one, Timestamp) for data in logs for _, _, one in decode_all(data))


def _nothing_between(members: MemoryMembers, task: str, attempt: int, old: int, new: int) -> bool:
    """Whether the attempt did all in the same order, whichever of the two times it was."""
    least, most = sorted((old, new))
    times = [*times_of(members, task, attempt)]
    times += [one["t_us"] for one in events_at(events_in(members), task, attempt)]
    times.remove(old)
    between = any(least <= one <= most for one in times)
    return not between and not _reads_clock_between(members, task, attempt, old, new)


# --- times ---


def _another_time(members: MemoryMembers, plant: Plant) -> str | None:
    """Of a receipt, a buffer or a line: one time, and nothing else."""
    before, after = members.members[plant.member], plant.members.members.get(plant.member, b"")
    found = _changed_time(before, after, plant.member) or _received_at_another_time(members, before, after, plant)
    if found is None:
        return None
    old, new, sent = found
    _, task, attempt, *_ = plant.member.split("/")
    if sent is not None and min(old, new) <= sent:
        return None
    if not _nothing_between(members, task, int(attempt), old, new):
        return None
    return f"all that {task} did and noticed stands in the same order, be it at {old} or at {new} us"


def _changed_time(before: bytes, after: bytes, name: str) -> tuple[int, int, int | None] | None:
    """(old, new, what it must come after)."""
    suffix = name.rpartition(".")[2]
    if suffix == "rcv" and len(before) == len(after):
        pairs = zip(read_receipts(before), read_receipts(after), strict=True)
        changed = [(one, other) for (_, one), (_, other) in pairs if one != other]
        if len(changed) == 1 and changed[0][0].taken:
            one, other = changed[0]
            if replace(one, taken_us=0) == replace(other, taken_us=0):
                return one.taken_us, other.taken_us, one.received_us
    if suffix == "buf" and len(before) == len(after):
        frames = zip(read_buffers(before, epoch=0), read_buffers(after, epoch=0), strict=True)
        parted = [(one, other) for (_, one), (_, other) in frames if one != other]
        if len(parted) == 1 and replace(parted[0][0], t_us=0) == replace(parted[0][1], t_us=0):
            return parted[0][0].t_us, parted[0][1].t_us, None
    if suffix == "ndjson" and ("/sink/" in name or "/source/" in name):
        lines = zip(before.splitlines(), after.splitlines(), strict=False)
        other_lines = [(json.loads(one), json.loads(other)) for one, other in lines if one != other]
        if len(other_lines) == 1 and _but_time(other_lines[0][0]) == _but_time(other_lines[0][1]):
            return other_lines[0][0]["t_us"], other_lines[0][1]["t_us"], None
    return None


def _received_at_another_time(
    members: MemoryMembers, before: bytes, after: bytes, plant: Plant
) -> tuple[int, int, int | None] | None:
    """(old, new, when it was sent), where it was sent once and came to be received before it was taken."""
    if not plant.member.endswith(".rcv") or len(before) != len(after):
        return None
    pairs = zip(read_receipts(before), read_receipts(after), strict=True)
    changed = [(one, other) for (_, one), (_, other) in pairs if one != other]
    if len(changed) != 1 or replace(changed[0][0], received_us=0) != replace(changed[0][1], received_us=0):
        return None
    one, other = changed[0]
    _, task, _, folder, _ = plant.member.split("/")
    graph = bundle_of(members).graph
    channel = graph.channel(graph.task(task).inputs[int(folder.removeprefix("received-"))])
    sent = [
        sending.t_us
        for name, data in members.members.items()
        if name.startswith(f"tasks/{channel.source}/{one.sender_attempt}/sent-{channel.k}/") and name.endswith(".dlt")
        for _, sending in read_sendings(data)
        if (sending.seq, sending.sending) == (one.seq, one.sending)
    ]
    if len(sent) != 1 or (one.taken and not sent[0] < other.received_us <= one.taken_us):
        return None
    return one.received_us, other.received_us, sent[0]


# --- events ---


def _moved(members: MemoryMembers, events: list[Event], n: int, new: int) -> str | None:
    """Between its neighbours, its cause and what it is the cause of; and no member of its attempt tells it apart."""
    one, old = events[n], events[n]["t_us"]
    around = [events[k]["t_us"] for k in (n - 1, n + 1) if 0 <= k < len(events)]
    around += [events[one["re"]]["t_us"]] if isinstance(one.get("re"), int) else []
    around += [other["t_us"] for other in events if other.get("re") == n]
    if any(min(old, new) <= t_us <= max(old, new) for t_us in around):
        return None
    if any(min(old, new) <= t_us <= max(old, new) for t_us in times_with(members, one)):
        return None
    return f"it stands between the same events and deeds, be it at {old} or at {new} us"


def _swapped(members: MemoryMembers, events: list[Event], n: int, m: int) -> str | None:
    """Two that do not follow from one another happened to two that do not wait for one another."""
    one, other = events[n], events[m]
    if other.get("re") == n or _actor(one) == _actor(other):
        return None
    if any(_at_once(events, event) for event in (one, other)):
        return None
    if one["t_us"] != other["t_us"]:
        for event, new in ((one, other["t_us"]), (other, one["t_us"])):
            if _moved_past(members, events, event, new, {n, m}):
                return None
    return f"{_actor(one)} and {_actor(other)} did not wait for one another: either may have come first"


def _at_once(events: list[Event], one: Event) -> bool:
    """Whether it follows from another one in the same moment, or another one from it."""
    linked = [other for other in events if other.get("re") == one["n"] or other["n"] == one.get("re")]
    return any(other["t_us"] == one["t_us"] for other in linked)


def _actor(one: Event) -> tuple[object, ...]:
    """Who does one thing after the other. What arrives by different channels, or beside all else, has its own way."""
    if one.get("type") in (*ARRIVALS, *BESIDE) and one.get("at") is not None:
        return one["at"], one.get("attempt"), one["type"] in BESIDE, one.get("channel")
    if one.get("at") is None and one["type"] in ("restore-started", "state-restored"):
        return "standby", one.get("task"), one.get("host")
    if one.get("at") is None and one["type"] not in ("task-failed", "attempt-started"):
        return ("coordinator",)
    return one.get("at", one.get("task")), one.get("attempt")


def _moved_past(members: MemoryMembers, events: list[Event], event: Event, new: int, two: set[int]) -> bool:
    """Whether on its way to the other time it passes anything else that it has to do with."""
    old = event["t_us"]
    least, most = sorted((old, new))
    linked = [
        one for one in events if one["n"] not in two and (one.get("re") == event["n"] or one["n"] == event.get("re"))
    ]
    if any(least <= one["t_us"] <= most for one in linked):
        return True
    task, attempt = event.get("at", event.get("task")), event.get("attempt")
    if not isinstance(task, str) or not isinstance(attempt, int):
        return False
    own = [one["t_us"] for one in events_at(events, task, attempt) if one["n"] not in two]
    return any(least <= t_us <= most for t_us in (*own, *times_with(members, event)))
