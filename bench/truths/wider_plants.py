"""Faults that concern more than one frame, determinant or line: what is moved, copied, altered or gone as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

from bench.truths.plants import Members, Plant, spans_of
from replay.bundle.frames import NEVER, read_buffers, read_receipts, read_sendings
from replay.model import json_bytes, read_json

Changed = dict[str, bytes | None]
"""Members by what they become; None: gone."""
Change = Callable[[Random, Members], tuple[str, int, Changed] | None]
"""(member, where in it, all that is changed)"""

EVENTS, MANIFEST = "events.ndjson", "job.json"
_SINKS = ("plain", "transactional", "idempotent", "determinant")
_TOLD = ("n", "re", "rollback")
"""What names an event by its number."""


def planted_widely(kind: str, members: Members, seed: int) -> Plant | None:
    """None where the recording has nothing that it could be planted into."""
    found = WIDER[kind](Random(f"{kind} {seed}"), members)
    if found is None:
        return None
    name, offset, changed = found
    left = {one: data for one, data in {**members, **changed}.items() if data is not None}
    return None if left == dict(members) else Plant(kind, name, offset, left)


# --- what is there ---


def _names(members: Members, folder: str, suffix: str = "") -> list[str]:
    return [name for name in sorted(members) if f"/{folder}" in name and name.endswith(suffix) and members[name]]


def _lines(data: bytes) -> list[dict[str, Any]]:
    return [read_json(line) for line in data.splitlines()]


def _data(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json_bytes(line) + b"\n" for line in lines)


def _folders(members: Members, depth: int) -> list[str]:
    """`tasks/<task>/`, or with one more `tasks/<task>/<attempt>/`."""
    found = {"/".join(name.split("/")[:depth]) + "/" for name in members if name.startswith("tasks/")}
    return sorted(found)


def _without(events: list[dict[str, Any]], gone: int) -> list[dict[str, Any]]:
    """As if it had never been: no number is left out, and who refers to another one still does."""

    def told(event: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in event.items() if name not in _TOLD or value != gone}
        later = {name: kept[name] - 1 for name in _TOLD if type(kept.get(name)) is int and kept[name] > gone}
        return kept | later

    return [told(one) for one in events if one["n"] != gone]


# --- lines of sinks and sources ---


def _two_lines(draw: Random, members: Members) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """Of one task, and not the same."""
    names = _names(members, "sink/")
    if not names:
        return None
    task = draw.choice(names).split("/")[1]
    places = [(name, at) for name in names if name.split("/")[1] == task for at in range(len(_lines(members[name])))]
    if len(places) < 2:
        return None
    one, other = draw.sample(places, 2)
    return one, other


def sink_lines_swapped(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """Two of them stand in each other's place."""
    return _swapped(draw, members, None)


def sink_contents_swapped(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """What they say and follow from is in each other's place; numbers and times are not."""
    return _swapped(draw, members, ("record", "source"))


def _swapped(draw: Random, members: Members, fields: tuple[str, ...] | None) -> tuple[str, int, Changed] | None:
    found = _two_lines(draw, members)
    if found is None:
        return None
    (name, at), (other, where) = found
    lines = {one: _lines(members[one]) for one in (name, other)}
    a, b = lines[name][at], lines[other][where]
    taken = fields or tuple(a)
    lines[name][at] = {**a, **{one: b[one] for one in taken if one in b}} if fields else b
    lines[other][where] = {**b, **{one: a[one] for one in taken if one in a}} if fields else a
    return name, 0, {one: _data(data) for one, data in lines.items()}


def _moved(folder: str, suffix: str) -> Change:
    """The last of them in an epoch's member stands at the beginning of the next one."""

    def moved(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
        names = _names(members, folder, suffix)
        pairs = [(a, b) for a, b in pairwise(names) if a.rpartition("/")[0] == b.rpartition("/")[0]]
        if not pairs:
            return None
        one, other = draw.choice(pairs)
        begin, end = spans_of(one, members[one])[-1]
        moved = members[one][begin:end]
        return one, begin, {one: members[one][:begin] or None, other: moved + members[other]}

    return moved


def sink_lineage_altered(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """It names another record that it came of."""
    names = _names(members, "sink/")
    if not names:
        return None
    name = draw.choice(names)
    lines = _lines(members[name])
    line = draw.choice(lines)
    if not line.get("source"):
        return None
    named = draw.choice(line["source"])
    named[1] += draw.choice((-1, 1)) if named[1] else 1
    return name, 0, {name: _data(lines)}


def buffer_lineage_altered(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """A record in a buffer names another one that it came of, in as many bytes."""
    names = _names(members, "sent-", ".buf")
    draw.shuffle(names)
    for name in names:
        found = list(re.finditer(rb'\["[^"\[\]]+",(\d+)\]\]\]', members[name]))
        if found:
            at = draw.choice(found).end(1) - 1
            digit = str((members[name][at] - 0x30 + draw.randrange(1, 9)) % 10).encode()
            return name, at, {name: members[name][:at] + digit + members[name][at + 1 :]}
    return None


def line_value_altered(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """A source's record or an output says something else."""
    names = [*_names(members, "source/"), *_names(members, "sink/")]
    if not names:
        return None
    name = draw.choice(names)
    lines = _lines(members[name])
    line = draw.choice(lines)
    if "record" not in line:
        return None
    line["record"][2] = {"never": "said"}
    return name, 0, {name: _data(lines)}


def sink_field_altered(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """Another transaction, or another id."""
    names = _names(members, "sink/")
    draw.shuffle(names)
    for name in names:
        lines = _lines(members[name])
        for line in draw.sample(lines, len(lines)):
            if line.get("txn") is not None:
                line["txn"] += draw.choice((-1, 1))
                return name, 0, {name: _data(lines)}
            if line.get("id") is not None:
                line["id"] = draw.choice(lines)["id"] if draw.random() < 0.5 else line["id"] + "'"
                return name, 0, {name: _data(lines)}
    return None


# --- attempts, tasks, epochs ---


def attempt_copied(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """A folder of an attempt stands a second time, behind the last one."""
    return _copied(draw, members, ("",))


def attempt_of_sink_copied(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """What an attempt of a sink gave out stands a second time, as another attempt's."""
    return _copied(draw, members, ("sink/",))


def _copied(draw: Random, members: Members, folders: tuple[str, ...]) -> tuple[str, int, Changed] | None:
    attempts = [one for one in _folders(members, 3) if any(n.startswith(one + folders[0]) for n in members)]
    if not attempts:
        return None
    one = draw.choice(attempts)
    task = one.rsplit("/", 2)[0]
    last = max(int(each.split("/")[2]) for each in _folders(members, 3) if each.startswith(task + "/"))
    copies: Changed = {
        f"{task}/{last + 1}/{name[len(one) :]}": data
        for name, data in members.items()
        if name.startswith(tuple(one + folder for folder in folders))
    }
    return next(iter(copies)), 0, copies


def attempt_gone(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """An attempt's whole folder."""
    return _gone(draw.choice(_folders(members, 3)), members)


def task_gone(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """A task's whole folder."""
    return _gone(draw.choice(_folders(members, 2)), members)


def _gone(folder: str, members: Members) -> tuple[str, int, Changed] | None:
    names = [name for name in sorted(members) if name.startswith(folder)]
    return names[0], 0, dict.fromkeys(names)


def epoch_of_attempt_gone(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """All members of one epoch in one attempt's folder, but for snapshots."""
    folder = draw.choice(_folders(members, 3))
    names = [n for n in sorted(members) if n.startswith(folder) and members[n] and "/state/" not in n]
    if not names:
        return None
    last = draw.choice(names).rpartition("/")[2].partition(".")[0]
    gone = [name for name in names if name.rpartition("/")[2].partition(".")[0] == last]
    return gone[0], 0, dict.fromkeys(gone)


def last_epoch_gone(_draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """All members of the last epoch of all tasks."""
    numbers = {n: int(n.rpartition("/")[2].partition(".")[0]) for n in members if re.search(r"/\d+\.(?!json)", n)}
    last = max(numbers.values(), default=0)
    gone = [name for name, number in sorted(numbers.items()) if number == last and members[name]]
    return (gone[0], 0, dict.fromkeys(gone)) if last and gone else None


def state_of_another(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """Two snapshots stand in each other's place."""
    by_task: dict[str, list[str]] = {}
    for name in _names(members, "state/"):
        by_task.setdefault(name.split("/")[1], []).append(name)
    several = [names for names in by_task.values() if len({members[one] for one in names}) > 1]
    if not several:
        return None
    one, other = draw.sample(draw.choice(several), 2)
    return one, 0, {one: members[other], other: members[one]}


# --- events and manifest ---


def event_never_was(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """An event is gone, and those behind it have its number."""
    events = _lines(members[EVENTS])
    telling = [one for one in events if not one["type"].startswith(("metric", "checkpoint-ack", "checkpoint-not"))]
    gone = draw.choice(telling or events)["n"]
    return EVENTS, gone, {EVENTS: _data(_without(events, gone))}


def commit_never_was(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """Of what committed or sealed a transaction nothing is told."""
    events = _lines(members[EVENTS])
    commits = [one["n"] for one in events if one["type"] in ("epoch-committed", "epoch-precommitted", "epoch-aborted")]
    if not commits:
        return None
    gone = draw.choice(commits)
    return EVENTS, gone, {EVENTS: _data(_without(events, gone))}


def cut_at_an_event(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """Events end somewhere, and the manifest says that the recording is not complete."""
    name, at, changed = _cut(draw, members)
    manifest = read_json(members[MANIFEST])
    return name, at, {**changed, MANIFEST: json_bytes({**manifest, "complete": False})}


def cut_and_complete(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """Events end somewhere, and the manifest calls the recording complete."""
    return _cut(draw, members)


def _cut(draw: Random, members: Members) -> tuple[str, int, Changed]:
    lines = members[EVENTS].splitlines(keepends=True)
    at = draw.randrange(1, len(lines))
    return EVENTS, at, {EVENTS: b"".join(lines[:at])}


def sink_kind_altered(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """The manifest says that the sink is of another kind."""
    manifest = read_json(members[MANIFEST])
    known = manifest["protocol"].get("sink", "plain")
    manifest["protocol"]["sink"] = draw.choice([one for one in _SINKS if one != known])
    return MANIFEST, 0, {MANIFEST: json_bytes(manifest)}


def wall_clocks_apart(draw: Random, members: Members) -> tuple[str, int, Changed] | None:
    """The manifest says that hosts have clocks of their own: nothing need be wrong."""
    manifest = read_json(members[MANIFEST])
    manifest["clock"]["kind"] = "wall"
    skew_us = {task["id"]: draw.randrange(5_000_000) for task in manifest["tasks"]}
    events = [
        {**one, "t_us": one["t_us"] + skew_us.get(one.get("at") or one.get("task"), 0)}
        for one in _lines(members[EVENTS])
    ]
    changed: Changed = {MANIFEST: json_bytes(manifest), EVENTS: _data(events)}
    for name in members:
        if name.startswith("tasks/"):
            changed[name] = _later(name, members[name], skew_us[name.split("/")[1]])
    return EVENTS, 0, changed


def _later(name: str, data: bytes, by_us: int) -> bytes:
    """All that a task wrote, by its clock."""
    if name.endswith(".ndjson") and ("/source/" in name or "/sink/" in name):
        return _data([{**one, "t_us": one["t_us"] + by_us} for one in _lines(data)])
    if name.endswith(".buf"):
        return b"".join(replace(one, t_us=one.t_us + by_us).to_bytes() for _, one in read_buffers(data, epoch=0))
    if name.endswith(".dlt"):
        return b"".join(replace(one, t_us=one.t_us + by_us).to_bytes() for _, one in read_sendings(data))
    if name.endswith(".rcv"):
        receipts = [one for _, one in read_receipts(data)]
        return b"".join(
            replace(
                one, received_us=one.received_us + by_us, taken_us=one.taken_us + by_us if one.taken else NEVER
            ).to_bytes()
            for one in receipts
        )
    return data


WIDER: dict[str, Change] = {
    "sink lines swapped": sink_lines_swapped,
    "sink contents swapped": sink_contents_swapped,
    "sink line in the next epoch": _moved("sink/", ".ndjson"),
    "source line in the next epoch": _moved("source/", ".ndjson"),
    "determinant in the next epoch": _moved("", ".det"),
    "buffer in the next epoch": _moved("sent-", ".buf"),
    "receipt in the next epoch": _moved("received-", ".rcv"),
    "sending in the next epoch": _moved("sent-", ".dlt"),
    "sink lineage altered": sink_lineage_altered,
    "buffer lineage altered": buffer_lineage_altered,
    "line value altered": line_value_altered,
    "transaction or id altered": sink_field_altered,
    "attempt copied": attempt_copied,
    "attempt of sink copied": attempt_of_sink_copied,
    "attempt gone": attempt_gone,
    "task gone": task_gone,
    "epoch of an attempt gone": epoch_of_attempt_gone,
    "last epoch gone": last_epoch_gone,
    "state of another": state_of_another,
    "event never was": event_never_was,
    "commit never was": commit_never_was,
    "cut at an event": cut_at_an_event,
    "cut, called complete": cut_and_complete,
    "sink kind altered": sink_kind_altered,
    "wall clocks apart": wall_clocks_apart,
}
