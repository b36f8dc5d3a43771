"""The bench of pages: its large job is the recorded one with longer logs, and what misses a goal is named."""

import tarfile
from pathlib import Path

from bench.pages import GOALS, past
from bench.pages_jobs import multiplied
from bench.pages_visits import of_frames
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.log.codec import ends_of
from replay.protocols import PROTOCOLS


def members_of(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        streams = {one.name: archive.extractfile(one) for one in archive.getmembers()}
        return {name: stream.read() for name, stream in streams.items() if stream}


def test_the_large_job_has_the_same_members_with_main_logs_many_times_over(tmp_path: Path) -> None:
    small, large = tmp_path / "small.tar", tmp_path / "large.tar"
    record(RecordOptions(job="pass-through", seed=1, events=200), small, protocols=PROTOCOLS)
    before = members_of(small)
    logs = {name for name in before if "/0/main/" in name and before[name]}
    count = sum(1 for name in logs for _ in ends_of(before[name]))
    multiplied(small, large, 5 * count)
    assert logs and members_of(large) == {name: data * (5 if name in logs else 1) for name, data in before.items()}


def test_what_misses_its_goal_is_named() -> None:
    good, slow = {"median_ms": 16.7, "p95_ms": 16.7}, {"median_ms": 16.7, "p95_ms": GOALS["p95_ms"] + 1}
    moved = {"pan": good, "zoom": slow, "longest_task_ms": 0}
    page = {"picture_ms": 900, "interactive_ms": 1_600, "kb": 600, "longest_task_ms": 100}
    told = {"spacetime": {"folded": {**moved, "zoom": good}, "unfolded": moved}, "pages": {"space-time": page}}
    assert past(told) == ["unfolded, zoom: p95_ms 34.0", "space-time: interactive_ms 1600"]


def test_of_a_hundred_frames_five_may_be_longer_than_the_95th() -> None:
    assert of_frames(range(1, 101)) == {"median_ms": 50.5, "p95_ms": 95, "most_ms": 100}
