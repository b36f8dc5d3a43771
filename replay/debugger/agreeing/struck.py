"""Failures that the recorder was asked for by the command in the manifest: each is made, and events tell of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from replay.debugger.agreeing.settings import options_of
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event
from replay.debugger.writing.words import counted
from replay.jobs.kill_options import parse_kill, parse_kill_in
from replay.jobs.option_fields import WrongOption
from replay.jobs.options import RecordOptions
from replay.model import Manifest
from replay.runtime.failing.failures import KILLED


def check_struck(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first failure that nobody asked for, or where one that was asked for is gone."""
    options = options_of(source.manifest)
    if options is None or source.manifest.clock.kind != "virtual":
        return
    try:
        asked_for = _asked_for(source.manifest, options)
    except WrongOption:
        return
    _Struck(source, *asked_for).run()


def _asked_for(manifest: Manifest, options: RecordOptions) -> tuple[dict[str, list[int]], list[int], Counter[Any]]:
    """When each task is struck, and when hosts are; how often which task in which state."""
    tasks: dict[str, list[int]] = {one.id: [] for one in manifest.tasks}
    hosts: list[int] = []
    for text in options.kills:
        for name, at_ms in parse_kill(text):
            tasks.get(name, hosts).append(int(at_ms * 1000))
    return tasks, hosts, Counter(map(parse_kill_in, options.kills_in))


@dataclass(slots=True)
class _Struck:
    """Whoever is not there when his time has come is struck once he is: so they are counted, and not held against
    their times. What is only being deployed on a host that is struck is struck itself, later."""

    source: RecordingSource
    at_us: Mapping[str, list[int]]
    hosts_us: list[int]
    in_states: Counter[tuple[str, str]]
    entered: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    failed: set[tuple[str, object]] = field(default_factory=set)
    times: dict[str, set[int]] = field(default_factory=dict)
    ends: list[tuple[int, int]] = field(default_factory=list)

    def run(self) -> None:
        for event in self.source.events():
            number, t_us, task = event.get("n"), event.get("t_us"), event.get("task")
            if not isinstance(number, int) or not isinstance(t_us, int):
                continue
            self.ends.append((t_us, number))
            if isinstance(task, str) and task in self.at_us:
                self._take(number, t_us, task, event)
        for task in self.at_us if self.source.manifest.complete else ():
            if self.struck[task] < len(self.at_us[task]) + self.entered[task]:
                self._one_is_gone(task)

    def _take(self, number: int, t_us: int, task: str, event: Event) -> None:
        kind, who = event.get("type"), (task, event.get("attempt"))
        if kind == "recovery-state" and who not in self.failed:
            self._enter(task, str(event.get("to")))
        elif kind == "attempt-started" and "failure" in event:
            self._enter(task, "Standby")
        elif kind == "task-failed":
            self.failed.add(who)
            if event.get("cause") == KILLED:
                self.struck[task] += 1
                self.times.setdefault(task, set()).add(t_us)
                self._check_asked_for(number, t_us, task)

    def _enter(self, task: str, state: str) -> None:
        if self.in_states[task, state]:
            self.in_states[task, state] -= 1
            self.entered[task] += 1

    def _check_asked_for(self, number: int, t_us: int, task: str) -> None:
        asked = sum(one <= t_us for one in (*self.at_us[task], *self.hosts_us)) + self.entered[task]
        if self.struck[task] > asked:
            states = [state for (one, state), left in self.in_states.items() if one == task and left]
            missing = f", or a recovery-state of it to {' or '.join(states)} before is missing" if states else ""
            self._differs(
                number,
                f"task-failed says that {task} was killed, {counted(self.struck[task], 'time')} up to then, but by the "
                f"command in job.json it was to be struck {counted(asked, 'time')} up to {t_us} us{missing}",
            )

    def _one_is_gone(self, task: str) -> NoReturn:
        asked = len(self.at_us[task]) + self.entered[task]
        due_us = next((one for one in sorted(self.at_us[task]) if one not in self.times.get(task, ())), 0)
        number = next((n for t_us, n in self.ends if t_us >= due_us), self.ends[-1][1])
        self._differs(
            number,
            f"by the command in job.json {task} was to be struck {counted(asked, 'time')}, and a job does not end "
            f"before, but by task-failed events it was killed {counted(self.struck[task], 'time')}: one is missing"
            + (f", maybe that of {due_us} us" if due_us else ""),
        )

    def _differs(self, number: int, why: str) -> NoReturn:
        raise DivergenceFound(f"Event {number}: {why}.", member="events.ndjson", event=number, other_member="job.json")
