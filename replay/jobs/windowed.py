"""`windowed`: a layer of sliding windows in the middle of maps, emitting all that a window holds, put together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from replay.jobs.graphs import Shape
from replay.jobs.options import RecordOptions
from replay.jobs.pass_through import PassThrough
from replay.jobs.pass_through_job import map_options, map_services, partitions_of, ships_of
from replay.jobs.rows import Step, row, source, time_of
from replay.jobs.sample import SampleJob
from replay.model import Record
from replay.runtime.operators import Context, Lineage
from replay.runtime.operators.panes import Window
from replay.runtime.operators.windows import WindowOperator

_SIZE_MS, _SLIDE_MS = 1000, 100
_DEPTH = 3


class Contents(WindowOperator):
    """What came, in the order in which it came."""

    description = "Puts together what came in each sliding window, in the order in which it came."

    def add(self, held: Any, record: Record, context: Context) -> Any:
        """Behind the others."""
        held.append(record.value["amount"])
        return held

    def results(self, key: Any, window: Window, held: Any, lineage: Lineage) -> Iterable[Record]:
        """With the window's bounds."""
        value = {"contents": held, "starttime": window.start_ms, "endtime": window.end_ms}
        yield Record(key, window.last_ms, value, lineage)


def _shape(options: RecordOptions) -> Shape:
    depth = options.depth or 5
    time = time_of(options, "processing")
    before = (depth - _DEPTH) // 2
    maps = [
        Step(f"map-{i}", PassThrough, map_options(options, time), services=map_services(options, time))
        for i in range(1, depth - _DEPTH + 1)
    ]
    window = {
        "time": time,
        "size_ms": options.window_ms or _SIZE_MS,
        "slide_ms": options.slide_ms or _SLIDE_MS,
        "keyed": options.stream != "non-keyed",
    }
    steps = [*maps[:before], Step("window", Contents, window, clocked=time == "processing"), *maps[before:]]
    return row(options, source(options, time=time), steps, ships_of(options, depth))


WINDOWED = SampleJob(
    name="windowed",
    description="As pass-through, with a layer of sliding windows of 1 s by 100 ms that put together what they hold.",
    shape=_shape,
    partitions=partitions_of,
    depth=_DEPTH,
    times=("processing", "ingestion", "event"),
    takes=frozenset(
        {"stream", "state_access", "clock_period_ms", "window_ms", "slide_ms", "watermark_ms", "watermark_records"}
    ),
    shows_all=True,
)
