"""A group of recoveries in sentences, and the equations' terms beside what each part of them took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dashboard.measures import duration, moment, share

TOLD_AT_MOST = 4


class Part(NamedTuple):
    """One part of a recovery: its number stands for it wherever there is no room for the name."""

    number: int
    name: str
    colour: str
    meaning: str


PARTS = {
    "detection": Part(1, "detection", "detection", "until somebody noticed"),
    "start": Part(2, "standby or reschedule", "activation", "until its successor began"),
    "download": Part(3, "restore", "restoring", "until its state was there"),
    "connect": Part(4, "connections", "connections", "until its channels were connected"),
    "ask": Part(5, "determinants", "determinants", "until its determinants had come"),
    "replay": Part(6, "replay", "replaying", "until all was done again"),
    "catch-up": Part(7, "catch-up", "catching-up", "until nothing waited any more"),
}


def said(group: Mapping[str, Any], suspected: frozenset[int] = frozenset()) -> list[str]:
    """What happened, the first that failed first."""
    failed = [lane for lane in group["lanes"] if lane["rollback"] is None]
    along = [lane for lane in group["lanes"] if lane["rollback"] is not None]
    lines = [" ".join(_of_lane(lane, suspected)) for lane in failed[:TOLD_AT_MOST]]
    if len(failed) > TOLD_AT_MOST:
        lines.append(f"{len(failed) - TOLD_AT_MOST:,} more failed with them; each has its lane below.")
    if along:
        lines.append(_along(along))
    if len({group["lanes"][wait["lane"]]["task"] for wait in group["path"]}) > 1:
        lines.append(_path(group))
    return lines


def _of_lane(lane: Mapping[str, Any], suspected: frozenset[int]) -> Iterator[str]:
    parts = lane["parts"]
    how = "was suspected" if lane["failure"] in suspected else "failed"
    noticed = f"; noticed after {duration(parts['detection'])}" if "detection" in parts else ""
    yield f"{lane['task']} {how} at {moment(lane['begun_us'])}{noticed}."
    if "start" in parts:
        yield f"{_who(lane)}{_then(parts)}."
    if lane["done_us"] is not None:
        yield f"All that was lost was done again {duration(lane['done_us'] - lane['begun_us'])} after the failure."
    elif lane["ended_by"]:
        yield f"A {lane['ended_by']} ended that at {moment(lane['ended_us'])}, before it was done."
    else:
        yield f"When all was done again can't be said: the recording lacks {lane['lacking']}."
    if lane["caught_up_us"] is not None:
        after_us = lane["caught_up_us"] - lane["done_us"]
        yield "Nothing waited by then." if not after_us else f"{duration(after_us)} later nothing waited any more."


def _who(lane: Mapping[str, Any]) -> str:
    after_us = lane["parts"]["start"]
    if lane["rolled_back"]:
        return f"All tasks were rolled back to checkpoint {lane['checkpoint']}; its new attempt began" + _after(
            after_us
        )
    if lane["standby"]:
        return "The standby took over" + (" at once" if not after_us else _after(after_us))
    return "It was scheduled anew" + _after(after_us)


def _after(us: int) -> str:
    return f" {duration(us)} later"


def _then(parts: Mapping[str, int]) -> str:
    told = [
        f"{words} {duration(parts[part])}"
        for part, words in (
            ("download", "loaded its state in"),
            ("connect", "was connected after"),
            ("ask", "had its determinants after"),
            ("replay", "replayed for"),
        )
        if parts.get(part)
    ]
    return "".join(f", {one}" for one in told)


def _along(along: Sequence[Mapping[str, Any]]) -> str:
    tasks = sorted({lane["task"] for lane in along})
    done = [lane for lane in along if lane["done_us"] is not None]
    noun = "task was" if len(tasks) == 1 else "tasks were"
    text = f"{len(tasks):,} {noun} rolled back to checkpoint {along[0]['checkpoint']} at {moment(along[0]['begun_us'])}"
    if not done:
        return f"{text}."
    last = max(done, key=lambda lane: int(lane["done_us"]))
    return f"{text}; {last['task']} was the last to have done all again, at {moment(last['done_us'])}."


def _path(group: Mapping[str, Any]) -> str:
    lanes, path = group["lanes"], group["path"]
    order = list(dict.fromkeys(lanes[wait["lane"]]["task"] for wait in path))
    whole_us = path[-1]["to_us"] - path[0]["from_us"]
    longest = max(path, key=lambda wait: int(wait["to_us"]) - int(wait["from_us"]))
    part = f"{PARTS[longest['part']].name} of {lanes[longest['lane']]['task']}"
    took = share(longest["to_us"] - longest["from_us"], whole_us)
    return f"The chain of waits that made it as long goes over {_and(order)}; {took} of it is the {part}."


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class Term(NamedTuple):
    """A term of the equations. `parts`: those that it speaks of; `model_us`: what the recording's numbers come to."""

    symbol: str
    meaning: str
    parts: tuple[str, ...]
    model_us: float | None
    from_what: tuple[str, ...]
    of_the_paper: bool = True


def terms(told: Mapping[str, Any], *, standby: bool) -> list[Term]:
    """In the order in which the parts come; without a model they say what they mean, and no number."""
    known, model = told["parameters"], (told["model"] or {}).get("terms", {})
    interval_us = None if known is None else known["interval_us"] / 2 * known["load"]
    older_us = None if known is None else known["checkpoint_us"] * known["load"]
    trips = ("start", "connect", "ask") if standby else ("connect", "ask")
    anew = [] if standby else [
        Term("S", "a place for the task", ("start",), model.get("start_us"), ("start_us",)),
        Term("SSD", "its state's download", ("download",), model.get("download_us"), _DOWNLOAD),
    ]  # fmt: skip
    return [
        Term("noticed", "", ("detection",), model.get("detection_us"), ("detection_us",), of_the_paper=False),
        *anew,
        Term("3·RTT", "told, connected, asked", trips, model.get("round_trips_us"), ("rtt_us",)),
        Term("CI/2·L", "half an interval, at that load", ("replay",), interval_us, ("interval_us", "load")),
        Term("+ checkpoint·L", "and as long as one takes", (), older_us, ("checkpoint_us",), of_the_paper=False),
    ]


_DOWNLOAD = ("state_bytes", "download_bytes_per_s")
