"""Throughput and latency of each task, once in a while, as events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replay.model import Record, TaskId

if TYPE_CHECKING:
    from replay.runtime.attempt import Attempt
    from replay.runtime.engine import Engine


class Metrics:
    """Latency is measured where it ends: at the sinks, from the first time that a record's source read it."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self._read_us: dict[TaskId, dict[int, int]] = {}
        self._latencies_us: dict[TaskId, list[int]] = {}
        self._seen: dict[TaskId, tuple[int, int, int]] = {}

    def start(self) -> None:
        """The first after an interval."""
        self.engine.scheduler.after(self.engine.costs.metric_us, self._tick)

    def source_read(self, task: TaskId, offset: int, t_us: int) -> None:
        """A source read a record; the first time counts."""
        self._read_us.setdefault(task, {}).setdefault(offset, t_us)

    def sink_wrote(self, attempt: Attempt, record: Record, t_us: int) -> None:
        """A sink wrote a record."""
        read = [self._read_us[TaskId(task)][offset] for task, offset in record.lineage or ()]
        if read:
            self._latencies_us.setdefault(attempt.task, []).append(t_us - max(read))

    def _tick(self) -> None:
        if self.engine.checkpoints.finished:
            return
        self.engine.scheduler.after(self.engine.costs.metric_us, self._tick)
        for attempt in self.engine.current.values():
            if attempt.executing:
                self._report(attempt)

    def _report(self, attempt: Attempt) -> None:
        task, number = attempt.task, attempt.number
        taken, emitted = attempt.body.processed, attempt.body.emitted
        before, taken_before, emitted_before = self._seen.get(task, (number, 0, 0))
        if before != number:
            taken_before = emitted_before = 0
        self._seen[task] = (number, taken, emitted)
        latencies = sorted(self._latencies_us.pop(task, ()))
        attempt.event(
            "metric",
            task=task,
            records_in=taken - taken_before,
            records_out=emitted - emitted_before,
            latency_p50_us=_quantile(latencies, 0.5),
            latency_p99_us=_quantile(latencies, 0.99),
        )


def _quantile(ordered: list[int], share: float) -> int | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
