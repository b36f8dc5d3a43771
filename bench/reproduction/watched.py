"""An engine that remembers what an experiment looks at: every write with its latency, every event with its time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

from replay.model import Record, TaskId
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.engine import Engine, Run

BIN_US = 100_000
_ON_THE_WAY_US = 800_000
# What a task gives has reached the output after so long.


class Watched(Engine):
    """Latency is the paper's: from when a record can be read at the input until it can be read at the output."""

    def __init__(self, run: Run):
        super().__init__(run, None)
        self.written_us = array("q")
        self.latency_us = array("q")
        self.sink_number = array("q")
        self.happened: list[tuple[int, str, dict[str, Any]]] = []
        self._numbers = {task.id: task.subtask for task in run.manifest.tasks}

    def sink_wrote(self, attempt: Attempt, record: Record, t_us: int) -> None:
        super().sink_wrote(attempt, record, t_us)
        arrived_us = [self.run_of.partitions[TaskId(task)].arrival_us(offset) for task, offset in record[3] or ()]
        self.written_us.append(t_us)
        self.latency_us.append(t_us - max(arrived_us))
        self.sink_number.append(self._numbers[attempt.task])

    def event(self, kind: str, *, re: int | None = None, **fields: Any) -> int:
        self.happened.append((self.scheduler.now_us, kind, fields))
        return super().event(kind, re=re, **fields)

    # --- what can be asked ---

    def writes(self, from_us: float, to_us: float, sink: int | None = None) -> Iterator[tuple[int, int]]:
        """Time and latency of what was written then (by one of the sink's tasks)."""
        for t_us, latency_us, number in zip(self.written_us, self.latency_us, self.sink_number, strict=True):
            if from_us <= t_us < to_us and sink in (None, number):
                yield t_us, latency_us

    def per_s(self, from_us: float, to_us: float) -> float:
        """Throughput at the output."""
        return sum(1 for _ in self.writes(from_us, to_us)) * 1e6 / (to_us - from_us)

    def bins(self, from_us: float, to_us: float, sink: int | None = None) -> list[float | None]:
        """The mean latency of each tenth of a second; None where nothing was written."""
        sums: dict[int, list[int]] = {}
        for t_us, latency_us in self.writes(from_us, to_us, sink):
            sums.setdefault(int((t_us - from_us) // BIN_US), []).append(latency_us)
        count = int((to_us - from_us) // BIN_US)
        return [sum(sums[one]) / len(sums[one]) if one in sums else None for one in range(count)]

    def at_us(self, kind: str, **fields: Any) -> list[int]:
        """When events of that kind happened, those with these fields."""
        wanted = fields.items()
        return [t for t, one, told in self.happened if one == kind and all(told.get(k) == v for k, v in wanted)]

    def epoch_age_us(self, killed_us: int) -> int:
        """How long before a kill the checkpoint was triggered from which the recovery begins."""
        triggered = {f["checkpoint"]: t for t, kind, f in self.happened if kind == "checkpoint-triggered"}
        begun_us = [
            triggered[f["checkpoint"]]
            for t, kind, f in self.happened
            if kind == "checkpoint-completed" and t < killed_us
        ]
        return killed_us - (begun_us[-1] if begun_us else 0)

    def reached_us(self, failure: int, phase: str) -> int | None:
        """How long after the failure the phase of its recovery was reached."""
        one = self.failures.all[failure]
        at_us = one.phases.reached_us.get(phase)
        return None if at_us is None else at_us - one.t_us

    def recovery_us(self, killed_us: int) -> int | None:
        """From the (first) kill until the latency is back to its average; None where it is not, before the input ends.

        Back is what stays below the largest mean that a tenth of a second had before the kill, for five of them. It is
        looked for once all that was lost has been done again: until then the task that failed gives nothing new, and
        what the others give may be as young as ever.
        """
        usual = [one for one in self.bins(killed_us - 4_000_000, killed_us) if one is not None]
        bound_us = max(usual) * 1.05
        end_us = max(one.arrival_us(one.records) for one in self.run_of.partitions.values())
        over_us = max((self._done_again_us(one) for one in range(len(self.failures.all))), default=killed_us)
        calm = disturbed = 0
        for n, latency_us in enumerate(self.bins(killed_us, end_us)):
            if latency_us is None or latency_us > bound_us:
                calm, disturbed = 0, n + 1
            else:
                calm += 1
            if calm >= 5 and killed_us + (n - 5) * BIN_US > over_us + _ON_THE_WAY_US:
                return disturbed * BIN_US
        return None

    def _done_again_us(self, failure: int) -> int:
        reached_us = self.failures.all[failure].phases.reached_us
        return max(reached_us.get(one, 0) for one in ("failed", "Running", "rebuilt", "rolled-back"))
