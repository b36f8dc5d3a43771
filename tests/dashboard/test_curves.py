"""Curves of throughput and latency, whatever times a recording names."""

import json
from pathlib import Path

import pytest

from dashboard.queries.curves import sink_curves
from ingest.lake.readers import Lake
from tests.ingest.inprocess import ingested_here
from tests.ingest.made import manifest_of, packed

LARGEST = (1 << 63) - 1


def metrics_at(times_us: list[int], records: int) -> bytes:
    rows = [
        {"n": n, "t_us": t_us, "type": "metric", "task": "sink.0", "records_in": records, "latency_p99_us": 7}
        for n, t_us in enumerate(times_us)
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize("records", [10, LARGEST])
@pytest.mark.parametrize("times_us", [[1000, 2000, 3000], [-LARGEST - 1, 0, LARGEST], [LARGEST, -LARGEST - 1, LARGEST]])
def test_curves_are_drawn_at_any_64_bit_time(times_us: list[int], records: int, tmp_path: Path) -> None:
    pack = packed(manifest_of(1), {"events.ndjson": metrics_at(times_us, records)}, tmp_path / "bundle")
    ingested_here(pack, tmp_path / "data")
    duration_us = max(times_us)
    curves = sink_curves(Lake(tmp_path / "data"), job="j_1", sinks=["sink.0"], duration_us=duration_us)
    for points in (curve["points"] for curve in curves):
        assert [point["tUs"] for point in points] == sorted(point["tUs"] for point in points)
        assert all(0 <= point["tUs"] < duration_us and point["value"] > 0 for point in points)
    assert len(curves) == 2, "both curves are drawn"
