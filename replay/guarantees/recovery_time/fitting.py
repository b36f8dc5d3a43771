"""The parameters of the equations, fitted to what a recording tells of all its recoveries and checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Any

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event, Story
from replay.guarantees.recovery_time.model import Parameters
from replay.guarantees.recovery_time.phases import GAPS, Recovery
from replay.guarantees.recovery_time.places import Places, pace_of

_FEWEST_APART = 3
_SPREAD = 2
"""Sizes of which the largest is not so many times the smallest tell nothing of how time grows with them."""
ROUND_TRIP_PARTS = ("start", "connect", "ask")
"""Each is one round trip, where a standby takes over; the first is S as well, where none does."""


@dataclass(slots=True)
class Fitted:
    """`how`: of each parameter where its number comes from; `lacking`: of those that nothing tells, what would.
    `known`: those that are told, also where they are too few to predict by."""

    parameters: Parameters | None = None
    known: dict[str, float] = field(default_factory=dict)
    loads: dict[str, float] = field(default_factory=dict)
    how: dict[str, str] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)


def fitted(source: RecordingSource, story: Story, found: Sequence[Recovery]) -> Fitted:
    """What can be said; without an interval and a load there are no parameters."""
    one = Fitted()
    interval_us = _interval_us(source, story, one)
    load = _load(source, found, one)
    values: dict[str, float | None] = {
        "interval_us": interval_us,
        "load": load,
        "rtt_us": _rtt_us(story, found, one),
        "detection_us": _mean_of(one, "detection_us", found, "detection", "events.ndjson: failure-detected"),
        "checkpoint_us": _checkpoint_us(story, one),
    }
    values |= _downloads(story, found, one)
    values["start_us"] = _start_us(found, values["rtt_us"], one)
    one.known = {name: value for name, value in values.items() if value is not None}
    one.known["standby"] = _standby(source, found)
    if interval_us is not None and load is not None:
        one.parameters = Parameters.from_json(one.known)
    return one


def _standby(source: RecordingSource, found: Sequence[Recovery]) -> bool:
    """As recoveries were, most of them; where there were none, as the manifest says."""
    told = [one.standby for one in found if one.standby is not None]
    return sum(told) * 2 >= len(told) if told else source.manifest.protocol.standby > 0


def _interval_us(source: RecordingSource, story: Story, one: Fitted) -> float | None:
    """As checkpoints were triggered while nothing failed; where that is too little to tell, as the manifest has it."""
    apart, told_ms = _apart_us(story), source.manifest.protocol.checkpoint_interval_ms
    if apart and (len(apart) >= _FEWEST_APART or not told_ms):
        one.how["interval_us"] = _said_mean(len(apart), "distances between checkpoints that were triggered")
        return fmean(apart)
    if told_ms:
        one.how["interval_us"] = "the manifest's checkpoint_interval_ms"
        return told_ms * 1000.0
    one.lacking["interval_us"] = "job.json: protocol.checkpoint_interval_ms"
    return None


def _apart_us(story: Story) -> list[int]:
    """Between checkpoints with no failure and no other end of one between them: after a failure there is a back-off."""
    times: list[int | None] = []
    for event in _in_order(story):
        kind, t_us = event.get("type"), event.get("t_us")
        if kind == "checkpoint-triggered" and type(t_us) is int:
            times.append(t_us)
        elif kind in ("task-failed", "checkpoint-aborted", "global-rollback"):
            times.append(None)
    return [after - before for before, after in pairwise(times) if before is not None and after is not None]


def _in_order(story: Story) -> list[Event]:
    return [story.by_number[n] for n in sorted(story.by_number)]


def _checkpoint_us(story: Story, one: Fitted) -> float | None:
    begun: dict[Any, int] = {}
    took = []
    for event in _in_order(story):
        kind, checkpoint, t_us = event.get("type"), event.get("checkpoint"), event.get("t_us")
        if type(t_us) is not int:
            continue
        if kind == "checkpoint-triggered":
            begun[checkpoint] = t_us
        elif kind == "checkpoint-completed" and checkpoint in begun:
            took.append(t_us - begun[checkpoint])
    return _mean(one, "checkpoint_us", took, "checkpoints that completed", "events.ndjson: checkpoint-completed")


def _said_mean(count: int, what: str) -> str:
    return f"the mean of {count} {what}" if count > 1 else f"{what}, of which there is one"


def _mean(one: Fitted, name: str, values: Sequence[float], what: str, wants: str) -> float | None:
    if not values:
        one.lacking[name] = wants
        return None
    one.how[name] = _said_mean(len(values), what)
    return fmean(values)


def _mean_of(one: Fitted, name: str, found: Iterable[Recovery], part: str, wants: str) -> float | None:
    return _mean(one, name, [each.parts[part] for each in found if part in each.parts], "recoveries", wants)


def _rtt_us(story: Story, found: Sequence[Recovery], one: Fitted) -> float | None:
    trips = [
        each.parts[part]
        for each in found
        for part in ROUND_TRIP_PARTS
        if each.parts.get(part) and not (part == "start" and not each.standby) and not each.rolled_back
    ]
    if not trips:
        return _mean(one, "rtt_us", _wire_us(story), "requests that arrived, twice", "events.ndjson: recovery-state")
    return _mean(one, "rtt_us", trips, "round trips of recoveries", "")


def _wire_us(story: Story) -> list[int]:
    """There and back, from requests: when they were made, and when they came."""
    found = []
    for event in _in_order(story):
        of = event.get("re")
        asked = story.by_number.get(of, {}) if isinstance(of, int) else {}
        if str(event.get("type")).endswith("-request-received") and str(asked.get("type")).endswith("-requested"):
            times = event.get("t_us"), asked.get("t_us")
            if type(times[0]) is int and type(times[1]) is int and times[0] >= times[1]:
                found.append(2 * (times[0] - times[1]))
    return found


def _start_us(found: Sequence[Recovery], rtt_us: float | None, one: Fitted) -> float | None:
    """S: what is left of the time until it starts, without the round trip to tell it."""
    anew = [
        max(0.0, each.parts["start"] - (rtt_us or 0.0)) for each in found if "start" in each.parts and not each.standby
    ]
    return _mean(one, "start_us", anew, "tasks that were scheduled anew", "a recovery without a standby")


def _downloads(story: Story, found: Sequence[Recovery], one: Fitted) -> dict[str, float | None]:
    """A line through bytes and times of all restores, also those of standbys that took over nothing."""
    pairs = _restores(story)
    sizes = [size for size, _ in pairs]
    last = {each.task: each.checkpoint for each in found}
    lost = [
        size for event in _restored(story) if (size := _size(event)) and event.get("checkpoint") == last.get(_of(event))
    ]
    bytes_ = fmean(lost) if lost else fmean(sizes) if sizes else None
    if bytes_ is None:
        one.lacking["state_bytes"] = one.lacking["download_bytes_per_s"] = "events.ndjson: state-restored"
        return {}
    one.how["state_bytes"] = "the mean of what was restored"
    if not pairs:
        one.lacking["download_bytes_per_s"] = "events.ndjson: restore-started"
        return {"state_bytes": bytes_}
    fixed_us, rate, one.how["download_bytes_per_s"] = _line(pairs)
    return {"state_bytes": bytes_, "restore_us": fixed_us, "download_bytes_per_s": rate}


def _restored(story: Story) -> list[Event]:
    return [event for event in _in_order(story) if event.get("type") == "state-restored"]


def _size(event: Event) -> int:
    size = event.get("bytes")
    return size if type(size) is int else 0


def _of(event: Event) -> str:
    return str(event.get("task"))


def _restores(story: Story) -> list[tuple[int, int]]:
    """(bytes, microseconds) of those whose beginning is named; a standby's that was there already took no time."""
    found = []
    for event in _restored(story):
        begun = story.by_number.get(event.get("re", -1))
        times = event.get("t_us"), None if begun is None else begun.get("t_us")
        if begun is None or begun.get("type") != "restore-started" or type(times[0]) is not int:
            continue
        if type(times[1]) is int and times[0] > times[1]:
            found.append((_size(event), times[0] - times[1]))
    return found


def _line(pairs: Sequence[tuple[int, int]]) -> tuple[float | None, float | None, str]:
    """What a restore takes at least, and bytes per second beyond it. Of sizes that are about the same, or where time
    does not grow with them, all of it is put down to the bytes."""
    mean_bytes, mean_us = fmean(size for size, _ in pairs), fmean(us for _, us in pairs)
    sizes = [size for size, _ in pairs]
    if max(sizes) >= _SPREAD * max(1, min(sizes)):
        spread = sum((size - mean_bytes) ** 2 for size, _ in pairs)
        slope = sum((size - mean_bytes) * (us - mean_us) for size, us in pairs) / spread
        fixed_us = mean_us - slope * mean_bytes
        if slope > 0 and fixed_us >= 0:
            return fixed_us, 1e6 / slope, f"a line through {len(pairs)} restores"
    if not mean_bytes:
        return mean_us, None, _said_mean(len(pairs), "restores of nothing")
    return 0.0, mean_bytes * 1e6 / mean_us, _said_mean(len(pairs), "restores") + ", all of it put down to bytes"


def _load(source: RecordingSource, found: Sequence[Recovery], one: Fitted) -> float | None:
    """Of the tasks that failed, before they did: how much of its time each was at work."""
    if source.manifest.protocol.name == GAPS:
        one.how["load"] = "0, as nothing is done again"
        return 0.0
    for each in found:
        places = Places(source, each.task, 0)
        since_us = max(0, each.failed_us - (each.age_us or each.failed_us))
        again = next((takes for k in (0, 1) if (takes := places.takes(each.attempt + k))), [])
        pace = pace_of(places.takes(each.attempt - 1), since_us, each.failed_us, again)
        if pace is not None:
            one.loads[str(each.failure)] = pace.load
    return _mean(
        one,
        "load",
        list(one.loads.values()),
        "attempts that failed, of how much of their time they were at work",
        "tasks/<task>/<attempt>/received-*: buffers that waited while others were taken",
    )
