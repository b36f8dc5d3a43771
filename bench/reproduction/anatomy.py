"""Figure 4.11: one recovery looked at closely: its phases, the latency after it, and whom it touches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bench.reproduction.failures import SYSTEMS, moment_ms
from bench.reproduction.intervals import mean_of, seconds
from bench.reproduction.setting import Setting
from bench.reproduction.watched import Watched

AFTER_US = 30_000_000
PHASES = {
    "standby activated": "replaced",
    "connections there": "WaitingDeterminants",
    "determinants there": "Replaying",
    "deduplicated": "rebuilt",
    "begins again everywhere": "rolled-back",
}
PERCENTILES = (25, 50, 75, 90, 95, 99)


def figure_411(seeds: int) -> dict[str, Any]:
    """The default job at half of the load, by key and straight on."""
    return {
        f"{name}, {stream}": _looked_at(replace(one, stream=stream, lasts_s=48), seeds)
        for stream in ("keyed", "non-keyed")
        for name, one in SYSTEMS.items()
    }


def _looked_at(setting: Setting, seeds: int) -> dict[str, Any]:
    found = [_one(setting, seed) for seed in range(1, seeds + 1)]
    return {key: mean_of(one[key] for one in found) for key in found[0]}


def _one(setting: Setting, seed: int) -> dict[str, float | None]:
    at_ms = moment_ms(seed)
    engine = replace(setting, blows=[[("map-2.0", at_ms)]]).watched(seed)
    killed_us = int(at_ms * 1000)
    latencies_us = sorted(latency_us for _, latency_us in engine.writes(killed_us, killed_us + AFTER_US))
    return {
        **{f"{said} after s": seconds(engine.reached_us(0, phase)) for said, phase in PHASES.items()},
        "latency is back after s": seconds(engine.recovery_us(killed_us)),
        **{f"p{one} s": latencies_us[len(latencies_us) * one // 100] / 1e6 for one in PERCENTILES},
        "before: p95 s": _latency_us(engine, killed_us - 4_000_000, killed_us) / 1e6,
        "partitions touched": float(_touched(engine, killed_us, setting.parallelism)),
        "duplicates": float(engine.deliveries.written - engine.deliveries.named),
    }


def _touched(engine: Watched, killed_us: int, partitions: int) -> int:
    """Of how many output partitions the 99th percentile of the latency at least doubled."""
    return sum(
        _latency_us(engine, killed_us, killed_us + AFTER_US, one, share=0.99)
        > 2 * _latency_us(engine, killed_us - 4_000_000, killed_us, one, share=0.99)
        for one in range(partitions)
    )


def _latency_us(engine: Watched, from_us: int, to_us: int, sink: int | None = None, share: float = 0.95) -> int:
    ordered = sorted(latency_us for _, latency_us in engine.writes(from_us, to_us, sink))
    # Nothing was written at all: that is as late as the time that is looked at.
    return ordered[int(len(ordered) * share)] if ordered else to_us - from_us
