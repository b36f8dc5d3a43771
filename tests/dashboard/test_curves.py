"""Curves of throughput and latency: whose they are, and that they are drawn whatever times a recording names."""

import json
from pathlib import Path
from typing import Any

import pytest

from dashboard.queries.curves import curves_of, tasks_of
from ingest.lake.readers import Lake
from replay.model import Manifest
from tests.ingest.inprocess import ingested_here
from tests.ingest.made import manifest_of, packed

LARGEST = (1 << 63) - 1
SECOND = 1_000_000


def metrics_of(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps({"n": n, "type": "metric", **row}).encode() + b"\n" for n, row in enumerate(rows))


def drawn(rows: list[dict[str, Any]], folder: Path, of: str, parallelism: int = 1) -> dict[str, dict[str, Any]]:
    """By name."""
    manifest = manifest_of(parallelism)
    pack = packed(manifest, {"events.ndjson": metrics_of(rows)}, folder / "bundle")
    ingested_here(pack, folder / "data")
    duration_us = max(row["t_us"] for row in rows)
    lake = Lake(folder / "data")
    found = curves_of(lake, job="j_1", manifest=Manifest.from_json(manifest), of=of, duration_us=duration_us)
    return {one["name"]: one for one in found}


@pytest.mark.parametrize("records", [10, LARGEST])
@pytest.mark.parametrize("times_us", [[1000, 2000, 3000], [-LARGEST - 1, 0, LARGEST], [LARGEST, -LARGEST - 1, LARGEST]])
def test_curves_are_drawn_at_any_64_bit_time(times_us: list[int], records: int, tmp_path: Path) -> None:
    rows = [{"t_us": t_us, "task": "sink.0", "records_in": records, "latency_p99_us": 7} for t_us in times_us]
    curves = drawn(rows, tmp_path, of="")
    for points in (curve["points"] for curve in curves.values()):
        assert [point["tUs"] for point in points] == sorted(point["tUs"] for point in points)
        assert all(0 <= point["tUs"] < max(times_us) and point["value"] > 0 for point in points)
    assert len(curves) == 2, "both curves are drawn"


@pytest.mark.parametrize(
    ("of", "rate", "p50", "p99"),
    [
        ("", 30, 20, 200),
        ("sink", 30, 20, 200),
        ("sink.1", 20, 20, 100),
        ("sink.0", 10, 5, 200),
        ("map-1", 100, None, None),
    ],
)
def test_curves_are_of_all_sinks_or_of_a_vertex_or_a_task(
    of: str, rate: int, p50: int | None, p99: int | None, tmp_path: Path
) -> None:
    """Rates add up, and of latencies the worst is told."""
    told = {
        "sink.0": {"records_in": 10, "latency_p50_us": 5, "latency_p99_us": 200},
        "sink.1": {"records_in": 20, "latency_p50_us": 20, "latency_p99_us": 100},
        "map-1.0": {"records_in": 100},
    }
    rows = [{"t_us": second * SECOND, "task": task, **row} for second in (1, 2, 3) for task, row in told.items()]
    curves = drawn(rows, tmp_path, of, parallelism=2)
    where = f"of {of}" if of else "at the sinks"
    assert {point["value"] for point in curves.pop(f"throughput {where}")["points"]} == {rate}
    if p99 is None:
        assert not curves, "no latency is told of it"
        return
    (latency,) = curves.values()
    assert latency["name"] == f"latency {where}, p99"
    assert {point["value"] for point in latency["points"]} == {p99}
    assert {point["value"] for point in latency["p50"]} == {p50}


def test_what_is_neither_a_vertex_nor_a_task_has_no_tasks() -> None:
    manifest = Manifest.from_json(manifest_of(2))
    assert tasks_of(manifest, "map-1") == ["map-1.0", "map-1.1"]
    assert tasks_of(manifest, "map-1.1") == ["map-1.1"]
    assert tasks_of(manifest, "map") == []
