"""Equations 3.1 and 3.2: how long a recovery takes, measured over random kill moments, against what they predict."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from bench.reproduction.intervals import mean_of, seconds
from bench.reproduction.setting import Setting
from bench.reproduction.watched import Watched
from replay.guarantees.recovery_time.model import time_down, time_to_catch_up, time_to_do_again

KILLS_PER_SEED = 2


@dataclass(frozen=True, slots=True)
class Case:
    """`start_s` and `download_s` are S and SSD of equation 3.2; without them a standby is there."""

    interval_s: float = 4.0
    load: float = 50.0
    rtt_ms: float = 20.0
    start_s: float | None = None
    download_s: float = 0.0

    @property
    def down_s(self) -> float:
        """The terms before the last: until the new attempt begins to process."""
        return time_down(self.rtt_ms / 1000, self.start_s or 0.0, self.download_s)

    def setting(self, killed_ms: float) -> Setting:
        """Each of the three round trips is one of the engine's costs: to tell, to connect, to ask."""
        rtt_us = round(self.rtt_ms * 1000)
        costs: dict[str, Any] = {
            "loss_notice_us": rtt_us // 2,
            "rpc_us": rtt_us // 2,
            "connect_us": rtt_us,
            "credits": 200,
            "restore_us": 0,
        }
        if self.start_s is not None:
            costs |= {"deploy_us": round(self.start_s * 1e6)}
        if self.download_s:
            costs |= {"download_bytes_per_s": round((1 << 20) / self.download_s)}
        age_s = self.interval_s * 1.2
        caught_up_s = time_to_catch_up(self.down_s, age_s, self.load / 100) or 0.0
        return Setting(
            parallelism=2,
            depth=3,
            load=self.load,
            interval_ms=round(self.interval_s * 1000),
            lasts_s=killed_ms / 1000 + 1.3 * caught_up_s + 3,
            state_mib=1.0 if self.download_s else 0.0,
            standby=1 if self.start_s is None else 0,
            flush_ms=20,
            blows=[[("map-1.0", killed_ms)]],
            options={"rtt_ms": self.rtt_ms, "heartbeat_timeout_ms": 60_000},
            costs=costs,
        )


CASES_31 = (
    Case(),
    Case(interval_s=2),
    Case(interval_s=8),
    Case(load=30),
    Case(load=70),
    Case(rtt_ms=1),
    Case(rtt_ms=200),
)
CASES_32 = (
    Case(start_s=0.5, download_s=0.5),
    Case(start_s=2.0, download_s=0.5),
    Case(start_s=0.5, download_s=2.0),
)


def equation_31(seeds: int) -> dict[str, Any]:
    return {"cases": [_case(one, seeds) for one in CASES_31]}


def equation_32(seeds: int) -> dict[str, Any]:
    return {"cases": [_case(one, seeds) for one in CASES_32]}


def _case(case: Case, seeds: int) -> dict[str, Any]:
    found = [_one(case, seed, turn) for seed in range(1, seeds + 1) for turn in range(KILLS_PER_SEED)]
    load = case.load / 100
    return {
        "interval_s": case.interval_s,
        "load": load,
        "rtt_ms": case.rtt_ms,
        "start_s": case.start_s,
        "download_s": case.download_s,
        "predicted_s": round(time_to_do_again(case.down_s, case.interval_s / 2, load), 3),
        "predicted_until_caught_up_s": round(time_to_catch_up(case.down_s, case.interval_s / 2, load) or 0.0, 3),
        "epoch_age_s": mean_of(one["age"] for one in found),
        "until_processing_s": mean_of((one["down"] for one in found), digits=3),
        "until_reprocessed_s": mean_of(one["reprocessed"] for one in found),
        "until_latency_is_back_s": mean_of(one["back"] for one in found),
        "reprocessed_to_predicted_of_its_age": mean_of(_ratio(one, "reprocessed", "as_said") for one in found),
        "latency_back_to_predicted_of_its_age": mean_of(_ratio(one, "back", "caught_up") for one in found),
    }


def _one(case: Case, seed: int, turn: int) -> dict[str, float | None]:
    draw = Random(f"{seed} {turn}").random()
    killed_ms = (2 + draw) * case.interval_s * 1000
    engine = case.setting(killed_ms).watched(seed * 100 + turn)
    killed_us, load = int(killed_ms * 1000), case.load / 100
    age_s = engine.epoch_age_us(killed_us) / 1e6
    return {
        "age": age_s,
        "down": seconds(engine.reached_us(0, "Replaying")),
        "reprocessed": seconds(_reprocessed_us(engine)),
        "back": seconds(engine.recovery_us(killed_us)),
        "as_said": time_to_do_again(case.down_s, age_s, load),
        "caught_up": time_to_catch_up(case.down_s, age_s, load),
    }


def _reprocessed_us(engine: Watched) -> int | None:
    """When all that the lost attempt had done, as far as anyone saw it, is done again."""
    reached = [engine.reached_us(0, one) for one in ("Running", "rebuilt")]
    return max((one for one in reached if one is not None), default=None)


def _ratio(one: dict[str, float | None], measured: str, predicted: str) -> float | None:
    top, bottom = one[measured], one[predicted]
    return None if top is None or not bottom else top / bottom
