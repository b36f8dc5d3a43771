"""Hosts and their slots: who has which, which hosts are down, and who waits until a slot is free."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from replay.errors import WrongSetting
from replay.model import TaskId

if TYPE_CHECKING:
    from replay.runtime.engine import Engine

Avoid = Callable[[], Sequence[Container[str]]]
"""The hosts that are not wanted: the best choice first, and what will do where that can't be had."""


@dataclass(slots=True, eq=False)
class Seat:
    """A slot of a host that somebody has, until it is `left`, be it with the whole host."""

    host: str
    left: bool = False


@dataclass(slots=True, eq=False)
class Asked:
    """Somebody waits for a slot. `home` is the number of the host to look at first."""

    home: int
    avoid: Avoid
    granted: Callable[[Seat], None]
    urgent: bool


class Hosts:
    """`slots` None: a host takes as many as it is given. Tasks are served before standbys, else who asked first.

    `make_room` gives back a slot that a standby has, if there is one, and says whose it was.
    """

    def __init__(self, engine: Engine, hosts: int | None, slots: int | None, standby: int):
        self.engine = engine
        widest = max(vertex.parallelism for vertex in engine.graph.manifest.vertices)
        self.count = max(2, standby + 1, widest + 1) if hosts is None else hosts
        self.slots = slots
        self.make_room: Callable[[], TaskId | None] = lambda: None
        self.names = tuple(f"host-{number}" for number in range(self.count))
        self.down: set[str] = set()
        self._seats: dict[str, list[Seat]] = {name: [] for name in self.names}
        self._waiting: list[Asked] = []
        self._check_capacity(standby)

    def _check_capacity(self, standby: int) -> None:
        tasks = len(self.engine.graph.tasks)
        if self.slots is not None and self.count * self.slots < tasks:
            raise WrongSetting(
                f"the job's {tasks} tasks do not fit on {self.count} hosts of {self.slots} slots",
                remedy="Give it more hosts, or more slots on each",
            )
        if standby and self.count < 2:
            raise WrongSetting(
                "a standby is never on the host of its task, and there is only one host",
                remedy="Give it more hosts, or no standbys",
            )

    def check_known(self, hosts: Iterable[str]) -> None:
        """Only a host that there is can fail."""
        for host in hosts:
            if host not in self._seats:
                raise WrongSetting(
                    f"there is no {host} to fail", remedy=f"The hosts are {self.names[0]} to {self.names[-1]}"
                )

    def number(self, host: str) -> int:
        """Which one it is."""
        return self.names.index(host)

    def taken(self, host: str) -> int:
        """How many of its slots somebody has."""
        return len(self._seats[host])

    # --- taking and leaving ---

    def take(self, home: int, *avoid: Container[str]) -> Seat | None:
        """A slot on the first host from `home` on that is up, has one free, and is not to be avoided."""
        for unwanted in avoid:
            for n in range(self.count):
                name = self.names[(home + n) % self.count]
                if name not in unwanted and name not in self.down and self._has_room(name):
                    seat = Seat(name)
                    self._seats[name].append(seat)
                    return seat
        return None

    def _has_room(self, name: str) -> bool:
        return self.slots is None or len(self._seats[name]) < self.slots

    def ask(self, home: int, avoid: Avoid, granted: Callable[[Seat], None], *, urgent: bool) -> None:
        """Grants a slot at once, or as soon as there is one; urgent is what a task needs to run at all."""
        seat = self.take(home, *avoid())
        if seat is None:
            self._waiting.append(Asked(home, avoid, granted, urgent))
        else:
            granted(seat)

    def leave(self, seat: Seat | None) -> None:
        """Whoever had it needs it no more; somebody else may."""
        if seat is not None:
            self.release(seat)
            self.serve()

    def release(self, seat: Seat) -> None:
        """The slot is free."""
        if not seat.left:
            seat.left = True
            self._seats[seat.host].remove(seat)

    def serve(self) -> None:
        """Grants what can be granted; where a task gets nothing, a standby makes room."""
        self._grant()
        gave: list[TaskId] = []
        while any(one.urgent for one in self._waiting):
            task = self.make_room()
            if task is None:
                break
            gave.append(task)
            self._grant()
        for task in gave:
            self.engine.failures.standbys.refill(task)

    def _grant(self) -> None:
        for asked in sorted(self._waiting, key=lambda one: not one.urgent):
            if asked not in self._waiting:
                continue  # whoever was served before it gave a slot back, and that was its
            seat = self.take(asked.home, *asked.avoid())
            if seat is not None:
                self._waiting.remove(asked)
                asked.granted(seat)

    # --- whole hosts ---

    def fail(self, host: str) -> None:
        """It is gone with all that was on it; after a while it is there again, empty."""
        self.down.add(host)
        for seat in self._seats[host]:
            seat.left = True
        self._seats[host].clear()
        self.engine.scheduler.after(self.engine.costs.host_restart_us, lambda: self._is_back(host))

    def _is_back(self, host: str) -> None:
        self.down.discard(host)
        self.serve()
