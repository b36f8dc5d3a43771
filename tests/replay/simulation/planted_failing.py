"""Faults put in where failures, suspicions and hosts are dealt with: by coordinator, links and the outside world."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from replay.recovery import Setting
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.checkpoints import Checkpoints
from replay.runtime.failing.detection import Detection
from replay.runtime.failing.failures import Failures
from replay.runtime.failing.hosts import Hosts
from replay.runtime.failing.placement import Placement
from replay.runtime.links import Links
from replay.runtime.network import Connection
from replay.runtime.outside.world import World


@contextmanager
def takes_acknowledgements_of_the_fenced() -> Iterator[None]:
    """A suspected attempt's snapshot counts as its task's."""
    acknowledged = Checkpoints._acknowledged

    def whoever(self: Checkpoints, attempt: Attempt, *args: Any) -> None:
        fenced, attempt.fenced = attempt.fenced, False
        acknowledged(self, attempt, *args)
        attempt.fenced = fenced

    with mock.patch.object(Checkpoints, "_acknowledged", whoever):
        yield


@contextmanager
def keeps_the_old_connection_beside_the_new_one() -> Iterator[None]:
    """Whoever is connected to a newer attempt hears that the older one is gone, and still gets what it sends."""
    notice_at_once = Links.notice_at_once

    def noticed(self: Links, connection: Connection) -> None:
        notice_at_once(self, connection)
        connection.open = connection.sender.fenced

    with mock.patch.object(Links, "notice_at_once", noticed):
        yield


@contextmanager
def writes_down_what_zombies_log() -> Iterator[None]:
    """The world outside does not know who is the newest."""
    with mock.patch.object(World, "refuses", lambda self, attempt: False):
        yield


@contextmanager
def runs_on_after_its_end() -> Iterator[None]:
    """A killed attempt's process goes on, and is still connected."""
    end = Attempt.end

    def half(self: Attempt) -> None:
        end(self)
        self.alive = self.executing = True

    with mock.patch.object(Attempt, "end", half):
        yield


@contextmanager
def detects_a_failure_again() -> Iterator[None]:
    """Every signal of a failure counts."""
    with mock.patch.object(Detection, "_is_open", lambda self, number: True):
        yield


@contextmanager
def forgets_a_failure_of_a_task_that_failed_before() -> Iterator[None]:
    """Only the first failure of each task is answered."""
    detected = Failures.detected

    def first(self: Failures, number: int, by: str, re: int) -> None:
        if self.all[number].attempt.number == 0:
            detected(self, number, by, re)

    with mock.patch.object(Failures, "detected", first):
        yield


@contextmanager
def gives_up_too_early() -> Iterator[None]:
    """Whatever is not right below counts as beyond the sharing depth."""
    with mock.patch.object(Setting, "within_depth", lambda self, of, channel: False):
        yield


@contextmanager
def crowds_hosts() -> Iterator[None]:
    """A slot is given to anybody who asks."""
    with mock.patch.object(Hosts, "_has_room", lambda self, name: True):
        yield


@contextmanager
def puts_standbys_anywhere() -> Iterator[None]:
    """A standby may be beside its task."""
    take = Hosts.take

    def anywhere(self: Hosts, home: int, *avoid: Any) -> Any:
        return take(self, home - 1, ())

    with mock.patch.object(Hosts, "take", anywhere):
        yield


@contextmanager
def goes_back_to_where_it_failed() -> Iterator[None]:
    """A task is deployed again on the host on which it has just failed."""
    ask = Placement.ask

    def again(self: Placement, *args: Any, **named: Any) -> None:
        self.local_copies, before = True, self.local_copies
        ask(self, *args, **named)
        self.local_copies = before

    with mock.patch.object(Placement, "ask", again):
        yield


@contextmanager
def spares_a_task_of_a_failed_host() -> Iterator[None]:
    """Of all that is on a host that fails, one task goes on."""
    fail_host = Failures.fail_host

    def but_one(self: Failures, host: str, **named: Any) -> int | None:
        spared = next((one for one in self.engine.current.values() if one.host == host and one.counts), None)
        if spared is not None:
            spared.host = "elsewhere"
        number = fail_host(self, host, **named)
        if spared is not None:
            spared.host = host
        return number

    with mock.patch.object(Failures, "fail_host", but_one):
        yield


@contextmanager
def restores_what_was_uploaded_last() -> Iterator[None]:
    """A restore loads the last upload alone, as if it were the whole snapshot."""
    sizes: dict[tuple[str, int], int] = {}

    def last(self: Checkpoints, task: str, checkpoint: int) -> int:
        return sizes.get((task, checkpoint), 0)

    size_of = Checkpoints._size_of

    def noted(self: Checkpoints, attempt: Attempt, data: bytes) -> int:
        size = size_of(self, attempt, data)
        sizes[attempt.task, self.next - 1] = size
        return size

    with (
        mock.patch.object(Checkpoints, "state_bytes", last),
        mock.patch.object(Checkpoints, "_size_of", noted),
    ):
        yield
