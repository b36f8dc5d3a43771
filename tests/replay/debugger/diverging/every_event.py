"""Takes each event out of a recording, one after the other: it is missed, or may as well never have been.

`python -m tests.replay.debugger.diverging.every_event --recordings 20 --first 30000` prints which of random command
lines' are neither.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from replay.debugger.agreeing.contradictions import OF_ALL
from replay.debugger.agreeing.events import check_events
from replay.debugger.agreeing.sizes import check_sizes
from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.errors import ReplayError
from tests.replay.debugger.diverging.further_plants import recording_of
from tests.replay.debugger.diverging.plants import EVENTS, Plant
from tests.replay.debugger.diverging.traceless import why_no_trace
from tests.replay.debugger.worlds import MemoryMembers, bundle_of


def events_of(members: MemoryMembers) -> list[dict[str, Any]]:
    return [json.loads(line) for line in members.members[EVENTS].splitlines()]


def without(members: MemoryMembers, gone: int) -> MemoryMembers:
    """As if it had never been written: the others are numbered anew."""
    lines = []
    for event in events_of(members):
        if event["n"] != gone:
            moved = {k: event[k] - (event[k] > gone) for k in ("n", "re", "rollback") if isinstance(event.get(k), int)}
            lines.append(json.dumps({**event, **moved}, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
    return members.with_(EVENTS, b"".join(lines))


def is_missed(members: MemoryMembers) -> bool:
    return found_in(members) != ""


def found_in(members: MemoryMembers) -> str:
    """How it is missed, nothing being executed if that is enough; nothing where it isn't."""
    bundle = bundle_of(members)
    story = Story.read(bundle.events())
    try:
        for check in OF_ALL:
            check(bundle, story)
        check_sizes(bundle)
        check_events(bundle, story)
        outcome = replay(bundle_of(members), failure=0)
    except (DivergenceFound, ReplayError) as found:  # the latter: that failure is gone
        return str(found)
    return outcome.sentence if outcome.exit_status == 3 else ""


def each_taken_out(members: MemoryMembers) -> Iterator[tuple[dict[str, Any], bool, str | None]]:
    """(event, whether it is missed, why it may as well never have been)."""
    return (taken_out(members, event) for event in events_of(members) if event["type"] != "metric")


def taken_out(members: MemoryMembers, event: dict[str, Any]) -> tuple[dict[str, Any], bool, str | None]:
    """One of them."""
    changed = without(members, event["n"])
    plant = Plant("event removed", EVENTS, event["n"], event["n"] + 1, changed)
    return event, is_missed(changed), why_no_trace(members, plant)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--recordings", type=int, default=20)
    options.add_argument("--first", type=int, default=30_000)
    chosen = options.parse_args()
    found: Counter[str] = Counter()
    done, seed = 0, chosen.first
    while done < chosen.recordings:
        members = recording_of(seed)
        seed += 1
        if members is None:
            continue
        done += 1
        for event, missed, why in each_taken_out(members):
            how = {(True, False): "missed", (False, True): "no trace", (True, True): "both"}.get(
                (missed, why is not None), "neither"
            )
            found[how] += 1
            if how in ("both", "neither"):
                print(f"{seed - 1} {how}: {json.dumps(event)[:240]} {why or ''}", flush=True)
    print(json.dumps({"recordings": done, "next_seed": seed, **found}))


if __name__ == "__main__":
    main()
