"""Every job, at every sharing depth, with two failures: an independent reader accepts it, and its sinks are right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replay.jobs.catalogue import JOBS
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.oracle.jobs import sink_complaints
from tests.oracle_reader import Recording, complaints

pytestmark = pytest.mark.slow

WINDOWS: dict[str, dict[str, int]] = {
    "windowed": {"window_ms": 200, "slide_ms": 50},
    "nexmark-q5": {"window_ms": 200, "slide_ms": 100},
    "nexmark-q7": {"window_ms": 100},
    "nexmark-q8": {"window_ms": 200},
    "nexmark-q11": {"window_ms": 20},
    "nexmark-q12": {"window_ms": 100},
}
TIMES = [(name, time) for name, job in JOBS.items() for time in job.times[1:]]


def middle_of(name: str) -> str:
    """A vertex between sources and sink that keeps state."""
    shape = JOBS[name].shape(RecordOptions(job=name))
    return [one.id for one in shape[0] if one.kind == "operator"][-1]


def found_wrong(out: Path, name: str, **options: Any) -> list[str]:
    chosen = {"seed": 3, "events": 1500, "checkpoint_interval_ms": 150, **WINDOWS.get(name, {}), **options}
    summary = record(RecordOptions(job=name, **chosen), out, protocols=PROTOCOLS)
    assert len(summary["failures"]) >= len(options.get("kills", ()))
    return [*complaints(out), *sink_complaints(Recording(out))]


@pytest.mark.parametrize("sharing_depth", [None, 2, 1, 0])
@pytest.mark.parametrize("name", JOBS)
def test_the_sinks_of_a_job_are_right_after_two_failures(tmp_path: Path, name: str, sharing_depth: int | None) -> None:
    kills = (f"{middle_of(name)}.1@310", "source.0@520")
    assert found_wrong(tmp_path / "out", name, sharing_depth=sharing_depth, kills=kills) == []


@pytest.mark.parametrize("name", JOBS)
def test_the_sinks_of_a_job_are_right_after_one_of_them_failed(tmp_path: Path, name: str) -> None:
    kills = ("sink.1@290", f"{middle_of(name)}.0@480")
    assert found_wrong(tmp_path / "out", name, parallelism=3, kills=kills) == []


@pytest.mark.parametrize(("name", "time"), TIMES)
def test_the_sinks_are_right_in_every_notion_of_time(tmp_path: Path, name: str, time: str) -> None:
    assert found_wrong(tmp_path / "out", name, time=time, kills=(f"{middle_of(name)}.1@310",)) == []


@pytest.mark.parametrize("sink", ["transactional", "idempotent", "determinant"])
@pytest.mark.parametrize("name", JOBS)
def test_other_sinks_deliver_exactly_once_whatever_fails(tmp_path: Path, name: str, sink: str) -> None:
    kills = ("sink.1@290", f"{middle_of(name)}.0@480")
    assert found_wrong(tmp_path / "out", name, sink=sink, kills=kills) == []


SINKS = ("plain", "transactional", "idempotent", "determinant")
SPILLS = ("memory", "eager", "availability", "oldest")
DEPTHS = (0, 1, 2, None)
TOGETHER = [(name, n, i) for n, name in enumerate(JOBS) for i in range(4)]
"""Each job with each sink, each spill policy and each depth; over the jobs, each of one with each of the others."""


@pytest.mark.parametrize(("name", "n", "i"), TOGETHER, ids=[f"{name}-{SINKS[i]}" for name, _, i in TOGETHER])
def test_sinks_depths_spills_and_layouts_together(tmp_path: Path, name: str, n: int, i: int) -> None:
    depth = DEPTHS[(i + n) % 4]
    options = {
        "sink": SINKS[i],
        "sharing_depth": 1 if depth == 0 and SINKS[i] == "determinant" else depth,
        "spill": SPILLS[(i + n + n // 4) % 4],
        "delta_layout": "flat" if depth == 0 else ("flat", "grouping")[(i + n // 2) % 2],
        "time": JOBS[name].times[(i + n) % len(JOBS[name].times)],
        "kills": (f"{middle_of(name)}.1@210+sink.1@210", "sink.0@330"),
    }
    assert found_wrong(tmp_path / "out", name, events=900, seed=n, **options) == []


@pytest.mark.parametrize("protocol", ["none", "pessimistic", "optimistic", "coordinated"])
@pytest.mark.parametrize("name", JOBS)
def test_other_protocols_keep_their_promises_to_the_outside(tmp_path: Path, name: str, protocol: str) -> None:
    sink = SINKS[(len(name) + len(protocol)) % 3]
    kills = (f"{middle_of(name)}.1@210", "sink.0@330")
    assert found_wrong(tmp_path / "out", name, events=900, protocol=protocol, sink=sink, kills=kills) == []
