"""Numbers for what tables name: tasks, logs, and places, which are epochs of logs, in the order of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from replay.model import MAIN, WORLD, Graph, thread_of_output

Numbers = npt.NDArray[np.int64]

_DENSE = 1 << 22
"""Up to so many combinations of epochs and logs are looked up in a table, more by bisection."""


class Names:
    """The tasks and logs of a job by number: tasks as the manifest lists them, main threads before outputs."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.tasks = [task.id for task in graph.tasks]
        self.task_number: dict[str, int] = {task: n for n, task in enumerate(self.tasks)}
        self.logs: list[tuple[str, str]] = [(task.id, thread) for task in graph.tasks for thread in task.threads]
        self.log_number = {log: n for n, log in enumerate(self.logs)}
        self.main_of = [self.log_number[task, MAIN] for task in self.tasks]
        self.task_of_log = np.array([self.task_number[task] for task, _ in self.logs], dtype=np.int64)

    def output_log(self, task: str, k: int) -> int:
        """The log of an output's thread."""
        return self.log_number[task, thread_of_output(k)]

    def reaches(self) -> npt.NDArray[np.bool_]:
        """Whether a task's logs can be on what another one sends: it is that task, or below it."""
        found = np.zeros((len(self.tasks), len(self.tasks)), dtype=np.bool_)
        for n, task in enumerate(self.tasks):
            found[n, n] = True
            for below in self.graph.all_downstream(task):
                found[n, self.task_number[below]] = True
        return found

    def holder(self, number: int) -> str:
        """A task, or behind all of them the world outside."""
        return self.tasks[number] if number < len(self.tasks) else WORLD


class Places:
    """Numbers of (log, epoch), by epoch first, then as `Names` has logs."""

    def __init__(self, logs: int, epochs: Iterable[Numbers], used: Iterable[tuple[Numbers, Numbers]]) -> None:
        self.count_of_logs = logs
        self.epochs = np.unique(np.concatenate([np.zeros(0, np.int64), *epochs]))
        keys = [np.unique(self._keys(log, epoch)) for log, epoch in used]
        self.keys = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]))
        self.log = self.keys % max(1, logs)
        self.epoch = self.epochs[self.keys // max(1, logs)] if len(self.keys) else self.keys
        self._dense: npt.NDArray[np.int32] | None = None
        if len(self.epochs) * logs <= _DENSE:
            self._dense = np.full(len(self.epochs) * logs, -1, dtype=np.int32)
            self._dense[self.keys] = np.arange(len(self.keys), dtype=np.int32)

    def __len__(self) -> int:
        return len(self.keys)

    def of(self, log: Any, epoch: Numbers) -> npt.NDArray[np.int32]:
        """The number of each; every one of them was among those used."""
        keys = self._keys(log, epoch)
        if self._dense is not None:
            return self._dense[keys]
        return np.searchsorted(self.keys, keys).astype(np.int32)

    def _keys(self, log: Any, epoch: Numbers) -> Numbers:
        found: Numbers = np.searchsorted(self.epochs, epoch) * self.count_of_logs + log
        return found


def renumbered(names: Iterable[Any], numbers: Mapping[Any, int]) -> Numbers:
    """Of each name its number; -1 for one that has none."""
    return np.array([numbers.get(name, -1) for name in names], dtype=np.int64)
