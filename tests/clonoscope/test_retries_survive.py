"""Retries of workers, of several tasks, on disks that are full or damaged; and what a loss of power leaves."""

import contextlib
import os
from pathlib import Path

import pytest

import clonoscope
from clonoscope import Recording
from clonoscope import words as w
from clonoscope.reading import attempts_of
from tests.clonoscope.recorded import recording
from tests.clonoscope.retried import Broken, chance, epoch_of, times, told_in


def test_a_forked_worker_takes_what_the_one_before_was_given(tmp_path: Path) -> None:
    def work(end: int) -> list[float]:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            with made.task("p").epoch(0) as task:
                task.take(0, topic="in")
                for _ in range(end):
                    os.write(writing, f"{clonoscope.random()!r}\n".encode())
                os.kill(os.getpid(), 9)
        os.close(writing)
        with open(reading) as pipe:
            found = [float(line) for line in pipe]
        os.waitpid(child, 0)
        return found

    with recording(tmp_path, retry="replay") as made:
        first, second, third = work(3), work(7), work(9)
    assert second[:3] == first and third[:7] == second


def test_who_died_while_it_wrote_down_what_it_took_is_passed_over(tmp_path: Path) -> None:
    """Nothing that it did not take was answered behind the entry that it never finished."""

    def asked(count: int) -> list[float]:
        return [clonoscope.external(chance) for _ in range(count)]

    with epoch_of(tmp_path, fails=True):
        given = asked(50)
    child = os.fork()
    if child == 0:
        with epoch_of(tmp_path) as task:
            asked(10)
            padded = w.padded_to_words(b"half of an answer")
            task.log._announce(w.long_header(w.CALL, b"half of an answer", padded), len(padded) // w.WORD_BYTES)
            os.kill(os.getpid(), 9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
    with epoch_of(tmp_path):
        again = asked(60)
    assert again[:50] == given and not set(again[50:]) & set(given)
    assert [(one["before"], one["how"]) for one in told_in(tmp_path)] == [(0, "used-up")]


def test_what_an_attempt_was_killed_of_before_it_could_fail_is_asked_anew(tmp_path: Path) -> None:
    """Else all that come after it are given the exception, and fail of it, for ever."""
    answers = iter([LookupError("sold"), LookupError("sold"), 7])

    def shop() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def work() -> int:
        return clonoscope.external(shop)

    child = os.fork()
    if child == 0:
        with epoch_of(tmp_path):
            try:
                work()
            except LookupError:
                os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    next(answers)  # the child's
    with pytest.raises(LookupError, match="sold"), epoch_of(tmp_path):
        work()
    next(answers)
    with epoch_of(tmp_path):
        answers = iter([7])
        assert work() == 7


def test_tasks_of_a_process_keep_to_their_own(tmp_path: Path) -> None:
    given = []
    for fails in (True, False):
        with recording(tmp_path, retry="replay", dump_on=()) as made, contextlib.suppress(Broken):
            tasks = [made.task("p", number) for number in range(3)]
            for task in tasks:
                task.begin_epoch(0)
            of_all = []
            for turn in range(30):
                task = tasks[turn % 3]
                with task.at_work():
                    task.take(turn, topic="in")
                    of_all.append(clonoscope.random())
            given.append(of_all)
            for task in tasks:
                task.fail("broken") if fails else task.end_epoch()
    assert given[0] == given[1]


@pytest.mark.parametrize("retry", [None, "replay"])
def test_a_job_waits_for_a_slow_disk_where_its_answers_are_to_be_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retry: str | None
) -> None:
    monkeypatch.setattr(Recording, "segment_bytes", 4096)
    monkeypatch.setattr("clonoscope.segments._PATIENCE_S", -1)  # no disk is quick enough
    monkeypatch.setattr("clonoscope.segments.Supply.begin", lambda _: None)  # nor is anything made ahead
    with recording(tmp_path, retry=retry, dump_on=()) as made, made.task("p").epoch(0) as task:
        task.take(0, topic="in")
        given = times(2000)
    (log,) = attempts_of(made.folder)
    told = [entry.fields["value"] for entry in log.entries() if entry.kind == "call"]
    if retry is None:
        assert len(told) < len(given) and "the disk is too slow to be waited for" in made.faults[0]
    else:
        assert told == given and made.faults == []


def test_what_is_read_is_not_let_go_for_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recording, "segment_bytes", 4096)
    with epoch_of(tmp_path, fails=True):
        given = times(20_000)
    with recording(tmp_path, retry="replay", dump_on=()) as made:
        made.retention.max_bytes = 250_000
        with made.task("p").epoch(0) as task:
            task.take(0, topic="in")
            assert times(20_000) == given


@pytest.mark.parametrize("where", [0.0, 0.3, 0.9])
def test_damage_ends_it_and_fails_nothing(where: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recording, "segment_bytes", 4096)
    with epoch_of(tmp_path, fails=True):
        given = [clonoscope.random() for _ in range(5_000)]
    segments = sorted(tmp_path.rglob("*.seg"), key=lambda one: int(one.stem))
    damaged = segments[int(where * len(segments))]
    damaged.write_bytes(b"\xff" * damaged.stat().st_size)
    with recording(tmp_path, retry="replay") as made, made.task("p").epoch(0) as task:
        task.take(0, topic="in")
        again = [clonoscope.random() for _ in range(5_000)]
    common = next(n for n in range(5_000) if again[n] != given[n])
    assert again[common:] != given[common:] and common <= (where + 0.2) * 5_000


def test_an_attempt_that_is_still_at_work_elsewhere_is_said_to_be(tmp_path: Path) -> None:
    with recording(tmp_path, retry="replay") as made:
        with made.task("p").epoch(0):
            clonoscope.random()
        child = os.fork()
        if child == 0:
            with recording(tmp_path, retry="replay") as other, other.task("p").epoch(0):
                clonoscope.random()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    (began,) = [
        entry.fields
        for log in attempts_of(tmp_path / "orders")
        for entry in log.entries()
        if entry.kind == "event" and entry.fields["type"] == "retry-began"
    ]
    assert began["alive"] is True


def test_an_epochs_end_brings_it_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    really = os.fsync

    def fsync(handle: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        really(handle)

    monkeypatch.setattr(Recording, "segment_bytes", 4096)
    monkeypatch.setattr(os, "fsync", fsync)
    with recording(tmp_path, sync=True) as made:
        for epoch in range(3):
            with made.task("p").epoch(epoch):
                for _ in range(700):
                    clonoscope.time_ns()
        assert made.faults == []
    sealed = [name for name in synced if name.endswith(".seg")]
    assert sealed == sorted(set(sealed), key=lambda one: int(one.partition(".")[0])) and len(sealed) >= 3
    assert {"0", "p.0", "tasks", "orders"} <= set(synced)


def test_a_disk_that_refuses_is_said_and_fails_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(handle: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with recording(tmp_path, sync=True) as made:
        with made.task("p").epoch(0):
            clonoscope.random()
        assert made.faults == ["p.0: Input/output error"]
    (log,) = attempts_of(tmp_path / "orders")
    (failed,) = [entry.fields for entry in log.entries() if entry.kind == "event"]
    assert (failed["type"], failed["epoch"]) == ("sync-failed", 0)


def test_a_kill_right_after_a_segment_was_begun_loses_nothing(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with recording(tmp_path, retry="replay", dump_on=()) as made, made.task("p").epoch(3) as task:
            task.take(3, topic="in")
            os.write(writing, repr(times(20)).encode())
            task.log.turn_over(len(task.log.view))
            os.kill(os.getpid(), 9)
    os.close(writing)
    with open(reading) as pipe:
        given = pipe.read()
    os.waitpid(child, 0)
    with epoch_of(tmp_path, 3):
        assert repr(times(20)) == given
