"""Settings, costs and checkpoint policies of random worlds."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from replay.model import Protocol
from replay.protocols import PROTOCOLS
from replay.runtime.checkpoint_policy import CheckpointPolicy
from replay.runtime.costs import Costs

_PROTOCOLS = ("pessimistic", "optimistic", "coordinated", "none")
_OTHERS_THAN_CLONOS = 0.28


def random_name(draw: Random, *, one_for_one: bool) -> str:
    """Clonos mostly. Gap recovery's losses can be told where operators give one record for each that they take."""
    if draw.random() >= _OTHERS_THAN_CLONOS:
        return "clonos"
    return draw.choice(_PROTOCOLS if one_for_one else _PROTOCOLS[:-1])


def under(name: str, drawn: Protocol) -> Protocol:
    """Those settings under that protocol: what it has no use for is as it must be then."""
    chosen = PROTOCOLS[name]()
    return replace(
        drawn,
        name=name,
        sharing_depth=drawn.sharing_depth if chosen.shares else 0,
        standby=drawn.standby if chosen.standbys else 0,
        sink=drawn.sink if chosen.shares or drawn.sink != "determinant" else "plain",
        on_lost=drawn.on_lost if chosen.shares else "rollback",
        spill=drawn.spill if chosen.in_flight else "memory",
        delta_layout=drawn.delta_layout if chosen.in_flight else "flat",
    )


def random_policy(draw: Random, interval_ms: int, usual_us: float) -> CheckpointPolicy:
    """As usual in half of all worlds; else one begins as soon as it can, late, or is given up before it is complete.

    `usual_us`: about as long as a checkpoint takes.
    """
    if draw.random() < 0.5:
        return CheckpointPolicy()
    return CheckpointPolicy(
        back_off_intervals=draw.choice((0, 0.5, 3, 6)),
        timeout_us=int(draw.choice((600_000_000, 600_000_000, usual_us * draw.uniform(1, 6)))),
        min_pause_us=draw.choice((0, 0, int(interval_ms * draw.choice((300, 1_000, 3_000))))),
        incremental=draw.random() < 0.5,
    )


def checkpoint_us(costs: Costs, hops: int) -> float:
    """About how long a checkpoint takes through that many vertices, while little is to be done."""
    hop_us = costs.flush_us + costs.rtt_us + costs.credits * costs.record_us + costs.wire_us(2_000)
    return hops * hop_us + costs.upload_us(costs.state_bytes + 400) + 4 * costs.rpc_us


def further_costs(draw: Random, costs: Costs) -> Costs:
    """Of hosts, uploads, the stable storage and narrow networks: as usual in half of all worlds."""
    costs = replace(costs, host_restart_us=draw.choice((2_000, 100_000, 500_000)))
    if draw.random() < 0.5:
        return costs
    return replace(
        costs,
        take_us=draw.choice((1, 10, 200)),
        bandwidth_bytes_per_s=draw.choice((200_000, 1 << 20, 1 << 30)),
        detection_window_us=draw.choice((0, 10_000, 400_000)),
        upload_bytes_per_s=draw.choice((50_000, 1 << 20, 200 << 20)),
        download_bytes_per_s=draw.choice((50_000, 1 << 20, 200 << 20)),
        state_bytes=draw.choice((0, 0, 4_000)),
        cancel_us=draw.choice((100, 50_000)),
        timer_late_us=draw.choice((1, 200, 5_000)),
        storage_latency_us=draw.choice((20, 1_000, 10_000)),
        storage_bytes_per_s=draw.choice((100_000, 100 << 20)),
        log_interval_us=draw.choice((2_000, 10_000, 50_000)),
        flush_write_us=draw.choice((1, 20, 1_000)),
        append_us=draw.choice((0, 0, 2.5)),
    )


def random_protocol(draw: Random, duration_ms: int) -> Protocol:
    """Full sharing in most worlds; checkpoints from ten in a run to none but the last."""
    return Protocol(
        name="clonos",
        sharing_depth=draw.choice((None, None, None, 1, 1, 2, 3, 0)),
        standby=draw.choice((0, 1, 1, 2)),
        checkpoint_interval_ms=max(10, int(duration_ms * draw.choice((0.1, 0.25, 0.6, 2)))),
        buffer_bytes=draw.choice((24, 64, 200, 1000)),
        delta_layout=draw.choice(("flat", "grouping")),
    )


def random_costs(draw: Random) -> Costs:
    """Each from negligible to so slow that everything else waits for it."""
    timeout_us = draw.choice((5_000, 200_000))
    return Costs(
        record_us=draw.choice((5, 50, 400)),
        cut_us=draw.choice((2, 20, 300)),
        flush_us=draw.choice((100, 2_000, 20_000)),
        rtt_us=draw.choice((20, 500, 10_000)),
        rpc_us=draw.choice((20, 500, 10_000)),
        connect_us=draw.choice((50, 2_000, 30_000)),
        loss_notice_us=draw.choice((20, 1_000, 20_000)),
        heartbeat_us=timeout_us * 2 // 5,
        heartbeat_timeout_us=timeout_us,
        snapshot_us=draw.choice((50, 2_000, 20_000)),
        restore_us=draw.choice((50, 5_000, 40_000)),
        deploy_us=draw.choice((500, 20_000, 200_000)),
        metric_us=draw.choice((10_000_000, 10_000_000, 10_000)),
        credits=draw.choice((1, 2, 8)),
        batch_records=draw.choice((1, 4, 32)),
    )
