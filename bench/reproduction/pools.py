"""Figure 4.3: the in-flight log by the size of its pool, its spill policy, and how that is set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.reproduction.intervals import mean_of
from bench.reproduction.setting import Setting

POOLS = (4, 20, 100, 250, 1000)
INTERVALS_MS = (20, 50, 200, 500)
THRESHOLDS = (0.0, 0.2, 0.4, 0.8)


def figure_43(seeds: int) -> dict[str, Any]:
    """Sources that are never empty: what a full pool holds up is lost. A buffer holds about 16 records."""
    return {"grid": [_cell(seeds, **one) for one in _cells()], "in memory": _cell(seeds, spill="memory")}


def _cells() -> Iterator[dict[str, Any]]:
    for pool in POOLS:
        yield {"spill": "eager", "in_flight_pool": pool}
    for pool in POOLS[1:]:
        for interval_ms in INTERVALS_MS:
            yield {"spill": "availability", "in_flight_pool": pool, "spill_interval_ms": float(interval_ms)}
    for threshold in THRESHOLDS:
        yield {"spill": "availability", "in_flight_pool": 100, "spill_threshold": threshold}


def _cell(seeds: int, **options: Any) -> dict[str, Any]:
    setting = Setting(
        parallelism=2,
        depth=3,
        record_us=100,
        load=130,
        interval_ms=600,
        lasts_s=1.0,
        state_mib=0,
        time="event",
        sharing_depth=0,
        buffer_bytes=1024,
        flush_ms=20,
        options=options,
        costs={"batch_records": 16},
    )
    rates, stalled, spilled = [], [], []
    for seed in range(1, seeds + 1):
        engine = setting.watched(seed)
        rates.append(engine.deliveries.written * 1e6 / max(engine.written_us))
        stalled.append(engine.totals.logs.stalled_us / 1e6)
        spilled.append(engine.totals.logs.spilled_buffers / engine.totals.buffers_sent)
    return {
        **options,
        "records_per_s": mean_of(rates, digits=0),
        "stalled_s": mean_of(stalled),
        "spilled_share": mean_of(spilled),
    }
