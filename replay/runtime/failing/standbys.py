"""Standbys: deployed beforehand on other hosts, loading each completed checkpoint; used up and then replaced."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from replay.model import TaskId
from replay.runtime.failing.hosts import Seat

if TYPE_CHECKING:
    from replay.runtime.engine import Engine


@dataclass(slots=True, eq=False)
class Standby:
    """One that can take over once it is deployed. `due_us`: when each snapshot is loaded, by checkpoint."""

    task: TaskId
    number: int
    seat: Seat
    deployed: bool
    loaded: int = 0
    due_us: dict[int, int] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """Where it is."""
        return self.seat.host

    def left_us(self, checkpoint: int, now_us: int) -> int | None:
        """How long until it has loaded that checkpoint; None where it has not begun to."""
        if checkpoint <= self.loaded:
            return 0
        return max(0, self.due_us[checkpoint] - now_us) if checkpoint in self.due_us else None


class Standbys:
    """So many per task, each on a host of its own, never on that of the task."""

    def __init__(self, engine: Engine, per_task: int):
        self.engine = engine
        self.per_task = per_task
        self.of: dict[TaskId, list[Standby]] = {task.id: [] for task in engine.graph.tasks}
        self._asked: dict[TaskId, int] = {task.id: 0 for task in engine.graph.tasks}
        self._deployed = 0

    def start(self) -> None:
        """Those that are deployed with the job."""
        for n in range(self.per_task):
            for task in self.engine.graph.tasks:
                self._ask(task.id, task.subtask + 1 + n, deployed=True)

    def hosts_of(self, task: TaskId) -> frozenset[str]:
        """Where the standbys of a task are."""
        return frozenset(one.host for one in self.of[task])

    # --- deploying ---

    def _ask(self, task: TaskId, home: int, *, deployed: bool) -> None:
        hosts, begun_us = self.engine.failures.hosts, self.engine.scheduler.now_us
        self._asked[task] += 1

        def avoid() -> tuple[Container[str], ...]:
            return (self.hosts_of(task) | {self.engine.failures.placement.host_of(task)},)

        def granted(seat: Seat) -> None:
            self._asked[task] -= 1
            self._deployed += 1
            standby = Standby(task, self._deployed, seat, deployed and self.engine.scheduler.now_us == begun_us)
            self.of[task].append(standby)
            if not standby.deployed:
                self.engine.scheduler.after(self.engine.costs.deploy_us, lambda: self._is_deployed(standby))

        hosts.ask(home, avoid, granted, urgent=False)

    def _is_deployed(self, standby: Standby) -> None:
        if standby not in self.of[standby.task]:
            return
        standby.deployed = True
        self._load(standby, self.engine.checkpoints.completed, self.engine.checkpoints.completed_event)

    def refill(self, task: TaskId) -> None:
        """Another is deployed for each that is missing, as soon as a slot of another host is free."""
        while len(self.of[task]) + self._asked[task] < self.per_task:
            home = self.engine.failures.hosts.number(self.engine.failures.placement.host_of(task)) + 1
            self._ask(task, home + len(self.of[task]), deployed=False)

    # --- loading ---

    def completed(self, checkpoint: int, re: int) -> None:
        """Every standby is told, and begins at once to load its task's snapshot."""
        for standbys in self.of.values():
            for standby in standbys:
                self._tell(standby, checkpoint, re)

    def _tell(self, standby: Standby, checkpoint: int, re: int) -> None:
        self.engine.call(lambda: self._load(standby, checkpoint, re))

    def _load(self, standby: Standby, checkpoint: int, re: int | None) -> None:
        engine = self.engine
        known = standby.left_us(checkpoint, engine.scheduler.now_us) is not None
        if known or not standby.deployed or not self._is_there(standby) or checkpoint < engine.checkpoints.completed:
            return
        size = engine.checkpoints.state_bytes(standby.task, checkpoint)
        # Without an attempt: a standby has none before it is activated.
        fields = {"task": standby.task, "checkpoint": checkpoint, "bytes": size, "host": standby.host}
        n = engine.event("restore-started", re=re, **fields)
        due_us = engine.scheduler.now_us + engine.scheduler.around(engine.costs.download_us(size))
        standby.due_us[checkpoint] = due_us

        def loaded() -> None:
            if self._is_there(standby):
                standby.loaded = max(standby.loaded, checkpoint)
                standby.due_us = {one: due for one, due in standby.due_us.items() if one > checkpoint}
                engine.event("state-restored", re=n, **fields)

        engine.scheduler.at(due_us, loaded)

    def _is_there(self, standby: Standby) -> bool:
        return standby in self.of[standby.task] and not standby.seat.left

    # --- taking over ---

    def take(self, task: TaskId) -> Standby | None:
        """The one that can begin soonest, if one is there. What it has loaded by then is its attempt's."""
        completed, now_us = self.engine.checkpoints.completed, self.engine.scheduler.now_us
        there = [one for one in self.of[task] if one.deployed and self._is_there(one)]
        if not there:
            return None

        def waits_us(standby: Standby) -> float:
            left_us = standby.left_us(completed, now_us)
            return float("inf") if left_us is None else left_us

        best = min(there, key=waits_us)
        self.of[task].remove(best)
        return best

    def why_none(self, task: TaskId) -> str:
        """Why a task has none to take over."""
        if not self.per_task:
            return "no standbys are kept"
        if any(self._is_there(one) for one in self.of[task]):
            return "its standby is still being deployed"
        return "no other host has had a free slot for a standby" if self._asked[task] else "its standbys are used up"

    def withdraw(self, task: TaskId, host: str) -> None:
        """The task itself needs that host's slot, and no standby stays beside it."""
        for standby in [one for one in self.of[task] if one.host == host]:
            self.of[task].remove(standby)
            self.engine.failures.hosts.leave(standby.seat)

    def make_room(self) -> TaskId | None:
        """A task needs a slot more than a standby does: the one that was deployed last gives its own back."""
        there = [one for standbys in self.of.values() for one in standbys if self._is_there(one)]
        if not there:
            return None
        last = max(there, key=lambda one: one.number)
        self.of[last.task].remove(last)
        self.engine.failures.hosts.release(last.seat)
        return last.task

    def lost_with_hosts(self) -> list[TaskId]:
        """Forgets those whose hosts have failed; returns their tasks."""
        tasks = []
        for task, standbys in self.of.items():
            there = [one for one in standbys if not one.seat.left]
            if len(there) < len(standbys):
                self.of[task] = there
                tasks.append(task)
        return tasks
