"""Snapshots of random worlds with other numbers in them, each of which must be found."""

from __future__ import annotations

import json
import random

from replay.guarantees.claims import Section
from replay.guarantees.cuts.section import consistent_cuts
from tests.replay.debugger.worlds import bundle_of, world_of


def binds(seed: int) -> bool:
    """Whether a recovery of that world binds, or takes everybody back."""
    protocol = world_of(seed)[0].manifest.protocol
    if protocol.name == "coordinated":
        return True
    return protocol.logs and (protocol.on_lost == "rollback" or protocol.sharing_depth is None)


def planted(seed: int) -> tuple[str, Section] | None:
    """(what was changed, the section); None where no completed checkpoint has a snapshot with channels."""
    draw, (_, members) = random.Random(seed), world_of(seed)
    completed = {one["checkpoint"] for one in bundle_of(members).events() if one["type"] == "checkpoint-completed"}
    names = [name for name in members.members if "/state/" in name and int(name.rpartition("/")[2][:-5]) in completed]
    told = {
        (one["task"], one["attempt"], one["checkpoint"])
        for one in bundle_of(members).events()
        if one["type"] == "checkpoint-acknowledged"
    }
    draw.shuffle(names)
    for name in names:
        _, task, attempt, _, file = name.split("/")
        state = json.loads(members.members[name])
        places = [(side, channel) for side in ("inputs", "outputs") for channel in state[side]]
        if (task, int(attempt), int(file[:-5])) in told and places:
            side, channel = draw.choice(places)
            more = draw.choice([-2, -1, 1, 2])
            state[side][channel] += more
            section = consistent_cuts(bundle_of(members.with_(name, json.dumps(state).encode())))
            return f"{name}: {side} of {channel} by {more:+}", section
    return None
