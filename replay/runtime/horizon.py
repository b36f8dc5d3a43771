"""Until when a run may still be expected to get to its end: what it has to do, at what the costs say that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from replay.runtime.engine import Engine

_MANY = 20


def horizon_us(engine: Engine) -> int:
    """Generous, and only ever further away: past it nothing but clocks goes on."""
    partitions, costs = engine.run_of.partitions.values(), engine.costs
    last_us = max((one.arrival_us(one.records) for one in partitions), default=0)
    last_us = max(last_us, int(engine.failures.last_ms * 1000))
    records_us = _MANY * costs.record_us * sum(one.records for one in partitions)
    failures = len(engine.failures.all) + 1
    behind_us = last_us + _bytes_us(engine) + engine.totals.logs.stalled_us
    return int(4 * behind_us + records_us + failures * _MANY * _round_us(engine) + 60_000_000)


def _round_us(engine: Engine) -> float:
    """A checkpoint or a recovery, each with all that it may have to wait for."""
    costs, checkpoints = engine.costs, engine.checkpoints
    intervals = 1 + checkpoints.policy.back_off_intervals
    states_us = costs.upload_us(costs.state_bytes) + costs.download_us(costs.state_bytes)
    hops_us = len(engine.graph.manifest.vertices) * (costs.flush_us + _MANY * costs.rtt_us)
    hosts_us = costs.heartbeat_timeout_us + costs.deploy_us + costs.host_restart_us
    return intervals * checkpoints.interval_us + checkpoints.policy.min_pause_us + states_us + hops_us + hosts_us


def _bytes_us(engine: Engine) -> float:
    """What was sent and spilled up to now, as if over one connection and by one disk."""
    totals, costs = engine.totals, engine.costs
    spilled = totals.logs.spilled_bytes + totals.logs.reloaded_bytes
    return costs.wire_us(totals.payload_bytes + totals.delta_bytes) + costs.disk_us(spilled, seeks=False)
