"""How many steps a second a replay writes on one core, and what that costs over executing the same records without."""

from __future__ import annotations

import gc
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingest.lake.steps import ParquetStepSink
from replay.bundle.reader import Bundle, open_bundle
from replay.debugger.executing.verify import verify_attempt
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay

Took = tuple[float, float]
"""Seconds of the processor, and of the wall clock."""


def rounds_of(pack: Path, task: str, folder: Path, rounds: int) -> dict[str, Any]:
    """Each in turn, so that whatever else the machine does falls on both; the medians."""
    plain: list[Took] = []
    stepped: list[Took] = []
    steps = 0
    with one_core():
        for _ in range(rounds):
            plain.append(_timed(pack, lambda bundle: _plain(bundle, task)))
            stepped.append(_timed(pack, lambda bundle: _with_steps(bundle, task, folder)))
            steps = _steps_in(folder)
            shutil.rmtree(folder)
    return {
        "steps": steps,
        "steps_per_s": {name: round(steps / _median(stepped, i)) for i, name in enumerate(("processor", "wall"))},
        "times_plain": {
            name: round(statistics.median(b[i] / a[i] for a, b in zip(plain, stepped, strict=True)), 2)
            for i, name in enumerate(("processor", "wall"))
        },
        "plain_s": {name: round(_median(plain, i), 2) for i, name in enumerate(("processor", "wall"))},
    }


@contextmanager
def one_core() -> Iterator[None]:
    """Of whatever this process starts, all threads included, one runs at a time."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _plain(bundle: Bundle, task: str) -> None:
    verify_attempt(bundle, Story.read(bundle.events()), bundle.graph.task(task).id, 0)


def _with_steps(bundle: Bundle, task: str, folder: Path) -> None:
    sink = ParquetStepSink(folder)
    outcome = replay(bundle, task=task, attempt=0, sink=sink)
    sink.finish()
    if outcome.verdict != "identical":
        raise SystemExit(f"the replay of {task} is {outcome.verdict}: {outcome.sentence}")


def _timed(pack: Path, run: Callable[[Bundle], None]) -> Took:
    gc.collect()
    processor_s, wall_s = time.process_time(), time.perf_counter()
    with open_bundle(pack) as bundle:
        run(bundle)
    return time.process_time() - processor_s, time.perf_counter() - wall_s


def _steps_in(folder: Path) -> int:
    from ingest.lake.step_reader import StepReader

    return StepReader(folder).steps


def _median(took: list[Took], i: int) -> float:
    return statistics.median(one[i] for one in took)
