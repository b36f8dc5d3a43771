"""Runs that end with a sentence about their settings: allowed, if it is true."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from replay.errors import PoolExhausted, WrongSetting
from replay.runtime.checkpoint_policy import CheckpointPolicy
from replay.simulation.plan import Plan
from replay.simulation.world import World

AMPLE_BYTES = 1 << 30
_IN_VAIN = 10


def roomier(plan: Plan, fault: PoolExhausted | WrongSetting) -> Plan:
    """The same without what was too narrow: nothing else about it may change until then."""
    if isinstance(fault, PoolExhausted):
        return replace(plan, memory=replace(plan.memory, determinant_pool_bytes=AMPLE_BYTES))
    return replace(plan, checkpoints=replace(plan.checkpoints, timeout_us=CheckpointPolicy().timeout_us))


def untrue(world: World, fault: PoolExhausted | WrongSetting, roomy: World) -> Iterator[str]:
    """What the sentence says and is not so; `roomy` is the world that has run with room enough."""
    before, after = (bytes(one.members.members["events.ndjson"]).splitlines() for one in (world, roomy))
    if isinstance(fault, PoolExhausted):
        bound = world.plan.memory.determinant_pool_bytes
        needed = roomy.engine.totals.logs.determinant_pool_bytes if roomy.engine else 0
        if bound is not None and needed <= bound:
            yield f"a pool of {bound} bytes was said to be full, and no task ever needed more than {needed}"
        if before != after[: len(before)]:
            yield "the pool changed what happened before it was full"
        return
    events = [json.loads(line) for line in before]
    begun = {one["checkpoint"]: one["t_us"] for one in events if one["type"] == "checkpoint-triggered"}
    given_up = [one for one in events if one["type"] == "checkpoint-aborted" and one["why"].startswith("not complete")]
    if len(given_up) < _IN_VAIN - 1:
        yield f"{_IN_VAIN} checkpoints were said to be given up, and {len(given_up)} were"
    for one in given_up:
        if one["t_us"] - begun[one["checkpoint"]] < world.plan.checkpoints.timeout_us:
            yield f"checkpoint {one['checkpoint']} was given up before its time"
