"""Throughput and latency of each task, once in a while, as events."""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from typing import TYPE_CHECKING

from replay.model import Record, TaskId

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.engine import Engine


class _Reads:
    """When a source first read each offset. What a checkpoint has covered long since is forgotten."""

    def __init__(self) -> None:
        self._first = 0
        self._t_us = array("q")
        self._marks: deque[int] = deque()

    def read(self, offset: int, t_us: int) -> None:
        """Offsets come in order, and again after a failure."""
        if offset == self._first + len(self._t_us):
            self._t_us.append(t_us)

    def t_us(self, offset: int) -> int | None:
        """None where it is forgotten."""
        at = offset - self._first
        return self._t_us[at] if 0 <= at < len(self._t_us) else None

    def checkpoint_seen(self) -> None:
        """The one before may have been triggered before the mark then was made; the one before that was not."""
        self._marks.append(self._first + len(self._t_us))
        if len(self._marks) > 2:
            covered = self._marks.popleft()
            del self._t_us[: covered - self._first]
            self._first = covered


class Metrics:
    """Latency is measured where it ends: at the sinks, from the first time that a record's source read it.

    What an operator held for longer than two checkpoints has no latency any more: remembering all would grow with the
    run.
    """

    def __init__(self, engine: Engine):
        self.engine = engine
        self._reads: dict[str, _Reads] = {task: _Reads() for task in engine.sources}
        self._checkpoint = 0
        self._latencies_us: dict[TaskId, list[int]] = defaultdict(list)
        self._seen: dict[TaskId, tuple[int, int, int]] = {}

    def start(self) -> None:
        """The first after an interval."""
        self.engine.scheduler.after(self.engine.costs.metric_us, self._tick)

    def source_read(self, task: TaskId, offset: int, t_us: int) -> None:
        """A source read a record; the first time counts."""
        self._reads[task].read(offset, t_us)

    def sink_wrote(self, attempt: Attempt, record: Record, t_us: int) -> None:
        """A sink wrote a record."""
        reads, last_us = self._reads, -1
        for task, offset in record[3] or ():
            read_us = reads[task].t_us(offset)
            if read_us is not None and read_us > last_us:
                last_us = read_us
        if last_us >= 0:
            self._latencies_us[attempt.task].append(t_us - last_us)
            self.engine.failures.pace.wrote(t_us - last_us, t_us)

    def _tick(self) -> None:
        if self.engine.checkpoints.finished:
            return
        self.engine.scheduler.after(self.engine.costs.metric_us, self._tick)
        if self.engine.checkpoints.completed != self._checkpoint:
            self._checkpoint = self.engine.checkpoints.completed
            for reads in self._reads.values():
                reads.checkpoint_seen()
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
