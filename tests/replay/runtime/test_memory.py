"""What a run holds at its end does not depend on how long it was."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import replace

import pytest

from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine

SHORT, LONG = 4_000, 20_000
BYTES_PER_RECORD = 4
"""Less than any note of a record would take, be it one integer in an array."""
CALLED_FROM_THE_ENGINE = tracemalloc.Filter(True, "*/replay/*", all_frames=True)
FRAMES = 4
"""So many callers are looked through: what the engine has a library make for it counts too, what other threads of the
process of tests make meanwhile does not."""


class Dropped:
    """Members that nobody keeps: what a recording takes on a disk is not what is looked at."""

    def append(self, name: str, data: bytes) -> None:
        """Forgets it."""


def held_bytes(events: int, protocol: str) -> int:
    options = RecordOptions(events=events, rate_per_s=1000.0, checkpoint_interval_ms=200, protocol=protocol, seed=5)
    tracemalloc.start(FRAMES)
    try:
        run = run_of(options, PROTOCOLS)
        # What is held from one metric to the next depends on when the run ends.
        engine = Engine(replace(run, costs=replace(run.costs, metric_us=50_000)), Dropped())
        engine.run()
        gc.collect()
        assert engine.deliveries.written == events
        held = tracemalloc.take_snapshot().filter_traces([CALLED_FROM_THE_ENGINE])
        return sum(statistic.size for statistic in held.statistics("filename"))
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("protocol", ["clonos", "coordinated"])
def test_what_is_held_does_not_grow_with_the_run(protocol: str) -> None:
    held_bytes(SHORT, protocol)  # what is made once is made
    grown = held_bytes(LONG, protocol) - held_bytes(SHORT, protocol)
    assert grown < BYTES_PER_RECORD * (LONG - SHORT), f"{grown} bytes more for {LONG - SHORT} records more"
