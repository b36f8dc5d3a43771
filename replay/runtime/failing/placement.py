"""Where each task is: a slot for its attempt, elsewhere than it failed if that can be had, never beside its standby."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from replay.errors import check
from replay.model import TaskId
from replay.runtime.failing.hosts import Hosts, Seat
from replay.runtime.failing.standbys import Standbys

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt


class Placement:
    """`local_copies`: a host keeps the last snapshots of its tasks, so a task would rather stay where it was."""

    def __init__(self, hosts: Hosts, standbys: Standbys, *, local_copies: bool):
        self.hosts = hosts
        self.standbys = standbys
        self.local_copies = local_copies
        self._seats: dict[TaskId, Seat] = {}

    def first(self, task: TaskId, home: int) -> Seat:
        """A slot for a task's first attempt; that there are enough is checked beforehand."""
        seat = self.hosts.take(home, ())
        check(seat is not None, f"there is a slot for {task}")
        self._seats[task] = seat  # type: ignore[assignment]
        return seat  # type: ignore[return-value]

    def host_of(self, task: TaskId) -> str:
        """Where a task is, or is being deployed, or was last."""
        return self._seats[task].host

    def moved(self, task: TaskId, seat: Seat) -> None:
        """The task's next attempt has that slot."""
        self._seats[task] = seat

    def kept(self, attempt: Attempt) -> Seat | None:
        """The slot that an attempt has, or that is meant for its successor; None where that one needs another."""
        seat = self._seats[attempt.task]
        return None if seat.left or (attempt.fenced and seat is attempt.seat) else seat

    def ask(self, task: TaskId, granted: Callable[[Seat], None], *, wanted: Callable[[], bool]) -> None:
        """A slot for a task's next attempt, now or when there is one, unless it is not wanted any more by then."""
        before = self.host_of(task)

        def avoid() -> tuple[Container[str], ...]:
            beside = self.standbys.hosts_of(task)
            elsewhere = () if self.local_copies else (beside | {before},)
            return (*elsewhere, beside, ())

        def has(seat: Seat) -> None:
            if not wanted():
                self.hosts.leave(seat)
                return
            self._seats[task] = seat
            self.standbys.withdraw(task, seat.host)
            granted(seat)

        home = self.hosts.number(before)
        self.hosts.ask(home if self.local_copies else home + 1, avoid, has, urgent=True)
