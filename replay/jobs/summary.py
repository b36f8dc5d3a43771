"""What there is to say about a run when it is over."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from replay.runtime.engine import Engine
from replay.runtime.log_totals import LogTotals


def summary_of(engine: Engine, *, shows_all: bool = False) -> dict[str, Any]:
    """Plain values, for text and JSON alike. `shows_all`: something comes out of every source record of the job."""
    totals, payload = engine.totals, engine.totals.payload_bytes
    records = sum(one.records for one in engine.run_of.partitions.values())
    return {
        "duration_ms": engine.scheduler.now_us // 1000,
        "records": records,
        "records_written": engine.deliveries.written,
        "duplicates": _duplicates(engine),
        "losses": records - engine.deliveries.named if shows_all else None,
        "checkpoints_completed": engine.checkpoints.completed,
        "events": engine.recorder.events,
        "buffers_sent": totals.buffers_sent,
        "payload_bytes": payload,
        "delta_bytes": totals.delta_bytes,
        "piggyback_percent": round(100 * totals.delta_bytes / payload, 2) if payload else 0.0,
        "determinant_bytes": engine.recorder.sizes.get("det", 0),
        "logs": _logs(totals.logs),
        "external_calls": {
            "calls": engine.externals.calls,
            "faults": engine.externals.faults,
            "writes": sum(engine.externals.writes.values()),
            "repeated_writes": engine.externals.repeated_writes,
        },
        "bundle_bytes": sum(engine.recorder.sizes.values()),
        "failures": [_failure(engine, one.number) for one in engine.failures.all],
        "attempts": sum(attempt.number + 1 for attempt in engine.current.values()),
        "kills_not_made": _kills_not_made(engine),
    }


def _duplicates(engine: Engine) -> int | None:
    """What plain sinks gave again; of others the outside knows. Where nothing is sent again, nothing is given again."""
    protocol = engine.run_of.manifest.protocol
    if protocol.name == "none":
        return 0
    return engine.deliveries.again if protocol.sink == "plain" else None


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
    reached = failure.phases.in_order()
    return {
        "failure": number,
        "task": task,
        "attempt": failure.attempt.number,
        "at_ms": failure.t_us // 1000,
        "running_again_ms": None if failure.over_us is None else failure.over_us // 1000,
        "caught_up_ms": reached["caught-up"] // 1000 if "caught-up" in reached else None,
        "phases": [{"phase": name, "us": t_us - failure.t_us} for name, t_us in _by_time(reached)],
        "determinant_bytes_returned": 0 if returned is None else sum(len(copy.data) for copy in returned),
    }


def _by_time(reached: dict[str, int]) -> list[tuple[str, int]]:
    """Without the failure itself, from which all are counted; what is reached at one time stays in its order."""
    return sorted(((name, t_us) for name, t_us in reached.items() if name != "failed"), key=itemgetter(1))


def _kills_not_made(engine: Engine) -> list[str]:
    kills, suspicions = engine.failures.kills, engine.failures.suspicions
    return [
        *(f"{kill.task}:{kill.state}" for kill in kills.not_made),
        *(f"{kill.host}@{kill.at_ms:g}" for kill in kills.struck_nothing),
        *(f"{one.task}@{one.at_ms:g}" for one in suspicions.not_made),
    ]
