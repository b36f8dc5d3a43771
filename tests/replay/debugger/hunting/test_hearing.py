"""What an operator reads past its context is found with file and line; what the engine reads, or logs, is not."""

from __future__ import annotations

import gc
import os
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.debugger.hunting.readings import MOST_PLACES, Moment, Readings
from replay.debugger.hunting.watched import Hunt
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.simulation.commands import random_options
from replay.simulation.replays import recorded as recorded_as
from tests.replay.debugger.hunting.planting import HIDDEN, PLANTED, marked, names_of, recorded, shop
from tests.replay.debugger.worlds import Kept, bundle_of


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with shop(tmp_path_factory.mktemp("packages")) as folder:
        yield folder


def hunt_beside(step: Callable[[], int]) -> Hunt:
    return Hunt(step)


def hunted(members: Any, **asked: Any) -> tuple[list[dict[str, Any]], Kept, Any]:
    kept = Kept()
    hunt = hunt_beside(lambda: len(kept.rows) - 1)
    before = sys.getprofile()
    outcome = replay(bundle_of(members), **(asked or {"failure": 0}), sink=kept, operators=hunt.operator)
    assert sys.getprofile() is before
    return hunt.readings.to_json(), kept, outcome


NAMES = [one for one in names_of() if one != "Planted"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_planted_is_found_with_file_and_line_and_nothing_else(installed: Path, name: str) -> None:
    found, kept, _ = hunted(recorded(f"{PLANTED}:{name}"))
    # The order of a set is not called, and so not heard: it moves.
    expected = {one for one in marked(installed, name) if one[2] != "hash seed"}
    assert {(one["file"], one["line"], one["kind"]) for one in found} == expected
    for one in found:
        assert one["source"] and one["source"] in (installed / one["file"]).read_text("utf-8")
        if one["during"] == "on_record":
            assert one["count"] > 1
            row = kept.rows[one["step"]]
            assert (row.kind, row.epoch, row.record_count) == ("deliver-record", one["epoch"], one["record"])


HIDDEN_NAMES = names_of(HIDDEN)


@pytest.mark.parametrize("name", HIDDEN_NAMES)
def test_what_is_read_in_ways_that_are_easily_missed_is_found_too(installed: Path, name: str) -> None:
    found, _, _ = hunted(recorded(f"{HIDDEN}:{name}"))
    places = marked(installed, name, HIDDEN)
    # What loading the module reads is heard when it is loaded: once in a process.
    loading = {(file, line) for file, line, _ in marked(installed, "", HIDDEN)}
    heard = {(one["file"], one["line"], one["kind"]) for one in found if (one["file"], one["line"]) not in loading}
    moving = {place for place in places if f"# moves: {place[2]}" in line_of(installed, place)}
    assert heard == set(places) - moving


def test_what_loading_an_operators_module_reads_is_heard(installed: Path) -> None:
    members = recorded(f"{HIDDEN}:Seeded")
    for name in [one for one in sys.modules if one.partition(".")[0] == "shop"]:
        del sys.modules[name]
    found, _, _ = hunted(members)
    assert [(one["file"], one["line"], one["kind"]) for one in found] == marked(installed, "", HIDDEN)
    assert {one["during"] for one in found} == {"import"}


def line_of(folder: Path, place: tuple[str, int, str]) -> str:
    return (folder / place[0]).read_text("utf-8").splitlines()[place[1] - 1]


def test_whoever_is_called_when_garbage_is_collected_is_not_the_operator() -> None:
    """It happens in the midst of any line that makes an object; here with every few of them."""
    read: list[float] = []
    threshold = gc.get_threshold()

    def collecting(phase: str, about: dict[str, int]) -> None:
        read.append(time.perf_counter())

    bundle = recorded_as(random_options(718))  # of a join, which copies what it keeps
    hunt = hunt_beside(lambda: 0)
    gc.callbacks.append(collecting)
    gc.set_threshold(5)
    try:
        for task in bundle.tasks():
            replay(bundle, task=task, attempt=0, operators=hunt.operator)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(collecting)
    assert read and hunt.readings.to_json() == []


@pytest.mark.parametrize("seed", range(700, 720))
def test_nothing_is_found_in_the_sample_jobs(seed: int) -> None:
    """Random command lines: every job, protocol, sink and policy; every recovery, and every attempt by its own log."""
    options = random_options(seed)
    bundle = recorded_as(options)
    story = Story.read(bundle.events())
    asked: list[dict[str, Any]] = [{"failure": failure} for failure in sorted(story.failures)]
    asked += [{"task": task, "attempt": attempt} for task in bundle.tasks() for attempt in bundle.attempts(task)]
    for one in asked:
        hunt = hunt_beside(lambda: 0)
        outcome = replay(bundle, **one, operators=hunt.operator)
        where = f"seed {seed}: {options.command()}, {one}"
        assert outcome.to_json() == replay(bundle, **one).to_json(), where
        assert hunt.readings.to_json() == [], where


def test_the_engines_own_calls_are_no_operators(installed: Path) -> None:
    """A sink of steps that reads clock, chance, environment and files, below every call of the operator."""

    class Reading(Kept):
        def step(self, row: Any) -> None:
            self.read = [time.time(), random.random(), os.environ.get("HOME"), os.listdir("/"), uuid.uuid4()]
            super().step(row)

    # Written as if it stood in the engine: that is what tells its calls from the operator's.
    Reading.step.__globals__["__name__"] = "replay.debugger.writing.steps"
    try:
        kept = Reading()
        hunt = hunt_beside(lambda: len(kept.rows) - 1)
        replay(bundle_of(recorded(f"{PLANTED}:Innocent")), failure=0, sink=kept, operators=hunt.operator)
    finally:
        Reading.step.__globals__["__name__"] = __name__
    assert len(kept.rows) > 100 and kept.read
    assert hunt.readings.to_json() == []


def test_what_finding_and_making_an_operator_reads_is_no_reason(installed: Path) -> None:
    """It derives from an operator of the samples, in whose package is what looks for packages' files as well."""
    outcome = replay(bundle_of(recorded(f"{HIDDEN}:CountsInClass")), failure=0)
    assert outcome.verdict == "diverged" and outcome.detail["reason"]["code"] == "unlogged-choice", outcome.sentence
    assert "what its module or class keeps" in outcome.sentence and "installed.py" not in outcome.sentence


def test_readings_are_bounded_and_what_is_left_out_is_counted() -> None:
    readings = Readings()
    for line in range(MOST_PLACES + 7):
        readings.note("clock", "time.time", ("x.py", line), "", Moment("on_record"), "")
    assert (len(readings), readings.left_out) == (MOST_PLACES, 7)
