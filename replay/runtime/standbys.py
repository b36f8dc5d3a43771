"""Standbys: deployed beforehand on other hosts, loading each completed checkpoint; used up and then replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replay.model import TaskId

if TYPE_CHECKING:
    from replay.runtime.engine import Engine


@dataclass(frozen=True, slots=True)
class Standby:
    """One that can take over."""

    host: str
    ready_us: int


class Standbys:
    """So many per task, never on the host of the task itself."""

    def __init__(self, engine: Engine, per_task: int):
        self.engine = engine
        self.per_task = per_task
        self.hosts = max(2, per_task + 1, *(vertex.parallelism + 1 for vertex in engine.graph.manifest.vertices))
        self._ready: dict[TaskId, list[Standby]] = {
            task.id: [Standby(self.host(task.subtask + 1 + i), 0) for i in range(per_task)]
            for task in engine.graph.tasks
        }

    def host(self, number: int) -> str:
        """The name of a host."""
        return f"host-{number % self.hosts}"

    def free_host(self, task: TaskId) -> str:
        """Another host than the one that the task was on."""
        number = int(self.engine.current[task].host.removeprefix("host-"))
        return self.host(number + 1)

    def take(self, task: TaskId) -> Standby | None:
        """One that is ready now, if there is one; another is deployed in its place."""
        now_us = self.engine.scheduler.now_us
        ready = next((one for one in self._ready[task] if one.ready_us <= now_us), None)
        if ready is not None:
            self._ready[task].remove(ready)
            host = self.host(int(ready.host.removeprefix("host-")) + 1)
            due_us = now_us + self.engine.scheduler.around(self.engine.costs.deploy_us)
            self._ready[task].append(Standby(host, due_us))
        return ready
