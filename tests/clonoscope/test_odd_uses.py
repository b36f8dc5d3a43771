"""Odd uses: what can be no place of a record is refused, and nothing of them is at the cost of the job."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clonoscope
from clonoscope import Recording
from clonoscope.adapters.partitions import Partitions
from tests.clonoscope.recorded import calls_in, dumped, recording, takes_in


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Segments of 4 KiB."""
    monkeypatch.setattr(Recording, "segment_bytes", 4096)
    return 4096


WRONG: dict[str, Callable[[clonoscope.Task], Any]] = {
    "no offset": lambda task: task.take(None),  # type: ignore[arg-type]
    "an offset that is no number": lambda task: task.take(float("nan")),  # type: ignore[arg-type]
    "half an offset": lambda task: task.take(7.5),  # type: ignore[arg-type]
    "a topic that is none": lambda task: task.take(7, topic=["in"]),  # type: ignore[arg-type]
    "a topic that nobody can write": lambda task: task.take(7, topic="\ud800"),
    "a topic as long as a book": lambda task: task.take(7, topic="in" * 100_000),
    "a partition that is no number": lambda task: task.take(7, topic="in", partition=float("nan")),  # type: ignore[arg-type]
    "an offset of 5,000 digits": lambda task: task.take(10**5000),
    "data that are no bytes": lambda task: task.take(7, data="text"),  # type: ignore[arg-type]
    "a run from nowhere": lambda task: task.take_range(None, 3),  # type: ignore[arg-type]
    "a hash that is none": lambda task: task.take_range(1, 3, sha256=b"\0"),  # type: ignore[arg-type]
    "a state of no checkpoint": lambda task: task.state("a", 1),  # type: ignore[arg-type]
    "records from nowhere": lambda task: list(task.records("ab", "0")),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("settings", [{}, {"retry": "replay"}], ids=str)
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_can_be_no_place_of_a_record_is_refused_and_harms_nothing(
    wrong: Callable[[clonoscope.Task], Any], settings: dict[str, Any], small: int, tmp_path: Path
) -> None:
    with recording(tmp_path, **settings) as made, made.task("p").epoch(0) as task:
        for offset in range(5):
            task.take(offset, topic="in")
            with pytest.raises(clonoscope.WrongUse):
                wrong(task)
        asked = [clonoscope.time_ns() for _ in range(1000)]  # over several segments
        with dumped(made, tmp_path / "out.zip") as bundle:
            assert [call["value"] for call in calls_in(bundle, "p.0", 0, 0)] == asked
            assert [(one.first_offset, one.records) for one in takes_in(bundle, "p.0", 0, 0)] == [(0, 5)]
            assert not [event for event in bundle.events() if event["type"] == "gap"]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise LookupError("nothing to say")


FAULTS = {
    "one that can't be said": Unspeakable(),
    "half of a pair": KeyError("\ud800"),
    "a book": ValueError("x" * 9**7),
}


@pytest.mark.parametrize("settings", [{}, {"redact": ["a"]}], ids=str)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_the_job_fails_of_its_own_exception_whatever_that_says(
    fault: Exception, settings: dict[str, Any], tmp_path: Path
) -> None:
    def refuse() -> None:
        raise fault

    with recording(tmp_path, **settings) as made:
        for number in range(2):
            with pytest.raises(type(fault)) as raised, made.task("p").epoch(number):
                clonoscope.external(refuse)
            assert raised.value is fault
        with dumped(made, tmp_path / "out.zip") as bundle:
            failed = [event["cause"] for event in bundle.events() if event["type"] == "task-failed"]
    assert len(failed) == 2 and all(cause.startswith(f"{type(fault).__qualname__}: ") for cause in failed)


@pytest.mark.parametrize("settings", [{}, {"retry": "replay"}], ids=str)
def test_a_task_whose_folder_cannot_be_is_a_gap(settings: dict[str, Any], tmp_path: Path) -> None:
    with recording(tmp_path, **settings) as made:
        for _ in range(2):
            with made.task("x" * 300).epoch(0) as task:
                task.take(0, topic="in")
                assert clonoscope.external(lambda: 7) == 7
        assert made.faults and "File name too long" in made.faults[0]


@pytest.mark.parametrize("subtask", ["1", None, 1.0, -1])
def test_what_is_no_number_of_a_subtask_is_refused(subtask: Any, tmp_path: Path) -> None:
    with recording(tmp_path) as made, pytest.raises(clonoscope.WrongUse, match="a task can't be called 'p'"):
        made.task("p", subtask)


def test_an_id_that_cannot_be_found_is_missing_and_fails_no_job(tmp_path: Path) -> None:
    with recording(tmp_path, dump_on=()) as made:
        partitions = Partitions(made, {}, identify=lambda topic, key, value: str(key.decode()))
        of = partitions.of(".orders", 0)
        with of.task.epoch(0):
            partitions.again(".orders", 0)
            for key in (b"1207", None):
                assert partitions.output("prices", key, b"{}") is of
        with dumped(made, tmp_path / "out.zip") as bundle:
            given = [json.loads(line) for line in bundle.members.read("tasks/~.orders.0/0/sink/0.ndjson").splitlines()]
            (gap,) = [event["why"] for event in bundle.events() if event["type"] == "gap"]
    assert [line.get("id") for line in given] == ["1207", None]
    assert gap == "an output's id could not be recorded: AttributeError"


def test_offsets_may_be_numbers_of_numpy(small: int, tmp_path: Path) -> None:
    with recording(tmp_path, payload="full") as made, made.task("p").epoch(0) as task:
        for offset in np.arange(1000, dtype=np.int64):
            task.take(offset, topic="in", partition=np.int32(3), record=["k", 0, 1], data=bytearray(b"x"))
            clonoscope.time_ns()
        task.take_range(np.int64(5000), np.uint64(5010), topic="in", partition=np.int32(3))  # type: ignore[arg-type]
        with dumped(made, tmp_path / "out.zip") as bundle:
            runs = [range(one.first_offset, one.first_offset + one.records) for one in takes_in(bundle, "p.0", 0, 0)]
            assert [offset for run in runs for offset in run] == [*range(1000), *range(5000, 5010)]
            assert len(calls_in(bundle, "p.0", 0, 0)) == 1000
        assert made.faults == []


def test_a_task_may_read_more_inputs_than_a_segment_can_name(small: int, tmp_path: Path) -> None:
    files = [f"s3://orders/of/a/day/part-{number:05}.json" for number in range(3000)]
    with recording(tmp_path, keep=2) as made:
        for epoch in range(4):
            with made.task("p").epoch(epoch) as task:
                # The first one again and again, of which the segments that named it are gone at the end.
                for number, file in enumerate(files):
                    task.take(epoch, topic=file)
                    task.take(3000 * epoch + number, topic=files[0])
                    clonoscope.time_ns()
        with dumped(made, tmp_path / "out.zip") as bundle:
            (one,) = [task for task in bundle.manifest.tasks if task.id == "p.0"]
            names = [partition.removesuffix("[0]") for partition in one.partitions]
            taken = [(names[take.channel], take.first_offset) for take in takes_in(bundle, "p.0", 0, 3)]
    wanted = [pair for number, file in enumerate(files) for pair in ((file, 3), (files[0], 9000 + number))]
    assert taken == wanted and made.faults == []
