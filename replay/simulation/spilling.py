"""Where random worlds keep what is in flight, and how little memory they have for that and for determinants."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from replay.runtime.attempts.memory import Memory
from replay.simulation.plan import Plan

_POOLS = (*(16 << 20,) * 12, 8_000, 20_000, 60_000)
"""Mostly more than anybody needs."""


def spilling(plan: Plan) -> Plan:
    """The plan with a spill policy, a pool and a disk, drawn apart so that all else stays as it was drawn."""
    draw = Random(f"spilling {plan.seed}")
    memory = Memory(
        determinant_pool_bytes=Random(f"pool {plan.seed}").choice(_POOLS),
        in_flight_buffers=draw.choice((1, 2, 5, 30)),
        spill_interval_us=draw.choice((100, 5_000, 50_000)),
        spill_threshold=draw.choice((0.0, 0.4, 0.9)),
        prefetch_buffers=draw.choice((0, 1, 3, 10)),
        determinant_segment_bytes=64,
    )
    return replace(
        plan,
        protocol=replace(plan.protocol, spill=draw.choice(("memory", "eager", "availability", "oldest"))),
        memory=memory,
        costs=replace(
            plan.costs,
            disk_bytes_per_s=draw.choice((20_000, 1 << 20, 500 << 20)),
            disk_seek_us=draw.choice((1, 100, 5_000)),
        ),
    )
