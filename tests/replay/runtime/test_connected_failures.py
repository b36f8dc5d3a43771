"""Tasks that fail one below the other: as long as all is shared, nobody needs to be rolled back."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.oracle_reader import complaints

Event = dict[str, Any]


def recorded(out: Path, *kills: str, **options: Any) -> list[Event]:
    record(RecordOptions(kills=kills, rate_per_s=4000.0, **options), out, protocols=PROTOCOLS)
    return [json.loads(line) for line in (out / "events.ndjson").read_text().splitlines()]


def written(folder: Path) -> Counter[str]:
    files = folder.glob("tasks/sink.*/*/sink/*")
    return Counter(str(json.loads(line)["source"]) for p in files for line in p.read_text().splitlines())


def check(out: Path, events: list[Event], records: int) -> None:
    assert [one for one in events if one["type"] in ("global-rollback", "escalated")] == []
    assert complaints(out) == []
    assert len(written(out)) == records
    if not any(one["type"] == "task-failed" and one["task"].startswith("sink") for one in events):
        assert set(written(out).values()) == {1}
    bundle = open_bundle(out)
    verdicts = [replay(bundle, failure=one["failure"]).verdict for one in events if one["type"] == "task-failed"]
    assert not {"diverged"} & set(verdicts)


@pytest.mark.parametrize(
    ("interval_ms", "kills"),
    [(100, ("map-1.1@230+map-2.1@230",)), (150, ("map-1.1@290", "source.0@480"))],
    ids=["in one blow", "one after the other"],
)
def test_a_task_whose_neighbour_failed_before_it_is_no_reason_to_roll_back(
    tmp_path: Path, interval_ms: int, kills: tuple[str, ...]
) -> None:
    events = recorded(tmp_path / "out", *kills, seed=7, events=600, depth=4, checkpoint_interval_ms=interval_ms)
    check(tmp_path / "out", events, 600)


def test_who_runs_again_asks_below_before_it_answers(tmp_path: Path) -> None:
    """It heard nothing of the source since it recovered, so it asks whoever may have heard of it through it."""
    events = recorded(
        tmp_path / "out", "map-1.1@290", "source.0@480", seed=7, events=600, depth=4, checkpoint_interval_ms=150
    )
    asked = next(
        one for one in events if one["type"] == "determinants-requested" and one["at"] == "map-1.1" != one["of"]
    )
    assert (asked["of"], asked["channel"]) == ("source.0", "map-1.1>map-2.1")
    assert events[asked["re"]]["type"] == "determinants-request-received"
    states = [one["to"] for one in events[: asked["n"]] if one["type"] == "recovery-state" and one["at"] == "map-1.1"]
    assert states[-1] == "Running"


@pytest.mark.parametrize("seed", range(12))
def test_random_failures_at_full_sharing_depth_roll_nothing_back(tmp_path: Path, seed: int) -> None:
    draw = Random(f"connected {seed}")
    depth = draw.choice((3, 4, 5))
    tasks = [f"{vertex}.{i}" for vertex in ["source", *(f"map-{n}" for n in range(1, depth - 1))] for i in range(2)]
    at_ms = draw.randrange(100, 280)
    blow = "+".join(f"{task}@{at_ms + draw.choice((0, 0, 1, 4))}" for task in draw.sample(tasks, draw.choice((2, 3))))
    later = f"{draw.choice(tasks)}@{at_ms + draw.randrange(3, 30)}"
    events = recorded(tmp_path / "out", blow, later, seed=seed, events=700, depth=depth, checkpoint_interval_ms=120)
    check(tmp_path / "out", events, 700)
