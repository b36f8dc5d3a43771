"""Hosts: a slot holds one task, a standby is elsewhere than its task, and whoever failed goes elsewhere if it can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from replay.causality.life import ORPHAN, SUSPECTED
from replay.simulation.recording import Recording

HOST_KILLED = "host killed"


@dataclass(slots=True)
class Places:
    """Where each task is, as the events tell: it has its slot until its failure is detected, or its host is gone.

    `lingering`: hosts of suspected attempts, which have their slots until a time that no event tells. Nor does one tell
    that a host failed on which nobody ran: where hosts fail, only whoever runs has a slot for certain.
    """

    loses_hosts: bool
    of: dict[str, tuple[str, int]] = field(default_factory=dict)
    lingering: Counter[str] = field(default_factory=Counter)
    failures: dict[int, dict[str, Any]] = field(default_factory=dict)

    def follow(self, event: dict[str, Any]) -> None:
        """The next event."""
        kind = event["type"]
        if kind == "attempt-started":
            # What a rollback only deploys there ends when it would begin.
            self.of.pop(event["task"], None)
            if not (self.loses_hosts and "rollback" in event):
                self.of[event["task"]] = (event["host"], event["attempt"])
        elif kind == "task-rescheduled" and not self.loses_hosts:
            self.of[event["task"]] = (event["host"], self.failures[event["failure"]]["attempt"] + 1)
        elif kind == "task-failed":
            self.failures[event["failure"]] = event
            if self.loses_hosts or event["cause"] == HOST_KILLED:
                self._leaves(event)
        elif kind == "failure-detected":
            failed = self.failures[event["failure"]]
            if failed["cause"] == SUSPECTED:
                self.lingering[failed["host"]] += 1
            self._leaves(failed)

    def _leaves(self, failed: dict[str, Any]) -> None:
        if self.of.get(failed["task"]) == (failed["host"], failed["attempt"]):
            del self.of[failed["task"]]

    def taken(self) -> Counter[str]:
        """How many tasks each host has for certain."""
        return Counter(host for host, _ in self.of.values())


def no_host_has_more_tasks_than_slots(recording: Recording) -> Iterator[str]:
    """At any moment."""
    slots, places = recording.hosting.slots, Places(recording.hosting.loses_hosts)
    if slots is None:
        return
    for one in recording.events:
        places.follow(one)
        if one["type"] in ("attempt-started", "task-rescheduled") and places.taken()[one["host"]] > slots:
            yield f"event {one['n']}: {one['host']} has {places.taken()[one['host']]} tasks in {slots} slots"


def no_standby_is_beside_its_task(recording: Recording) -> Iterator[str]:
    """Neither when it loads a snapshot, nor when it takes over."""
    where: dict[str, str] = {}
    for one in recording.events:
        if one["type"] in ("attempt-started", "task-rescheduled"):
            where[one["task"]] = one["host"]
        loads = one["type"] == "restore-started" and "attempt" not in one
        if (loads or one["type"] == "standby-activated") and where.get(one["task"]) == one["host"]:
            yield f"event {one['n']}: the standby of {one['task']} is on {one['host']}, as the task is"


def a_host_fails_whole(recording: Recording) -> Iterator[str]:
    """Whoever runs there fails in that moment."""
    running: dict[str, dict[str, Any]] = {}
    lost: dict[str, int] = {}
    for one in recording.events:
        if one["type"] == "attempt-started":
            running[one["task"]] = one
        elif one["type"] == "task-failed":
            running.pop(one["task"], None)
            if one["cause"] == HOST_KILLED:
                lost[one["host"]] = one["t_us"]
        for host, t_us in list(lost.items()):
            if one["t_us"] > t_us:
                del lost[host]
                # What a rollback only deploys there ends when it would begin.
                if left := [
                    task
                    for task, start in running.items()
                    if start["host"] == host and start["t_us"] < t_us and "rollback" not in start
                ]:
                    yield f"{host} failed at {t_us} us, and {left} went on there"


def whoever_failed_goes_elsewhere(recording: Recording) -> Iterator[str]:
    """Where no standby takes a slot, no host ever fails, and none keeps copies: while another host has room.

    Orphans keep their slots.
    """
    site = recording.hosting
    if recording.manifest.protocol.standby or site.local_copies or site.loses_hosts:
        return
    places, slots = Places(loses_hosts=False), site.slots or len(recording.starts)
    for one in recording.events:
        if one["type"] == "task-rescheduled" and not places.failures[one["failure"]]["cause"].startswith(ORPHAN):
            before, room = places.failures[one["failure"]]["host"], places.taken() + places.lingering
            free = [host for host in site.names if host != before and room[host] < slots]
            if one["host"] == before and free:
                yield f"event {one['n']}: {one['task']} is again on {before}, and {free} have room"
        places.follow(one)


CHECKS = (
    no_host_has_more_tasks_than_slots,
    no_standby_is_beside_its_task,
    a_host_fails_whole,
    whoever_failed_goes_elsewhere,
)
