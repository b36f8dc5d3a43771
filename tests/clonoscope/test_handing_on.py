"""An attempt that several processes record in turn, as the workers of an engine do: epochs follow one another."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from clonoscope.publishing import publish
from clonoscope.reading import processes_of, size_of
from replay.bundle.reader import Bundle, open_bundle
from replay.debugger.replay import replay
from tests.clonoscope.recorded import calls_in, recording, takes_in

ROOT = Path(__file__).resolve().parents[2]

WORKER = textwrap.dedent(
    """
    import json, os, signal, sys
    import clonoscope

    def even():
        return clonoscope.external(lambda: "even")

    def odd():
        return clonoscope.external(lambda: "odd")

    folder, epochs, how = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
    task = clonoscope.start("job", dir=folder, dump_on=()).task("p", handed_on=True)
    for epoch in epochs:
        with task.epoch(epoch, because=how):
            for offset in range(3):
                task.take(offset, topic="in")
                (odd if epoch % 2 else even)()
            if how == "killed in an epoch" and epoch == epochs[-1]:
                os.kill(os.getpid(), signal.SIGKILL)
            print(epoch, flush=True)
            sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
    """
)


def begin(folder: Path, *epochs: int, how: str = "") -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WORKER, str(folder), json.dumps(epochs), how]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def run(folder: Path, *epochs: int, how: str = "") -> None:
    """Until it is killed: between epochs, or within the last."""
    with begin(folder, *epochs, how=how) as worker:
        worker.communicate("\n" * len(epochs))
    assert worker.returncode == -signal.SIGKILL


def dumped(folder: Path) -> Bundle:
    bundle = open_bundle(publish(folder / "job", folder / "out.zip"))
    assert bundle.check_shape() == []
    return bundle


def called(bundle: Bundle, attempt: int, epoch: int) -> list[tuple[str, str]]:
    """What was answered, and the function that asked, as the attempt's sites name it."""
    lines = bundle.members.read(f"tasks/p.0/{attempt}/sites.ndjson").splitlines()
    names = {site["site"]: site["function"] for site in map(json.loads, lines)}
    return [(call["value"], names[call["site"]]) for call in calls_in(bundle, "p.0", attempt, epoch)]


def events(bundle: Bundle, *kinds: str) -> list[dict[str, Any]]:
    return [event for event in bundle.events() if event["type"] in kinds]


def test_processes_in_turn_are_one_attempt(tmp_path: Path) -> None:
    for epochs in ((0, 2), (3,), (5, 6)):
        run(tmp_path, *epochs)
    with dumped(tmp_path) as bundle:
        assert bundle.manifest.complete and list(bundle.attempts("p.0")) == [0]
        assert list(bundle.epochs("p.0", 0, "main")) == [0, 2, 3, 5, 6]
        for epoch in (0, 2, 3, 5, 6):
            name = "odd" if epoch % 2 else "even"
            assert called(bundle, 0, epoch) == [(name, name)] * 3, epoch
            assert [(one.first_offset, one.records) for one in takes_in(bundle, "p.0", 0, epoch)] == [
                (0, 1),
                (1, 1),
                (2, 1),
            ]
        offsets = [
            json.loads(line)["offset"]
            for epoch in (0, 2, 3, 5, 6)
            for line in bundle.members.read(f"tasks/p.0/0/source/{epoch}.ndjson").splitlines()
        ]
        assert offsets == list(range(15))
        assert events(bundle, "task-failed", "gap") == []
        assert replay(bundle, task="p.0", attempt=0).verdict == "unknown"


def test_an_epoch_that_is_executed_once_more_begins_another_attempt_that_others_go_on_with(tmp_path: Path) -> None:
    run(tmp_path, 0, 1)
    run(tmp_path, 1, how="the job was started again")
    run(tmp_path, 2, 3)
    with dumped(tmp_path) as bundle:
        assert [list(bundle.epochs("p.0", attempt, "main")) for attempt in (0, 1)] == [[0, 1], [1, 2, 3]]
        (failed,) = events(bundle, "task-failed")
        assert (failed["attempt"], failed["cause"]) == (0, "the job was started again")
        started = events(bundle, "attempt-started")[-1]
        assert (started["checkpoint"], started["failure"], started["why"]) == (1, 0, "the job was started again")
        first = json.loads(bundle.members.read("tasks/p.0/1/source/1.ndjson").splitlines()[0])
        assert first["offset"] == 3


def test_a_process_that_is_killed_in_an_epoch_hands_nothing_on(tmp_path: Path) -> None:
    run(tmp_path, 0, 1, how="killed in an epoch")
    run(tmp_path, 1, 2)
    with dumped(tmp_path) as bundle:
        assert not bundle.manifest.complete
        assert [list(bundle.epochs("p.0", attempt, "main")) for attempt in (0, 1)] == [[0, 1], [1, 2]]
        (failed,) = events(bundle, "task-failed")
        assert (failed["attempt"], failed["cause"]) == (0, "its process ended without a word")
        assert called(bundle, 0, 1) == [("odd", "odd")] * 3


def test_those_who_come_at_once_are_attempts_of_their_own(tmp_path: Path) -> None:
    run(tmp_path, 0)
    workers = [begin(tmp_path, 1) for _ in range(4)]
    for worker in workers:
        assert worker.stdout is not None and worker.stdout.readline() == "1\n"
    for worker in workers:
        worker.communicate("\n")
    with dumped(tmp_path) as bundle:
        logs = [list(bundle.epochs("p.0", attempt, "main")) for attempt in bundle.attempts("p.0")]
        assert logs == [[0, 1], [1], [1], [1]]
        assert [len(calls_in(bundle, "p.0", attempt, 1)) for attempt in range(4)] == [3] * 4
        assert len(events(bundle, "task-failed")) == 3 and bundle.manifest.complete


def test_an_epoch_that_failed_is_not_gone_on_with(tmp_path: Path) -> None:
    with recording(tmp_path, "job") as made:
        task = made.task("p", handed_on=True)
        for epoch, fails in ((0, False), (1, True), (1, False), (2, False)):
            try:
                with task.epoch(epoch):
                    clonoscope.random()
                    if fails:
                        raise LookupError("price")
            except LookupError:
                assert fails
    with dumped(tmp_path) as bundle:
        assert [list(bundle.epochs("p.0", attempt, "main")) for attempt in (0, 1)] == [[0, 1], [1, 2]]
        (failed,) = events(bundle, "task-failed")
        assert failed["cause"] == "LookupError: price"


def test_what_rests_takes_little_room_and_is_whole_whatever_becomes_of_its_process(tmp_path: Path) -> None:
    run(tmp_path, *range(20))
    sizes = [path.stat().st_size for path in (tmp_path / "job" / "tasks").rglob("*.seg")]
    assert len(sizes) == 20 and max(sizes) < 4096
    assert [one.closed for one in processes_of(tmp_path / "job")] == [True]


def test_a_process_at_work_is_not_closed(tmp_path: Path) -> None:
    with begin(tmp_path, 0) as worker:
        assert worker.stdout is not None and worker.stdout.readline() == "0\n"
        (process,) = processes_of(tmp_path / "job")
        assert process.alive and not process.closed
        os.kill(worker.pid, signal.SIGKILL)
    (process,) = processes_of(tmp_path / "job")
    assert not process.alive and not process.closed


@pytest.mark.parametrize("keep", [1, 3])
def test_the_ring_holds_over_all_processes(tmp_path: Path, keep: int) -> None:
    for process in range(3):
        with recording(tmp_path, "job", keep=keep) as made:
            for epoch in range(process * 4, process * 4 + 4):
                with made.task("p", handed_on=True).epoch(epoch):
                    clonoscope.random()
    with dumped(tmp_path) as bundle:
        assert list(bundle.epochs("p.0", 0, "main"))[-keep:] == list(range(12 - keep, 12))
        assert len(list((tmp_path / "job" / "tasks").rglob("*.seg"))) == keep


def test_the_bound_holds_over_all_who_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clonoscope.Recording, "segment_bytes", 4096)
    most, sizes = 200_000, []
    with recording(tmp_path, "job") as one, recording(tmp_path, "job") as other:
        for made in (one, other):
            made.retention.max_bytes = most
        for epoch in range(200):
            with (one if epoch % 2 else other).task("p", handed_on=True).epoch(epoch):
                clonoscope.urandom(3000)
            for thread in threading.enumerate():
                if thread.name == "clonoscope-retention":
                    thread.join()
            sizes.append(size_of(one.folder))
        assert one.faults == other.faults == []
    assert max(sizes) < most * 1.3 < 200 * 3000, max(sizes)
    with dumped(tmp_path) as bundle:
        (attempt,) = bundle.attempts("p.0")
        assert bundle.epochs("p.0", attempt, "main")[-1] == 199


def test_processes_are_forgotten_of_which_nothing_is_left(tmp_path: Path) -> None:
    run(tmp_path, 0)
    run(tmp_path, 1, how="killed in an epoch")
    with begin(tmp_path, 2) as at_work, recording(tmp_path, "job") as resting:
        assert at_work.stdout is not None and at_work.stdout.readline() == "2\n"
        resting.rest_until_used()
        for path in (tmp_path / "job" / "processes").iterdir():
            os.utime(path, (1, 1))
        with recording(tmp_path, "job") as made:
            kept = {one.token: one.closed for one in processes_of(made.folder)}
        # The first ended between epochs. The second was killed, the third is at work, the others may go on.
        assert len(kept) == 4 and sorted(kept.values()) == [False, False, False, True], kept
        at_work.communicate("\n")
