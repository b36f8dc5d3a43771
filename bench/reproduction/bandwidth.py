"""Figure 4.4b: what a sink's connections bring it, by how far determinants are shared."""

from __future__ import annotations

from typing import Any

from bench.reproduction.intervals import mean_of
from bench.reproduction.setting import Setting
from bench.reproduction.watched import Watched
from replay.bundle.frames import SendingFrame
from replay.model import TaskId
from replay.runtime.recorder import AttemptRecorder, Recorder

FROM_US, TO_US = 600_000, 1_100_000
DEPTHS = {"0": 0, "1": 1, "full": None}
CLOCKS = {"a reading a millisecond": ("processing", 1), "no clock": ("event", 0)}


class _Sendings(Recorder):
    """Counts what is sent towards sinks in the time that is looked at, and keeps nothing."""

    def __init__(self, last: str):
        super().__init__(None)
        self.delta_bytes = 0
        self._last = last

    def attempt(self, task: TaskId, attempt: int) -> AttemptRecorder:
        return _ToSink(self, task, attempt) if task.startswith(self._last) else super().attempt(task, attempt)


class _ToSink(AttemptRecorder):
    def __init__(self, recorder: _Sendings, task: TaskId, attempt: int):
        super().__init__(recorder, task, attempt)
        self._sendings = recorder

    def sending(self, k: int, epoch: int, frame: SendingFrame) -> None:
        if FROM_US <= frame.t_us < TO_US:
            self._sendings.delta_bytes += len(frame.delta)


def figure_44b(seeds: int) -> dict[str, Any]:
    """P = 5, D = 5, buffers of 32 KiB, 100 ms to flush: as in the paper, at a tenth of its rate for half a second."""
    return {
        clock: {f"depth {name}": _bandwidth(time, period_ms, depth, seeds) for name, depth in DEPTHS.items()}
        for clock, (time, period_ms) in CLOCKS.items()
    }


def _bandwidth(time: str, period_ms: int, sharing_depth: int | None, seeds: int) -> dict[str, Any]:
    found = [bandwidth(time, period_ms, sharing_depth, seed) for seed in range(1, seeds + 1)]
    return {
        "determinants_kib_per_s": mean_of(deltas for deltas, _ in found),
        "records_per_s": mean_of((records for _, records in found), digits=0),
    }


def bandwidth(
    time: str, period_ms: int, sharing_depth: int | None, seed: int, *, parallelism: int = 5
) -> tuple[float, float]:
    """KiB of determinants and records a second at one sink, of which there are as many as the parallelism says."""
    setting = Setting(
        parallelism=parallelism,
        record_us=100,
        interval_ms=1000,
        lasts_s=1.1,
        state_mib=0,
        time=time,
        sharing_depth=sharing_depth,
        buffer_bytes=32768,
        flush_ms=100,
        options={"clock_period_ms": period_ms},
        costs={"batch_records": 32},
    )
    engine = Watched(setting.run(seed))
    engine.recorder = counted = _Sendings(f"map-{setting.depth - 2}.")
    engine.run()
    each = (TO_US - FROM_US) / 1e6 * setting.parallelism
    return counted.delta_bytes / 1024 / each, engine.per_s(FROM_US, TO_US) / setting.parallelism
