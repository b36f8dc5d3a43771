"""Figure 4.2: what the causal services cost: throughput, and bytes of determinants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bench.reproduction.intervals import mean_of
from bench.reproduction.setting import Map, Setting
from bench.reproduction.watched import Watched
from replay.jobs.registry import new_operator
from replay.model import Record, Vertex
from replay.runtime.engine import Run
from replay.runtime.operators import Context, Operator

SERVICES: Mapping[str, Mapping[str, str]] = {
    "none": {},
    "clock, a call": {"time": "call"},
    "clock, 1 ms": {"time": "periodic:1"},
    "clock, 3 ms": {"time": "periodic:3"},
    "random, a call": {"random": "call"},
    "random, a seed": {"random": "seed"},
}
RECORD_US, APPEND_US = 2, 1.0
"""A determinant costs half of what a record costs: Flink does 3 million records a second without, Clonos 2 with."""


class _Draws(Map):
    def on_record(self, record: Record, context: Context) -> None:
        context.random.next_int(1 << 30)
        super().on_record(record, context)


def figure_42(seeds: int) -> dict[str, Any]:
    """Two tasks of each vertex, sources that are never empty: half a million records a second and task at most."""
    return {name: _service(services, seeds) for name, services in SERVICES.items()}


def _service(services: Mapping[str, str], seeds: int) -> dict[str, Any]:
    found = [throughput(services, seed) for seed in range(1, seeds + 1)]
    return {key: mean_of((one[key] for one in found), digits=3) for key in found[0]}


def throughput(services: Mapping[str, str], seed: int) -> dict[str, float]:
    """Of a run whose maps use those services for every record; only what they chose counts as determinants."""
    engine = Watched(_run(services, seed))
    engine.run()
    used_s = (engine.written_us[-1] - engine.written_us[0]) / 1e6
    kinds = engine.totals.logs.determinant_bytes
    chosen = sum(kinds.get(kind, 0) for kind in ("timestamp", "rng", "timer-trigger"))
    return {
        "million_records_per_s": len(engine.written_us) / used_s / 1e6,
        "determinants_mib_per_s": chosen / used_s / (1 << 20),
    }


def _run(services: Mapping[str, str], seed: int) -> Run:
    setting = Setting(
        parallelism=2,
        depth=3,
        record_us=RECORD_US,
        load=150,
        interval_ms=100,
        lasts_s=0.03,
        state_mib=0,
        time="processing" if "time" in services else "event",
        buffer_bytes=32768,
        flush_ms=5,
        costs={"append_us": APPEND_US, "batch_records": 256},
    )
    run = setting.run(seed)
    vertices = [
        replace(one, services=dict(services)) if one.kind == "operator" else one for one in run.manifest.vertices
    ]
    draws = "random" in services

    def operator(vertex: Vertex) -> Operator:
        return (_Draws() if draws else Map()) if vertex.kind == "operator" else new_operator(vertex)

    return replace(run, manifest=replace(run.manifest, vertices=tuple(vertices)), operator=operator)
