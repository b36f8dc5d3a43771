"""Plants one corruption into a recording, knows where, and judges how precisely a verdict names it.

`python -m tests.replay.debugger.diverging.plants --plants 500` prints the table.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from replay.bundle.frames import RECEIPT_BYTES, SENDING_HEAD_BYTES, read_buffers, read_receipts, read_sendings
from replay.debugger.outcome import Outcome
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.errors import ReplayError
from replay.log.codec import decode_all, encode
from replay.log.determinants import BufferBuilt, Order, Rng, SourceCheckpoint, TimerTrigger, Timestamp
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import MemoryMembers, bundle_of, world_of

EVENTS = "events.ndjson"


@dataclass(frozen=True)
class Plant:
    """`member`: where it is, from `start` up to `end`; `says`: words of which a verdict may name one instead."""

    kind: str
    member: str
    start: int
    end: int
    members: MemoryMembers
    says: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


Planter = Callable[[random.Random, MemoryMembers], Plant | None]


def some(rng: random.Random, members: MemoryMembers, suffix: str, folder: str = "") -> str | None:
    names = [n for n, d in members.members.items() if d and n.endswith(suffix) and f"/{folder}" in n]
    return rng.choice(names) if names else None


def changed_byte(data: bytes, at: int, rng: random.Random) -> bytes:
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def same_upto(data: bytes, made: bytes, at: int) -> int:
    """What is taken out of a run of equals might have been taken out anywhere in it: the bytes are the same."""
    while at < len(made) and data[at] == made[at]:
        at += 1
    return at


Change = tuple[int, int, bytes]
"""Of a member: from where, up to where, and all of it as it is then."""


def into(
    suffix: str, kind: str, folder: str = ""
) -> Callable[[Callable[[random.Random, bytes], Change | None]], Planter]:
    """Plants into one of the members with that ending."""

    def planter(changed: Callable[[random.Random, bytes], Change | None]) -> Planter:
        @wraps(changed)
        def plant(rng: random.Random, members: MemoryMembers) -> Plant | None:
            name = some(rng, members, suffix, folder)
            found = None if name is None else changed(rng, members.members[name])
            if name is None or found is None:
                return None
            start, end, made = found
            return Plant(kind, name, start, end, members.with_(name, made))

        return plant

    return planter


@into(".det", "determinant changed")
def determinant_changed(rng: random.Random, data: bytes) -> Change | None:
    at, length, found = rng.choice(list(decode_all(data)))
    other: Any
    match found:
        case Order(channel):
            other = Order(channel ^ 1)
        case Timestamp(value):
            other = Timestamp(value + rng.randrange(1, 50))
        case Rng(value):
            other = Rng(value ^ (1 << rng.randrange(30)))
        case BufferBuilt(size):
            other = BufferBuilt(size + rng.choice((-1, 1)))
        case TimerTrigger(count, timestamp, callback):
            other = TimerTrigger(count, timestamp + 1, callback)
        case SourceCheckpoint():
            other = replace(found, record_count=found.record_count + 1)
        case _:
            return None
    return at, at + length, data[:at] + encode(other) + data[at + length :]


@into(".det", "determinant removed")
def determinant_removed(rng: random.Random, data: bytes) -> Change:
    at, length, _ = rng.choice(list(decode_all(data)))
    made = data[:at] + data[at + length :]
    return at, same_upto(data, made, at) + length, made


@into(".det", "log cut")
def log_cut(rng: random.Random, data: bytes) -> Change:
    at = rng.choice([at for at, _, _ in decode_all(data)])
    return at, len(data), data[:at]


def _buffers(data: bytes) -> list[tuple[int, int, int]]:
    """(start, start of the payload, end)."""
    frames = list(read_buffers(data, epoch=0))
    ends = [*(at for at, _ in frames[1:]), len(data)]
    return [(at, end - len(frame.payload), end) for (at, frame), end in zip(frames, ends, strict=True)]


@into(".buf", "byte of a buffer")
def buffer_byte(rng: random.Random, data: bytes) -> Change:
    start, payload, end = rng.choice(_buffers(data))
    return start, end, changed_byte(data, rng.randrange(payload, end), rng)


@into(".buf", "head of a buffer")
def buffer_head(rng: random.Random, data: bytes) -> Change:
    start, payload, end = rng.choice(_buffers(data))
    return start, end, changed_byte(data, rng.randrange(start, payload), rng)


@into(".buf", "buffer lost")
def buffer_lost(rng: random.Random, data: bytes) -> Change | None:
    return _one_lost(rng, data, _buffers(data))


def _one_lost(rng: random.Random, data: bytes, found: list[tuple[int, int, int]]) -> Change | None:
    if len(found) < 2:
        return None
    start, _, end = rng.choice(found)
    return start, end, data[:start] + data[end:]


def _sendings(data: bytes) -> list[tuple[int, int, int]]:
    """(start, start of the delta, end)."""
    found = list(read_sendings(data))
    starts = [at for at, _ in found]
    return [(at, at + SENDING_HEAD_BYTES, end) for at, end in zip(starts, [*starts[1:], len(data)], strict=True)]


def _with_a_delta(rng: random.Random, data: bytes) -> tuple[int, int, int] | None:
    full = [one for one in _sendings(data) if one[2] > one[1]]
    return rng.choice(full) if full else None


@into(".dlt", "delta cut", "sent-")
def delta_cut(rng: random.Random, data: bytes) -> Change | None:
    """The delta of one sending is gone, as if nothing new had been there to send."""
    found = _with_a_delta(rng, data)
    if found is None:
        return None
    start, body, end = found
    return start, end, data[: body - 4] + (0).to_bytes(4, "big") + data[end:]


@into(".dlt", "byte of a delta", "sent-")
def delta_byte(rng: random.Random, data: bytes) -> Change | None:
    found = _with_a_delta(rng, data)
    if found is None:
        return None
    start, body, end = found
    return start, end, changed_byte(data, rng.randrange(body, end), rng)


@into(".dlt", "sending lost", "sent-")
def sending_lost(rng: random.Random, data: bytes) -> Change | None:
    return _one_lost(rng, data, _sendings(data))


@into(".rcv", "receipt lost")
def receipt_lost(rng: random.Random, data: bytes) -> Change | None:
    return _one_lost(rng, data, [(at, at, at + RECEIPT_BYTES) for at, _ in read_receipts(data)])


@into(".rcv", "byte of a receipt")
def receipt_byte(rng: random.Random, data: bytes) -> Change:
    at = rng.choice([one for one, _ in read_receipts(data)])
    byte = rng.randrange(at, at + RECEIPT_BYTES)
    return at, at + RECEIPT_BYTES, changed_byte(data, byte, rng)


@into(".json", "snapshot altered", "state")
def snapshot_altered(rng: random.Random, data: bytes) -> Change | None:
    state = json.loads(data)
    places = list(_numbers(state))
    if not places:
        return None
    holder, key = rng.choice(places)
    holder[key] += 1
    made = json.dumps(state, separators=(",", ":"), ensure_ascii=False).encode()
    return 0, len(made), made


def _numbers(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        if isinstance(one, int) and not isinstance(one, bool):
            yield value, key
        else:
            yield from _numbers(one)


def members_swapped(rng: random.Random, members: MemoryMembers) -> Plant | None:
    one = some(rng, members, rng.choice((".buf", ".det", ".dlt", ".rcv")))
    if one is None:
        return None
    folder = one.rpartition("/")[0]
    others = [
        n
        for n, d in members.members.items()
        if n != one and n.startswith(folder) and n.rpartition(".")[2] == one.rpartition(".")[2] and d
    ]
    if not others:
        return None
    other = rng.choice(others)
    data = members.members
    made = members.with_(one, data[other]).with_(other, data[one])
    return None if data[one] == data[other] else Plant("members swapped", one, 0, 1 << 60, made, also=(other,))


def _events(members: MemoryMembers) -> list[dict[str, Any]]:
    return [json.loads(line) for line in members.members[EVENTS].splitlines()]


def _with_events(members: MemoryMembers, events: list[dict[str, Any]]) -> MemoryMembers:
    lines = (json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode() for one in events)
    return members.with_(EVENTS, b"".join(line + b"\n" for line in lines))


_OF_RECOVERY = (
    "determinants-requested", "determinants-request-received", "determinants-returned", "determinants-received",
    "replay-requested", "replay-request-received", "recovery-state", "channel-reconnected", "restore-started",
    "state-restored",
)  # fmt: skip


def _of_the_recovery(members: MemoryMembers) -> list[dict[str, Any]]:
    """What the first recovery goes by: its own task's events, at the attempt that takes over."""
    events = _events(members)
    story = Story.read(events)
    failure = story.failures.get(0)
    if failure is None:
        return []
    task, attempt = failure["task"], failure["attempt"] + 1
    mine = [one for one in events if one.get("at", one.get("task")) == task and one.get("attempt") == attempt]
    return [one for one in mine if one["type"] in _OF_RECOVERY]


def event_removed(rng: random.Random, members: MemoryMembers) -> Plant | None:
    """Removed and the rest numbered anew, so that nothing but its meaning is missing."""
    mine = _of_the_recovery(members)
    if not mine:
        return None
    victim = rng.choice(mine)
    kept = []
    for one in _events(members):
        if one["n"] == victim["n"]:
            continue
        for name in ("n", "re", "rollback"):
            if isinstance(one.get(name), int) and one[name] > victim["n"]:
                one[name] -= 1
        kept.append(one)
    words = tuple(str(victim[name]) for name in ("type", "channel", "to") if name in victim)
    return Plant("event removed", EVENTS, victim["n"], victim["n"] + 1, _with_events(members, kept), words)


def event_altered(rng: random.Random, members: MemoryMembers) -> Plant | None:
    mine = _of_the_recovery(members)
    if not mine:
        return None
    victim = rng.choice(mine)
    fields = [
        name
        for name in ("channel", "epoch", "skip", "received", "checkpoint", "result", "to", "of", "side")
        if name in victim
    ]
    if not fields:
        return None
    field = rng.choice(fields)
    events = _events(members)
    value = victim[field]
    channels = sorted({one["channel"] for one in events if "channel" in one and one["channel"] != value} or {"x"})
    others = {
        "channel": rng.choice(channels), "result": "failed-too" if value == "held" else "held", "of": "nobody.0",
        "to": "Running" if value != "Running" else "Replaying", "side": "input" if value == "output" else "output",
    }  # fmt: skip
    events[victim["n"]][field] = value + 1 if isinstance(value, int) else others[field]
    words = (str(victim["type"]), f"vent {victim['n']} ", f"vent {victim['n']}:")
    return Plant("event altered", EVENTS, victim["n"], victim["n"] + 1, _with_events(members, events), words)


def answer_altered(rng: random.Random, members: MemoryMembers) -> Plant | None:
    mine = [one for one in _of_the_recovery(members) if one["type"] == "determinants-received" and one["logs"]]
    if not mine:
        return None
    victim = rng.choice(mine)
    events = _events(members)
    k = rng.randrange(len(victim["logs"]))
    for n in (victim["n"], victim["re"]):
        events[n]["logs"][k][3] += rng.choice((-1, 1, 7))
    return Plant(
        "answer altered",
        EVENTS,
        victim["n"],
        victim["n"] + 1,
        _with_events(members, events),
        (str(victim["type"]), f"vent {victim['re']} ", f"vent {victim['re']}:"),
    )


def _line_altered(rng: random.Random, data: bytes) -> Change | None:
    """The time of a line's record is a millisecond later."""
    lines = data.splitlines(keepends=True)
    k = rng.randrange(len(lines))
    line = json.loads(lines[k])
    if "record" not in line:
        return None
    line["record"][1] += 1
    start = sum(map(len, lines[:k]))
    end = start + len(lines[k])
    lines[k] = json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    return start, end, b"".join(lines)


source_altered = into(".ndjson", "source line altered", "source")(_line_altered)
sink_altered = into(".ndjson", "sink line altered", "sink")(_line_altered)

PLANTERS: tuple[Planter, ...] = (
    determinant_changed, determinant_removed, log_cut, buffer_byte, buffer_head, buffer_lost, delta_cut, delta_byte,
    sending_lost, receipt_lost, receipt_byte, snapshot_altered, members_swapped, event_removed, event_altered,
    answer_altered, source_altered, sink_altered,
)  # fmt: skip


def judged(plant: Plant, outcome: Outcome | None, sentence: str) -> str:
    """`precisely`: the member and the place in it; `roughly`: the member, or the channel or task; `not`: nothing."""
    if outcome is not None and outcome.verdict in ("identical", "free"):
        return "not noticed"
    detail = dict(outcome.detail) if outcome is not None else {}
    named = plant.member in sentence or any(one in sentence for one in plant.also)
    if plant.member == EVENTS:
        event = detail.get("event")
        if event == plant.start or any(word in sentence for word in plant.says):
            return "precisely"
        return "roughly" if "vent" in sentence else "elsewhere"
    if not named and plant.member not in map(str, detail.values()):
        task = plant.member.split("/")[1]
        return "roughly" if task in sentence else "elsewhere"
    if "state/" in plant.member:
        return "precisely"  # one object: it has no places
    offsets = [
        one
        for one in (detail.get("offset"), detail.get("log_offset"), detail.get("other_offset"))
        if isinstance(one, int)
    ]
    if plant.end - plant.start > 1 << 30 or not offsets:
        return "precisely" if plant.end - plant.start > 1 << 30 else "roughly"
    near = plant.end - plant.start  # what is taken out shows where the next one stands
    return "precisely" if any(plant.start - near <= one <= plant.end + near for one in offsets) else "roughly"


def recordings(seed: int) -> MemoryMembers | None:
    """A random recording with a failure that replays well as it is."""
    rng = random.Random(f"recording {seed}")
    if seed % 3 == 0:
        sink = rng.choice(("plain", "transactional", "idempotent", "determinant"))
        return one_failure(
            task=rng.choice(("map-1.0", "map-2.1", "sink.0")), at_ms=rng.choice((90, 115, 130)), sink=sink
        )
    _, members = world_of(seed)
    story = Story.read(_events(members))
    if 0 not in story.failures or sum(map(len, members.members.values())) > 3 << 20:
        return None
    return members if replay(bundle_of(members), failure=0).verdict == "identical" else None


def recording_of_plant(seed: int) -> MemoryMembers | None:
    """The undamaged recording into which that seed's corruption is planted."""
    return recordings(seed // len(PLANTERS) * 7 % 1000 + 100)


def planted(seed: int) -> Plant | None:
    members = recording_of_plant(seed)
    if members is None:
        return None
    return PLANTERS[seed % len(PLANTERS)](random.Random(f"plant {seed}"), members)


def verdict_of(plant: Plant) -> tuple[Outcome | None, str]:
    try:
        outcome = replay(bundle_of(plant.members), failure=0)
    except ReplayError as fault:
        return None, str(fault)
    return outcome, outcome.sentence


def not_noticed(undamaged: MemoryMembers, plant: Plant, sentence: str) -> tuple[str, str]:
    """What to call it, and why: `no trace` only by an argument that the undamaged recording bears out."""
    from tests.replay.debugger.diverging.traceless import why_no_trace

    why = why_no_trace(undamaged, plant)
    return ("not noticed", sentence) if why is None else ("no trace", why)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--plants", type=int, default=500)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--show", action="store_true")
    chosen = options.parse_args()
    table: dict[str, Counter[str]] = defaultdict(Counter)
    done, seed = 0, chosen.first
    while done < chosen.plants:
        plant = planted(seed)
        seed += 1
        if plant is None:
            continue
        done += 1
        outcome, sentence = verdict_of(plant)
        how = judged(plant, outcome, sentence)
        if how == "not noticed" and (undamaged := recording_of_plant(seed - 1)) is not None:
            how, sentence = not_noticed(undamaged, plant, sentence)
        table[plant.kind][how] += 1
        if chosen.show and how != "precisely":
            verdict = None if outcome is None else outcome.verdict
            print(
                f"{seed - 1} {plant.kind} {plant.member} {plant.start}-{plant.end}: {how}, {verdict}: {sentence[:400]}",
                flush=True,
            )
    columns = ("precisely", "roughly", "elsewhere", "no trace", "not noticed")
    print("|".join(("plant", *columns)))
    for kind, counts in sorted(table.items()):
        print("|".join((kind, *(str(counts[one]) for one in columns))))
    print("|".join(("all", *(str(sum(counts[one] for counts in table.values())) for one in columns))))


if __name__ == "__main__":
    main()
