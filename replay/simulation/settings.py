"""Protocol settings and costs of random worlds."""

from __future__ import annotations

from random import Random

from replay.model import Protocol
from replay.runtime.costs import Costs


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
