"""Figures 4.9 and 4.10: one failure at several loads; single, concurrent and frequent failures. And the loss of 1/P."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from bench.reproduction.intervals import mean_of, seconds
from bench.reproduction.setting import ONLY_HEARTBEATS, PAPERS_COSTS, Setting
from bench.reproduction.watched import Watched

SYSTEMS: Mapping[str, Setting] = {
    "clonos": Setting(costs=PAPERS_COSTS),
    "coordinated": Setting(protocol="coordinated", costs={**PAPERS_COSTS, **ONLY_HEARTBEATS}),
}
"""The ordinary engine finds out by heartbeats alone, as it does in the paper."""

Blows = Sequence[Sequence[tuple[str, float]]]


def moment_ms(seed: int, from_s: float = 12.0, interval_s: float = 5.0) -> float:
    """When the first kill is: anywhere in an interval between checkpoints, the same for all that are compared."""
    return (from_s + interval_s * Random(f"kill {seed}").random()) * 1000


def figure_49(seeds: int) -> dict[str, Any]:
    """State of 10 MiB. How long the input goes on is enough for all to catch up."""
    lasts_s = {
        ("clonos", 50): 30, ("clonos", 75): 45, ("clonos", 90): 85,
        ("coordinated", 50): 45, ("coordinated", 75): 75, ("coordinated", 90): 150,
    }  # fmt: skip
    return {
        f"{name} at {load} %": _recovery(
            replace(SYSTEMS[name], load=load, state_mib=10, lasts_s=lasts), seeds, lambda at: [[("map-2.0", at)]]
        )
        for (name, load), lasts in lasts_s.items()
    }


def figure_410(seeds: int) -> dict[str, Any]:
    """State of 100 MiB, half of the load; three connected tasks at once, and one each five seconds."""
    blows = {
        "single": lambda at: [[("map-2.0", at)]],
        "concurrent": lambda at: [[("map-1.0", at), ("map-2.0", at), ("map-3.0", at)]],
        "frequent": lambda at: [[("map-1.0", at)], [("map-3.1", at + 5000)], [("map-2.2", at + 10000)]],
    }
    lasts_s = {"single": (32, 50), "concurrent": (38, 50), "frequent": (48, 115)}
    return {
        f"{name}, {kind}": _recovery(replace(SYSTEMS[name], lasts_s=lasts), seeds, blows[kind])
        for kind, both in lasts_s.items()
        for name, lasts in zip(SYSTEMS, both, strict=True)
    }


def _recovery(setting: Setting, seeds: int, blows_at: Any) -> dict[str, Any]:
    found = [recovery_of(setting, seed, blows_at(moment_ms(seed))) for seed in range(1, seeds + 1)]
    return {key: mean_of(one[key] for one in found) for key in found[0]}


def recovery_of(setting: Setting, seed: int, blows: Blows) -> dict[str, float | None]:
    """What there is to say about one run with kills."""
    engine = replace(setting, blows=blows).watched(seed)
    first_us = int(blows[0][0][1] * 1000)
    before = engine.per_s(first_us - 4_000_000, first_us)
    return {
        "recovery_s": seconds(engine.recovery_us(first_us)),
        "epoch_age_s": engine.epoch_age_us(first_us) / 1e6,
        "back_at_work_s": seconds(_at_work_us(engine)),
        "throughput_meanwhile": _throughput_meanwhile(engine, first_us, before),
        "throughput_back_at_work": _throughput_back_at_work(engine, first_us, before),
        "duplicates": float(engine.deliveries.written - engine.deliveries.named),
    }


def _at_work_us(engine: Watched) -> int | None:
    """From the first failure until its task processes records again, be it only to repeat."""
    found = [engine.reached_us(0, phase) for phase in ("Replaying", "rolled-back")]
    return min((one for one in found if one is not None), default=None)


def _throughput_meanwhile(engine: Watched, first_us: int, before: float) -> float | None:
    """Share of the throughput before: from half a second after the kill until the task gives something new again."""
    found = [engine.reached_us(0, phase) for phase in ("rebuilt", "rolled-back")]
    until_us = min((one for one in found if one is not None), default=0)
    if until_us < 900_000 or not before:
        return None
    return engine.per_s(first_us + 500_000, first_us + until_us) / before


def _throughput_back_at_work(engine: Watched, first_us: int, before: float) -> float | None:
    """Share of it while the task repeats what it had done: that is held back, or given a second time."""
    begun_us = _at_work_us(engine)
    if begun_us is None or not before:
        return None
    return engine.per_s(first_us + begun_us + 500_000, first_us + begun_us + 1_500_000) / before


def throughput_loss(seeds: int) -> dict[str, Any]:
    """Loss of throughput while one of P parallel tasks recovers: it begins from the start, so that it takes a while."""
    return {f"P = {parallelism}": _loss(parallelism, seeds) for parallelism in (2, 3, 5, 8)}


def _loss(parallelism: int, seeds: int) -> dict[str, Any]:
    setting = replace(SYSTEMS["clonos"], parallelism=parallelism, depth=3, state_mib=0, interval_ms=30_000, lasts_s=10)
    shares = [
        recovery_of(setting, seed, [[("map-1.0", 5000 + 100.0 * seed)]])["throughput_meanwhile"]
        for seed in range(1, seeds + 1)
    ]
    lost = mean_of((None if one is None else 1 - one for one in shares), digits=3)
    return {"lost": lost, "predicted": round(1 / parallelism, 3)}
