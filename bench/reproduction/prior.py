"""Figures 4.12 and 4.13: prior approaches, as what is left of Clonos without a part of it; and large state."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from typing import Any

from bench.reproduction.failures import SYSTEMS, moment_ms, recovery_of
from bench.reproduction.intervals import mean_of, seconds
from bench.reproduction.setting import Setting


def figure_412(seeds: int) -> dict[str, Any]:
    """The default job at half of the load: without determinants, and without standbys."""
    clonos = SYSTEMS["clonos"]
    kinds = {
        "clonos": replace(clonos, lasts_s=32),
        "no determinants (depth 0)": replace(clonos, sharing_depth=0, lasts_s=32),
        "no standby": replace(clonos, standby=0, lasts_s=48),
        "coordinated": replace(SYSTEMS["coordinated"], lasts_s=50),
    }
    return {name: _means(one, seeds) for name, one in kinds.items()}


def _means(setting: Setting, seeds: int) -> dict[str, Any]:
    found = [recovery_of(setting, seed, [[("map-2.0", moment_ms(seed))]]) for seed in range(1, seeds + 1)]
    return {key: mean_of(one[key] for one in found) for key in found[0]}


def figure_413(seeds: int) -> dict[str, Any]:
    """512 MiB of state: its upload takes longer than the interval, so epochs are longer too."""
    lasts_s = {"clonos": 78, "coordinated": 125}
    return {name: _large(replace(SYSTEMS[name], state_mib=512, lasts_s=lasts_s[name]), seeds) for name in SYSTEMS}


def _large(setting: Setting, seeds: int) -> dict[str, Any]:
    found = []
    for seed in range(1, seeds + 1):
        at_ms = moment_ms(seed, from_s=33, interval_s=15)
        one = recovery_of(setting, seed, [[("map-2.0", at_ms)]])
        found.append({**one, "epoch_s": _epoch_s(setting, seed, at_ms)})
    return {key: mean_of(one[key] for one in found) for key in found[0]}


def _epoch_s(setting: Setting, seed: int, until_ms: float) -> float | None:
    """How far apart checkpoints are while nothing fails."""
    engine = replace(setting, lasts_s=until_ms / 1000, load=2.0).watched(seed)
    begun = engine.at_us("checkpoint-triggered")
    return seconds(fmean(after - before for before, after in pairwise(begun))) if len(begun) > 1 else None
