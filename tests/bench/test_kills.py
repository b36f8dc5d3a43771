"""Short runs of the kill benches, and that their checks see what is half done."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from bench.kill_checks import Checks
from bench.server_process import ROOT, processes_of, wait_until
from dashboard import jobs, store
from dashboard.models import Job, Status
from tests.dashboard.work.conftest import data, migrated_sqlite, sqlite, write_bundle

__all__ = ["data", "migrated_sqlite", "sqlite"]


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("mode", "times"),
    [("embedded", 4), pytest.param("redis", 2, marks=pytest.mark.services)],
    ids=["embedded", "redis"],
)
def test_no_kill_of_a_real_process_leaves_anything_half_done(mode: str, times: int, tmp_path: Path) -> None:
    line = [sys.executable, "-m", "bench.kills", "--times", str(times), "--seed", "5", "--mode", mode]
    ran = subprocess.run(
        [*line, "--data", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=880
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]
    report = json.loads(ran.stdout.splitlines()[-1])
    assert report["kills"] == times and report["half_done"] == [] and report["finished"] > 0, report


@pytest.mark.processes
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_killed_follower_goes_on_and_makes_the_tables_of_a_whole_ingest(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "bench.follow_kills", "--times", "2", "--seed", "7", "--data", str(tmp_path)]
    ran = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, timeout=880)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]
    report = json.loads(ran.stdout.splitlines()[-1])
    assert report["kills"] == 2 and report["jobs"] == 1 and report["wrong"] == [], report


@pytest.mark.processes
def test_a_child_that_waits_is_told_from_one_at_work(tmp_path: Path) -> None:
    answers, full = os.pipe()
    os.set_blocking(full, False)
    while select.select([], [full], [], 0)[1]:
        os.write(full, bytes(4096))
    os.set_blocking(full, True)
    child = subprocess.Popen(
        [sys.executable, "-m", "ingest.jobs.replay"],
        cwd=ROOT,
        env={**os.environ, "CLONOSCOPE_DATA": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=full,
    )
    with child:
        try:
            assert [one.kind for one in processes_of(tmp_path)] == ["spare"]
            request = {"pack": str(tmp_path / "none.pack"), "folder": str(tmp_path / "steps"), "failure": 0}
            child.stdin.write(json.dumps(request).encode() + b"\n")
            child.stdin.flush()
            # It can't say that it begins, as nobody reads what is in the pipe.
            wait_until(lambda: [one.kind for one in processes_of(tmp_path)] == ["replay"], "work", 60)
        finally:
            child.kill()
            os.close(answers)
            os.close(full)


@pytest.fixture
def checks(sqlite: str) -> Checks:
    """Of the bench, on this test's database; its own start would take the data folder from the environment."""
    made = object.__new__(Checks)
    made.jobs, made.rows_of_content = jobs, {}
    return made


@pytest.fixture
def job(checks: Checks, tmp_path: Path) -> Job:
    owner = User.objects.create_user("ada")
    return jobs.create_job_from_file(owner, write_bundle(tmp_path / "bundle"), "a bundle")


def test_the_bench_sees_a_ready_job_without_tables(checks: Checks, job: Job) -> None:
    assert checks.pending() == [job.id]
    Job.objects.update(status=Status.READY)
    [found, still_open] = checks.half_done()
    assert "not in the lake" in found and "still open" in still_open


def test_the_bench_sees_a_failure_without_words(checks: Checks, job: Job) -> None:
    Job.objects.update(status=Status.FAILED)
    assert checks.failed() == ([], [job.id])
    Job.objects.update(message="The driver died.")
    assert checks.failed() == ([job.id], [])


def test_the_bench_sees_every_kind_of_leftover(checks: Checks, job: Job) -> None:
    assert checks.leftovers() == []
    planted = [
        store.staging_path(7, 1),
        store.incoming() / "j_000000000000.lock",
        store.pack_path("j_000000000000"),
        store.lake_path(".versions") / f"{job.id}.7-1",
        store.replays() / ".versions" / "r_000000000000.7-1",
    ]
    for path in planted:
        path.mkdir(parents=True)
    assert sorted(checks.leftovers()) == sorted(map(str, planted))
