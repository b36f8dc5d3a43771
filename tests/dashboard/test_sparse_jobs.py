"""What a job's page asks of recordings that hold next to nothing, or numbers at the edge of their type."""

import json
from pathlib import Path
from typing import Any

import pytest

from dashboard.queries.failures import job_failures
from dashboard.queries.recoveries import recoveries
from dashboard.queries.tasks import task_summaries
from dashboard.queries.timeline import timeline
from ingest.lake.readers import Lake
from replay.model import Manifest
from tests.ingest.inprocess import ingested_here
from tests.ingest.made import manifest_of, packed

LARGEST = (1 << 63) - 1


def lake_of(folder: Path, manifest: dict[str, Any], *events: dict[str, Any]) -> Lake:
    lines = b"".join(json.dumps({"n": n, **event}).encode() + b"\n" for n, event in enumerate(events))
    ingested_here(packed(manifest, {"events.ndjson": lines} if lines else {}, folder / "bundle"), folder / "data")
    return Lake(folder / "data")


@pytest.mark.parametrize("tasks", [True, False])
def test_a_recording_of_its_manifest_alone_has_an_empty_timeline(tasks: bool, tmp_path: Path) -> None:
    manifest = manifest_of(1) if tasks else manifest_of(1) | {"tasks": []}
    picture = timeline(lake_of(tmp_path, manifest), job="j_1", manifest=Manifest.from_json(manifest), failures=[])
    assert picture["durationUs"] == 0
    assert picture["epochs"] == picture["failures"] == picture["lanes"] == picture["curves"] == []


@pytest.mark.parametrize("number", [LARGEST, -LARGEST - 1])
def test_events_at_the_edge_of_their_numbers_are_drawn(number: int, tmp_path: Path) -> None:
    manifest = manifest_of(1)
    at = {"t_us": number, "task": "map-1.0", "attempt": number, "failure": 0}
    lake = lake_of(
        tmp_path,
        manifest,
        {**at, "type": "task-failed", "t_us": -LARGEST},
        {**at, "type": "attempt-started", "checkpoint": number},
        {**at, "type": "recovery-state", "to": "Running"},
        {"t_us": number, "type": "checkpoint-triggered", "checkpoint": number},
    )
    failures = job_failures(lake, job="j_1")
    assert [failure.attempt for failure in failures] == [number]
    picture = timeline(lake, job="j_1", manifest=Manifest.from_json(manifest), failures=failures)
    assert [lane["task"] for lane in picture["lanes"]] == ["map-1.0"]
    recoveries(lake, job="j_1", failures=failures)
    (summary,) = task_summaries(lake, job="j_1", tasks=[("map-1.0", "map-1")], failed=["map-1.0"])
    assert summary.attempts == (number + 1 or 1)
