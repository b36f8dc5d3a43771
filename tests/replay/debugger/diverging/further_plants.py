"""More corruptions, and all kinds of them in the recordings of random command lines of `record`.

`python -m tests.replay.debugger.diverging.further_plants --plants 300 --first 50000 --show` prints the table.
"""

from __future__ import annotations

import argparse
import json
import random
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from replay.bundle.frames import RECEIPT_BYTES, read_buffers, read_receipts
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.errors import PoolExhausted, WrongSetting
from replay.log.codec import decode_all
from replay.log.determinants import BufferBuilt, Rng
from replay.simulation.commands import random_options
from replay.simulation.replays import recorded
from tests.replay.debugger.diverging.plants import (
    EVENTS,
    PLANTERS,
    Plant,
    Planter,
    _events,
    _sendings,
    _with_events,
    changed_byte,
    judged,
    not_noticed,
    some,
    verdict_of,
)
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

MANIFEST = "job.json"
SUFFIXES = (".det", ".buf", ".dlt", ".rcv", ".ndjson")
Span = tuple[int, int]


def spans_of(name: str, data: bytes) -> list[Span]:
    """Where the records of a member stand, whatever its kind."""
    if name.endswith(".det"):
        return [(at, at + length) for at, length, _ in decode_all(data)]
    if name.endswith(".dlt"):
        return [(start, end) for start, _, end in _sendings(data)]
    if name.endswith(".rcv"):
        return [(at, at + RECEIPT_BYTES) for at, _ in read_receipts(data)]
    if name.endswith(".buf"):
        starts = [at for at, _ in read_buffers(data, epoch=0)]
        return list(zip(starts, [*starts[1:], len(data)], strict=True))
    found, at = [], 0
    for line in data.splitlines(keepends=True):
        found.append((at, at + len(line)))
        at += len(line)
    return found


def of_any_kind(rng: random.Random, members: MemoryMembers, least: int = 1) -> tuple[str, list[Span]] | None:
    name = some(rng, members, rng.choice(SUFFIXES))
    if name is None:
        return None
    spans = spans_of(name, members.members[name])
    return (name, spans) if len(spans) >= least else None


def snapshot_byte(rng: random.Random, members: MemoryMembers) -> Plant | None:
    name = some(rng, members, ".json", "state")
    if name is None:
        return None
    data = members.members[name]
    made = changed_byte(data, rng.randrange(len(data)), rng)
    return Plant("byte of a snapshot", name, 0, len(data), members.with_(name, made))


def sending_head(rng: random.Random, members: MemoryMembers) -> Plant | None:
    name = some(rng, members, ".dlt", "sent-")
    if name is None:
        return None
    data = members.members[name]
    start, body, end = rng.choice(_sendings(data))
    made = changed_byte(data, rng.randrange(start, body), rng)
    return Plant("head of a sending", name, start, end, members.with_(name, made))


def neighbours_swapped(rng: random.Random, members: MemoryMembers) -> Plant | None:
    found = of_any_kind(rng, members, 2)
    if found is None:
        return None
    name, spans = found
    k = rng.randrange(len(spans) - 1)
    (a, b), (_, d) = spans[k], spans[k + 1]
    data = members.members[name]
    made = data[:a] + data[b:d] + data[a:b] + data[d:]
    kind = f"swapped in {name.rpartition('.')[2]}"
    return None if made == data else Plant(kind, name, a, d, members.with_(name, made))


def record_repeated(rng: random.Random, members: MemoryMembers) -> Plant | None:
    found = of_any_kind(rng, members)
    if found is None:
        return None
    name, spans = found
    a, b = rng.choice(spans)
    data = members.members[name]
    made = data[:b] + data[a:b] + data[b:]
    end = b
    while made[end : end + b - a] == data[a:b]:
        end += b - a
    return Plant(f"repeated in {name.rpartition('.')[2]}", name, a, end, members.with_(name, made))


def record_torn(rng: random.Random, members: MemoryMembers) -> Plant | None:
    """A member that ends in the midst of a record."""
    found = of_any_kind(rng, members)
    if found is None:
        return None
    name, spans = found
    a, b = rng.choice(spans)
    if b - a < 2:
        return None
    at = rng.randrange(a + 1, b)
    data = members.members[name]
    return Plant(f"torn {name.rpartition('.')[2]}", name, a, len(data), members.with_(name, data[:at]))


def member_of_another_task(rng: random.Random, members: MemoryMembers) -> Plant | None:
    one = some(rng, members, rng.choice((*SUFFIXES, ".json")))
    if one is None:
        return None
    data = members.members
    suffix, folder = one.rpartition(".")[2], one.split("/")[3].rstrip("0123456789-")
    others = [
        n
        for n, d in data.items()
        if n.startswith("tasks/")
        and n.split("/")[1] != one.split("/")[1]
        and n.endswith(suffix)
        and n.split("/")[3].startswith(folder)
        and d
        and d != data[one]
    ]
    if not others:
        return None
    return Plant("another task's member", one, 0, 1 << 60, members.with_(one, data[rng.choice(others)]))


def determinant_kind(rng: random.Random, members: MemoryMembers) -> Plant | None:
    """A buffer-built determinant and a random number are as long as one another."""
    name = some(rng, members, ".det")
    if name is None:
        return None
    data = members.members[name]
    places = [at for at, _, one in decode_all(data) if isinstance(one, BufferBuilt | Rng)]
    if not places:
        return None
    at = rng.choice(places)
    made = data[:at] + bytes([data[at] ^ 5]) + data[at + 1 :]
    return Plant("determinant's kind", name, at, at + 5, members.with_(name, made))


def epoch_of_member(rng: random.Random, members: MemoryMembers) -> Plant | None:
    """A member is filed under another epoch, as if that had been its number."""
    name = some(rng, members, rng.choice((*SUFFIXES, ".json")))
    if name is None:
        return None
    folder, _, last = name.rpartition("/")
    epoch, _, suffix = last.partition(".")
    other = f"{folder}/{int(epoch) + rng.choice((1, 2, -1))}.{suffix}"
    if "-" in other.rpartition("/")[2] or members.members.get(other) == members.members[name]:
        return None
    data = dict(members.members)
    moved = data.pop(name)
    if other in data:
        data[name] = data[other]
    data[other] = moved
    return Plant("member's epoch", name, 0, 1 << 60, MemoryMembers(data), also=(other,))


def deltas_epoch(rng: random.Random, members: MemoryMembers) -> Plant | None:
    """The epoch that a delta message says it is of."""
    name = some(rng, members, ".dlt", "sent-")
    if name is None:
        return None
    data = members.members[name]
    full = [one for one in _sendings(data) if one[2] > one[1]]
    if not full:
        return None
    start, body, end = rng.choice(full)
    at = body + 4
    epoch = int.from_bytes(data[at : at + 8], "big") + 1
    made = data[:at] + epoch.to_bytes(8, "big") + data[at + 8 :]
    return Plant("delta's epoch", name, start, end, members.with_(name, made))


def any_event(rng: random.Random, members: MemoryMembers) -> dict[str, Any] | None:
    events = [one for one in _events(members) if one["type"] != "metric"]
    if not events:
        return None
    kind = rng.choice(sorted({one["type"] for one in events}))
    return rng.choice([one for one in events if one["type"] == kind])


def _events_plant(
    kind: str, members: MemoryMembers, events: list[dict[str, Any]], start: int, end: int, words: tuple[str, ...] = ()
) -> Plant:
    numbers = tuple(f"vent {n}{after}" for n in range(start, end) for after in (" ", ":", ",", ".", ")"))
    return Plant(kind, EVENTS, start, end, _with_events(members, events), (*words, *numbers))


def any_event_removed(rng: random.Random, members: MemoryMembers) -> Plant | None:
    victim = any_event(rng, members)
    if victim is None:
        return None
    kept = []
    for one in _events(members):
        if one["n"] == victim["n"]:
            continue
        for name in ("n", "re", "rollback"):
            if isinstance(one.get(name), int) and one[name] > victim["n"]:
                one[name] -= 1
        kept.append(one)
    return _events_plant(
        f"removed: {victim['type']}", members, kept, victim["n"], victim["n"] + 1, (str(victim["type"]),)
    )


def any_event_altered(rng: random.Random, members: MemoryMembers) -> Plant | None:
    victim = any_event(rng, members)
    if victim is None:
        return None
    fields = sorted(victim.keys() - {"n", "t_us", "type"})
    if not fields:
        return None
    field, events = rng.choice(fields), _events(members)
    value = victim[field]
    others = sorted(
        {one[field] for one in events if isinstance(one.get(field), str)} - {value} if isinstance(value, str) else ()
    )
    if isinstance(value, bool):
        changed: Any = not value
    elif isinstance(value, int):
        changed = max(0, value + rng.choice((-1, 1, 1, 5)))
    elif isinstance(value, str):
        changed = rng.choice(others) if others else value + "x"
    elif isinstance(value, list) and value:
        changed = value[:-1]
    else:
        return None
    if changed == value:
        return None
    events[victim["n"]][field] = changed
    return _events_plant(
        f"altered: {victim['type']}.{field}", members, events, victim["n"], victim["n"] + 1, (f"{victim['type']} ",)
    )


def events_swapped(rng: random.Random, members: MemoryMembers) -> Plant | None:
    """Two neighbours in each other's place, with the times and numbers of those places."""
    events = _events(members)
    if len(events) < 2:
        return None
    k = rng.randrange(len(events) - 1)
    one, other = events[k], events[k + 1]
    events[k] = {**other, "n": k, "t_us": one["t_us"]}
    events[k + 1] = {**one, "n": k + 1, "t_us": other["t_us"]}
    for event in events:
        for name in ("re", "rollback"):
            if event.get(name) in (k, k + 1):
                event[name] = 2 * k + 1 - event[name]
    return _events_plant("events swapped", members, events, k, k + 2)


def event_moved(rng: random.Random, members: MemoryMembers) -> Plant | None:
    """Another time, and another place in the order that goes with it or not."""
    victim = any_event(rng, members)
    if victim is None:
        return None
    events = _events(members)
    events[victim["n"]]["t_us"] = max(0, victim["t_us"] + rng.choice((-1, 1)) * 10 ** rng.randrange(2, 6))
    if events[victim["n"]]["t_us"] == victim["t_us"]:
        return None
    near = max(0, victim["n"] - 1)
    return _events_plant(f"moved: {victim['type']}", members, events, near, victim["n"] + 2, (str(victim["type"]),))


def manifest_altered(rng: random.Random, members: MemoryMembers) -> Plant | None:
    manifest = json.loads(members.members[MANIFEST])
    places: list[tuple[str, Any, Any]] = []
    for section in ("protocol", "clock"):
        places += [(f"{section}.{key}", manifest[section], key) for key in manifest[section]]
    for vertex in manifest["vertices"]:
        places += [(f"vertex.{key}", vertex, key) for key in vertex if key not in ("id", "parallelism")]
        places += [(f"options.{key}", vertex["options"], key) for key in vertex.get("options", {})]
        places += [(f"services.{key}", vertex["services"], key) for key in vertex.get("services", {})]
    for task in manifest["tasks"]:
        places += [("task.number", task, "number"), ("task.inputs", task, "inputs"), ("task.outputs", task, "outputs")]
    places += [("edge.ship", edge, "ship") for edge in manifest["edges"]]
    kind = rng.choice(sorted({one[0] for one in places}))
    _, holder, key = rng.choice([one for one in places if one[0] == kind])
    value = holder[key]
    changed = _another(rng, kind, value)
    if changed is None or changed == value:
        return None
    holder[key] = changed
    data = json.dumps(manifest, separators=(",", ":"), ensure_ascii=False).encode()
    return Plant(f"manifest: {kind}", MANIFEST, 0, 1 << 60, members.with_(MANIFEST, data), (kind,))


_NAMES: dict[str, tuple[str, ...]] = {
    "protocol.name": ("clonos", "none", "pessimistic", "optimistic", "coordinated"),
    "protocol.sink": ("plain", "transactional", "idempotent", "determinant"),
    "protocol.delta_layout": ("flat", "grouping"),
    "protocol.on_lost": ("rollback", "continue"),
    "protocol.spill": ("memory", "eager", "availability", "oldest"),
    "clock.kind": ("virtual", "wall"),
    "edge.ship": ("forward", "rebalance", "random", "hash", "broadcast"),
    "vertex.kind": ("source", "operator", "sink"),
    "services.time": ("call", "periodic:7"),
    "services.random": ("call", "seed"),
}


def _another(rng: random.Random, kind: str, value: Any) -> Any:
    if kind in _NAMES:
        return rng.choice([one for one in _NAMES[kind] if one != value])
    if kind == "protocol.sharing_depth":
        return rng.choice([one for one in ("full", 0, 1, 2) if one != value])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + rng.choice((1, 1, 10))
    if isinstance(value, list) and len(value) > 1:
        return [*value[1:], value[0]]
    return None


def sink_transaction(rng: random.Random, members: MemoryMembers) -> Plant | None:
    name = some(rng, members, ".ndjson", "sink")
    if name is None:
        return None
    lines = members.members[name].splitlines(keepends=True)
    k = rng.randrange(len(lines))
    line = json.loads(lines[k])
    fields = [one for one in ("txn", "id", "n", "source", "t_us") if line.get(one) not in (None, [])]
    if not fields:
        return None
    field = rng.choice(fields)
    value = line[field]
    if field == "source":
        line[field] = [[value[0][0], value[0][1] + 1], *value[1:]]
    else:
        line[field] = f"{value}9" if isinstance(value, str) else value + rng.choice((1, 7))
    start = sum(map(len, lines[:k]))
    end = start + len(lines[k])
    lines[k] = json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    return Plant(f"sink's {field}", name, start, end, members.with_(name, b"".join(lines)))


def buffers_epoch(rng: random.Random, members: MemoryMembers) -> Plant | None:
    """A receipt, its numbers one off: sender's attempt, epoch, offset or count."""
    name = some(rng, members, ".rcv")
    if name is None:
        return None
    data = members.members[name]
    at, _ = rng.choice(list(read_receipts(data)))
    where, size, what = rng.choice(
        ((0, 8, "seq"), (8, 4, "sender"), (12, 4, "sending"), (16, 8, "received"), (24, 8, "taken"), (32, 8, "epoch"),
         (40, 4, "offset"), (44, 4, "count"))
    )  # fmt: skip
    value = int.from_bytes(data[at + where : at + where + size], "big", signed=True)
    if value < 0:
        return None
    changed = (value + 1).to_bytes(size, "big", signed=True)
    made = data[: at + where] + changed + data[at + where + size :]
    return Plant(f"receipt's {what}", name, at, at + RECEIPT_BYTES, members.with_(name, made))


def world_byte(rng: random.Random, members: MemoryMembers) -> Plant | None:
    name = some(rng, members, ".dlt", "world")
    if name is None:
        return None
    data = members.members[name]
    start, _, end = rng.choice(_sendings(data))
    made = changed_byte(data, rng.randrange(start, end), rng)
    return Plant("byte left outside", name, start, end, members.with_(name, made))


FURTHER: tuple[Planter, ...] = (
    snapshot_byte, sending_head, neighbours_swapped, record_repeated, record_torn, member_of_another_task,
    determinant_kind, epoch_of_member, deltas_epoch, any_event_removed, any_event_altered, events_swapped, event_moved,
    manifest_altered, sink_transaction, buffers_epoch, world_byte,
)  # fmt: skip
ALL: tuple[Planter, ...] = (*PLANTERS, *FURTHER)
PER_RECORDING = 5


@lru_cache(maxsize=4)
def recording_of(seed: int) -> MemoryMembers | None:
    """The recording of a random command line, if something failed in it and its replay is good."""
    try:
        bundle = recorded(random_options(seed))
    except (PoolExhausted, WrongSetting):
        return None
    members = MemoryMembers({name: bundle.members.read(name) for name in bundle.members.names()})
    if 0 not in Story.read(_events(members)).failures or sum(map(len, members.members.values())) > 3 << 20:
        return None
    return members if replay(bundle_of(members), failure=0).verdict in ("identical", "free") else None


def planted_in_any(seed: int, planters: tuple[Callable[..., Plant | None], ...] = ALL) -> Plant | None:
    members = recording_of(seed // PER_RECORDING)
    if members is None:
        return None
    rng = random.Random(f"further {seed}")
    return planters[rng.randrange(len(planters))](rng, members)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--plants", type=int, default=300)
    options.add_argument("--first", type=int, default=250_000)
    options.add_argument("--only", default="")
    options.add_argument("--show", action="store_true")
    chosen = options.parse_args()
    table: dict[str, Counter[str]] = defaultdict(Counter)
    planters = tuple(one for one in ALL if chosen.only in one.__name__)
    done, seed = 0, chosen.first
    while done < chosen.plants:
        plant = planted_in_any(seed, planters)
        seed += 1
        if plant is None:
            continue
        done += 1
        try:
            outcome, sentence = verdict_of(plant)
            how = judged(plant, outcome, sentence)
            verdict = None if outcome is None else outcome.verdict
            if how == "not noticed" and (undamaged := recording_of((seed - 1) // PER_RECORDING)) is not None:
                how, sentence = not_noticed(undamaged, plant, sentence)
        except Exception:
            how, verdict, sentence = "raised", "raised", traceback.format_exc()
        table[plant.kind][how] += 1
        if chosen.show and how != "precisely":
            place = f"{plant.member} {plant.start}-{plant.end}"
            print(f"{seed - 1} {plant.kind} | {place} | {how}, {verdict}: {sentence[:500]}", flush=True)
    columns = ("precisely", "roughly", "elsewhere", "no trace", "not noticed", "raised")
    print("|".join(("plant", *columns)))
    for kind, counts in sorted(table.items()):
        print("|".join((kind, *(str(counts[one]) for one in columns))))
    print("|".join(("all", *(str(sum(counts[one] for counts in table.values())) for one in columns))))


if __name__ == "__main__":
    main()
