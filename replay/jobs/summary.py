"""What there is to say about a run when it is over."""

from __future__ import annotations

from typing import Any

from replay.runtime.engine import Engine
from replay.runtime.log_totals import LogTotals


def summary_of(engine: Engine) -> dict[str, Any]:
    """Plain values, for text and JSON alike."""
    totals, payload = engine.totals, engine.totals.payload_bytes
    return {
        "duration_ms": engine.scheduler.now_us // 1000,
        "records": sum(one.records for one in engine.run_of.partitions.values()),
        "records_written": totals.records_written,
        "checkpoints_completed": engine.checkpoints.completed,
        "events": engine.recorder.events,
        "buffers_sent": totals.buffers_sent,
        "payload_bytes": payload,
        "delta_bytes": totals.delta_bytes,
        "piggyback_percent": round(100 * totals.delta_bytes / payload, 2) if payload else 0.0,
        "determinant_bytes": engine.recorder.sizes.get("det", 0),
        "logs": _logs(totals.logs),
        "bundle_bytes": sum(engine.recorder.sizes.values()),
        "failures": [_failure(engine, one.number) for one in engine.failures.all],
        "attempts": sum(attempt.number + 1 for attempt in engine.current.values()),
        "kills_not_made": [f"{kill.task}:{kill.state}" for kill in engine.failures.kills.not_made],
    }


def _logs(logs: LogTotals) -> dict[str, Any]:
    return {
        "determinants": logs.determinants,
        "determinant_bytes": logs.determinant_bytes,
        "determinant_pool_bytes": logs.determinant_pool_bytes,
        "in_flight_buffers": logs.in_flight_buffers,
        "prefetch_buffers": logs.prefetch_buffers,
        "spilled_buffers": logs.spilled_buffers,
        "spilled_bytes": logs.spilled_bytes,
        "reloaded_buffers": logs.reloaded_buffers,
        "reloaded_bytes": logs.reloaded_bytes,
        "stalls": logs.stalls,
        "stalled_ms": logs.stalled_us // 1000,
    }


def _failure(engine: Engine, number: int) -> dict[str, Any]:
    failure = engine.failures.all[number]
    task, attempt = failure.attempt.task, failure.attempt.number + 1
    returned = next((logs for who, which, logs in engine.totals.returned if (who, which) == (task, attempt)), None)
    return {
        "failure": number,
        "task": task,
        "attempt": failure.attempt.number,
        "at_ms": failure.t_us // 1000,
        "running_again_ms": None if failure.over_us is None else failure.over_us // 1000,
        "determinant_bytes_returned": 0 if returned is None else sum(len(copy.data) for copy in returned),
    }
