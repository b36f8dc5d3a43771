"""A replay in its child process: steps that can be read, an outcome, limits, cancelling, and no orphans."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bench.server_process import wait_until
from ingest.lake.step_reader import StepReader
from ingest.launch import (
    IngestCancelled,
    Progress,
    ReplayChildDied,
    ReplayFailed,
    ReplayRequest,
    SpareReplay,
    run_replay,
)
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.ingest.processes import descendants, parent_of, wait_until_gone

ROOT = Path(__file__).resolve().parents[2]


def pack_of(folder: Path, **options: object) -> Path:
    record(RecordOptions(**options), folder / "bundle.tar", protocols=PROTOCOLS)
    container = open_container(folder / "bundle.tar")
    try:
        write_pack(container, folder / "bundle.pack")
    finally:
        container.close()
    return folder / "bundle.pack"


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    return pack_of(folder, seed=7, events=2000, kills=("map-1.0@700",), checkpoint_interval_ms=400)


@pytest.fixture(scope="module")
def long_pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Takes some seconds to replay."""
    folder = tmp_path_factory.mktemp("long")
    return pack_of(folder, seed=7, events=60_000, kills=("map-1.0@29000",), checkpoint_interval_ms=28_000)


def test_the_child_writes_what_a_replay_here_says(pack: Path, tmp_path: Path):
    told: list[Progress] = []
    outcome = run_replay(ReplayRequest(pack, tmp_path / "steps", failure=0), tmp_path / "replay.log", told.append)
    with open_bundle(pack) as bundle:
        here = replay(bundle, failure=0).to_json()
    assert outcome == here
    assert outcome["verdict"] == "identical"
    reader = StepReader(tmp_path / "steps")
    assert reader.complete
    assert reader.steps == outcome["steps"] > 100
    assert [row["step"] for row in reader.between(0, outcome["steps"])] == list(range(outcome["steps"]))
    assert reader.step(outcome["steps"] - 1)["kind"] == "finish"
    assert reader.rows("SELECT count(*) FROM buffers WHERE matches IS DISTINCT FROM true") == [(0,)]
    assert told[0].phase == "reading"
    assert "replay ended" in (tmp_path / "replay.log").read_text()


def test_what_cannot_be_replayed_fails_with_a_sentence(pack: Path, tmp_path: Path):
    with pytest.raises(ReplayFailed) as failed:
        run_replay(ReplayRequest(pack, tmp_path / "steps", failure=99), tmp_path / "replay.log")
    assert "99" in str(failed.value)
    with pytest.raises(ReplayFailed):
        run_replay(ReplayRequest(tmp_path / "none.pack", tmp_path / "steps", failure=0), tmp_path / "replay.log")


class OnFirst:
    """Does something once, when the replay is under way."""

    def __init__(self, act) -> None:
        self.act = act
        self.done = False

    def __call__(self, progress: Progress) -> None:
        if progress.done and not self.done:
            self.done = True
            self.act()


def begun() -> dict[int, str]:
    """What this process itself began: a server that other tests still use has a child waiting, too."""
    return {pid: command for pid, command in descendants(os.getpid()).items() if parent_of(pid) == os.getpid()}


def children() -> list[int]:
    """What is just being started has no command line for a moment, and is not among them."""
    return [pid for pid, command in begun().items() if "ingest.jobs.replay" in command]


@pytest.mark.processes
def test_cancelling_ends_the_child_and_steps_so_far_can_be_read(long_pack: Path, tmp_path: Path):
    cancelled, seen = threading.Event(), []

    def cancel() -> None:
        seen.extend(children())
        cancelled.set()

    request = ReplayRequest(long_pack, tmp_path / "steps", failure=0)
    written = (tmp_path / "steps" / "manifest.json").exists
    with pytest.raises(IngestCancelled):
        run_replay(request, tmp_path / "replay.log", OnFirst(cancel), lambda: cancelled.is_set() and written())
    assert len(seen) == 1
    wait_until_gone(seen)
    reader = StepReader(tmp_path / "steps")
    assert not reader.complete
    assert reader.step(0)["step"] == 0


@pytest.mark.processes
def test_a_killed_child_is_told_from_a_failed_replay(long_pack: Path, tmp_path: Path):
    request = ReplayRequest(long_pack, tmp_path / "steps", failure=0)
    with pytest.raises(ReplayChildDied, match="SIGKILL"):
        run_replay(request, tmp_path / "replay.log", OnFirst(lambda: os.kill(children()[0], signal.SIGKILL)))


@pytest.mark.processes
def test_a_spare_child_does_the_next_replay(pack: Path, tmp_path: Path):
    before = begun().keys()
    spare = SpareReplay(tmp_path / "replay.log")
    spare.prepare()
    spare.prepare()
    (waiting,) = begun().keys() - before
    wait_until(lambda: waiting in children(), "the start of the child", 10)
    seen: list[int] = []
    request = ReplayRequest(pack, tmp_path / "steps", failure=0)
    outcome = run_replay(
        request, tmp_path / "replay.log", lambda _: seen.extend(children() if not seen else ()), spare=spare
    )
    assert seen == [waiting]
    assert outcome["verdict"] == "identical"
    wait_until_gone(seen)


@pytest.mark.processes
def test_a_spare_child_that_was_killed_is_replaced_and_one_that_is_not_needed_ends(pack: Path, tmp_path: Path):
    spare = SpareReplay(tmp_path / "replay.log")
    spare.prepare()
    (killed,) = wait_until(children, "the start of a child", 10)
    os.kill(killed, signal.SIGKILL)
    os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
    request = ReplayRequest(pack, tmp_path / "steps", failure=0)
    assert run_replay(request, tmp_path / "replay.log", spare=spare)["verdict"] == "identical"
    spare.prepare()
    waiting = wait_until(children, "the start of another one", 10)
    assert len(waiting) == 1
    spare.stop()
    wait_until_gone(waiting)
    spare.prepare()
    assert children() == []


def test_the_child_ends_with_its_parents_pipe(long_pack: Path, tmp_path: Path):
    child = subprocess.Popen(
        [sys.executable, "-m", "ingest.jobs.replay"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    request = {"pack": str(long_pack), "folder": str(tmp_path / "steps"), "failure": 0}
    child.stdin.write(json.dumps(request) + "\n")
    child.stdin.flush()
    assert "progress" in json.loads(child.stdout.readline())
    child.stdin.close()
    assert child.wait(5) == 0
    child.stdout.close()
