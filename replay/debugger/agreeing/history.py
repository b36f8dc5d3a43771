"""The events of one clock, from the first to the last: each follows from the one that it names, and from those before.

Recordings of several hosts merge their events as they come, and only those of the engine name the causes meant here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from replay.causality.life import SUSPECTED
from replay.debugger.agreeing.checkpoints import Checkpoints
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event
from replay.model import WORLD, channel_id

_CAUSES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "attempt-started": {
        "standby-activated": ("failure", "task", "host"),
        "task-rescheduled": ("failure", "task", "host"),
        "global-rollback": ("checkpoint",),
    },
    "channel-lost": {"task-failed": ("failure",)},
    "channel-reconnected": {"attempt-started": ()},
    "checkpoint-aborted": {
        "failure-detected": (),
        "task-failed": (),
        "global-rollback": (),
        "checkpoint-triggered": ("checkpoint",),
    },
    "checkpoint-acknowledged": {"checkpoint-triggered": ("checkpoint",)},
    "checkpoint-completed": {"checkpoint-acknowledged": ("checkpoint",)},
    "checkpoint-ignored": {
        "checkpoint-aborted": ("checkpoint",),
        "failure-detected": (),
        # A suspected attempt may have come so far when another one had begun already, which is told then.
        "recovery-state": ("task",),
    },
    "checkpoint-notified": {"checkpoint-completed": ("checkpoint",)},
    "determinants-requested": {
        "recovery-state": ("at", "attempt"),
        "determinants-request-received": ("at", "attempt", "of", "epoch"),
        "channel-reconnected": ("at", "attempt", "channel"),
    },
    "determinants-returned": {
        "determinants-request-received": ("at", "attempt", "of", "channel"),
        "determinants-received": ("at", "attempt", "of"),
    },
    "epoch-aborted": {"recovery-state": ("task", "attempt"), "attempt-started": ("task", "attempt")},
    "epoch-committed": {
        "checkpoint-notified": ("task", "attempt"),
        "recovery-state": ("task", "attempt"),
        "attempt-started": ("task", "attempt"),
    },
    "failure-detected": {"channel-lost": ("failure",), "task-failed": ("failure",)},
    "global-rollback": {"failure-detected": ("failure",), "escalated": ()},
    "recovery-state": {
        "attempt-started": ("task", "attempt"),
        "channel-reconnected": ("at", "attempt"),
        "determinants-received": ("at", "attempt"),
        "recovery-state": ("task", "attempt"),
        "state-restored": ("task", "attempt"),
    },
    "replay-requested": {"channel-reconnected": ("at", "attempt", "channel"), "recovery-state": ("at", "attempt")},
    "restore-started": {"attempt-started": ("task", "attempt", "checkpoint"), "checkpoint-completed": ("checkpoint",)},
    "state-restored": {"restore-started": ("task", "checkpoint", "bytes", "host")},
    "standby-activated": {"failure-detected": ("failure",)},
    "task-rescheduled": {
        "failure-detected": ("failure",),
        "task-failed": ("failure", "task"),
        "task-rescheduled": ("failure", "task"),
    },
}
"""Type of an event: the types of those that may cause it, and what it has in common with each."""

_AT_ONCE: Mapping[str, tuple[str, ...]] = {
    "attempt-started": ("standby-activated",),
    "determinants-requested": ("channel-reconnected", "determinants-request-received", "recovery-state"),
    "determinants-returned": ("determinants-received", "determinants-request-received"),
    "epoch-aborted": ("recovery-state",),
    "recovery-state": ("channel-reconnected", "determinants-received", "state-restored"),
    "replay-requested": ("channel-reconnected", "recovery-state"),
}
"""Type of an event: the types of those that it follows from in the same moment, nothing being under way between."""

_COUNTS = ("received", "skip", "bytes", "records", "records_in", "records_out")

_OF_CHANNELS = frozenset(
    {
        "channel-lost",
        "channel-reconnected",
        "determinants-request-received",
        "determinants-requested",
        "determinants-received",
        "determinants-returned",
        "replay-request-received",
        "replay-requested",
    }
)

_LATE = frozenset({"channel-lost"})
"""What an attempt that was ended may still be told."""


def check_history(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first event that can't have happened after those before it."""
    if source.manifest.clock.kind == "virtual":
        _History(source).run()


@dataclass(slots=True)
class _History:
    source: RecordingSource
    before: dict[int, Event] = field(default_factory=dict)
    starts: dict[tuple[str, int], Event] = field(default_factory=dict)
    latest: dict[str, int] = field(default_factory=dict)
    failed: dict[tuple[str, int], Event] = field(default_factory=dict)
    # Older recordings may tell twice that one attempt failed: suspected first, and then for what it depends on.
    failures: list[object] = field(default_factory=list)
    restoring: dict[tuple[str, int], int] = field(default_factory=dict)
    last: Event | None = None
    channels: frozenset[object] = field(init=False)

    def __post_init__(self) -> None:
        graph = self.source.graph
        inputs = (one for task in graph.order for one in graph.task(task).inputs)
        self.channels = frozenset((*inputs, *(channel_id(task, WORLD) for task in graph.order)))

    def run(self) -> None:
        checkpoints = Checkpoints(self.source, self._differs)
        for event in self.source.events():
            number, t_us = event.get("n"), event.get("t_us")
            if not isinstance(number, int) or not isinstance(t_us, int):
                continue
            self._check_time(number, t_us, event.get("type"))
            self._check_begun(number, event.get("type"))
            self._check_counts(number, event)
            self._check_who(number, event)
            self._check_channel(number, event)
            self._check_cause(number, event)
            self._check_restored(number, event)
            self._take(number, event)
            checkpoints.take(number, event)
            self.before[number] = self.last = event
        checkpoints.check_end()

    def _check_time(self, number: int, t_us: int, kind: object) -> None:
        if self.last is not None and t_us < self.last["t_us"]:
            self._differs(
                number,
                f"{kind} happened at {t_us} us, but event {self.last['n']} ({self.last.get('type')}) before it at "
                f"{self.last['t_us']} us: one of the two was moved",
                cause=self.last["n"],
            )

    def _check_begun(self, number: int, kind: object) -> None:
        """The first attempts of all tasks begin before anything else."""
        lacking = next((task for task in self.source.graph.order if task not in self.latest), None)
        if lacking is not None and kind != "attempt-started":
            self._differs(number, f"{kind} stands here, but no attempt-started of {lacking} before it")

    def _check_counts(self, number: int, event: Event) -> None:
        for name in _COUNTS:
            if name in event and not (isinstance(event[name], int) and event[name] >= 0):
                self._differs(number, f"{event.get('type')} has {event[name]} {name}, which can't be counted")

    def _check_who(self, number: int, event: Event) -> None:
        """What happened at a task happened to the attempt that was there."""
        kind, task, attempt = str(event.get("type")), event.get("at"), event.get("attempt")
        if task is None or task == WORLD:
            return
        if not isinstance(task, str) or task not in self.source.graph:
            self._differs(number, f"{kind} happened at {task}, which is no task of job.json")
        if not isinstance(attempt, int):
            self._differs(number, f"{kind} happened at {task}, and names no attempt of it by its number")
        if event.get("task", task) != task:
            self._differs(number, f"{kind} happened at {task}, and tells of {event.get('task')}")
        start = self.starts.get((task, attempt))
        if start is None:
            self._differs(number, f"{kind} tells of attempt {attempt} of {task}, of which nothing says that it began")
        ended = self.failed.get((task, attempt))
        if kind in _LATE or (ended is not None and ended.get("cause") == SUSPECTED):
            return
        if ended is not None:
            self._differs(
                number,
                f"{kind} tells of attempt {attempt} of {task}, which had failed by event {ended['n']}",
                cause=ended["n"],
            )
        if self.latest[task] > attempt:
            self._differs(
                number,
                f"{kind} tells of attempt {attempt} of {task}, after attempt {self.latest[task]} of it had begun",
            )

    def _check_channel(self, number: int, event: Event) -> None:
        kind, channel = str(event.get("type")), event.get("channel")
        if kind in _OF_CHANNELS and str(channel) not in self.channels:
            named = "no channel" if channel is None else f"the channel {channel}, which job.json does not have"
            self._differs(number, f"{kind} names {named}", channel=channel)

    def _check_cause(self, number: int, event: Event) -> None:
        kind, of = str(event.get("type")), event.get("re")
        if of is None or kind not in _CAUSES:
            return
        cause = self.before.get(of) if isinstance(of, int) else None
        if cause is None:
            self._differs(number, f"{kind} names event {of} as its cause, which does not come before it")
        common = _CAUSES[kind].get(str(cause.get("type")))
        if common is None:
            known = " or a ".join(_CAUSES[kind])
            self._differs(
                number,
                f"{kind} names event {of} as its cause, which is not a {known} but a {cause.get('type')}",
                cause=of,
            )
        if str(cause.get("type")) in _AT_ONCE.get(kind, ()) and event["t_us"] != cause["t_us"]:
            self._differs(
                number,
                f"{kind} happened at {event['t_us']} us, but follows at once from event {of} ({cause.get('type')}), "
                f"which happened at {cause['t_us']} us",
                cause=of,
            )
        for name in common:
            if name in event and name in cause and event[name] != cause[name]:
                self._differs(
                    number,
                    f"{kind} has the {name} {event[name]}, but event {of} ({cause.get('type')}), which it follows "
                    f"from, has {cause[name]}",
                    cause=of,
                    asked=cause[name],
                    logged=event[name],
                )

    def _check_restored(self, number: int, event: Event) -> None:
        """Nobody goes on from his connections before his state is there."""
        kind, task, attempt = event.get("type"), event.get("at"), event.get("attempt")
        if not isinstance(task, str) or not isinstance(attempt, int):
            return
        if kind == "restore-started":
            self.restoring[task, attempt] = number
        elif kind == "state-restored":
            self.restoring.pop((task, attempt), None)
        elif kind == "recovery-state" and event.get("from") == "WaitingConnections":
            begun = self.restoring.get((task, attempt))
            if begun is not None:
                self._differs(
                    number,
                    f"recovery-state of {task}, attempt {attempt}, goes from WaitingConnections to {event.get('to')}, "
                    f"but what event {begun} (restore-started) began to load was not loaded: a state-restored between "
                    f"is missing, or was changed",
                    cause=begun,
                )

    # --- attempts and failures ---

    def _take(self, number: int, event: Event) -> None:
        task, attempt = event.get("task"), event.get("attempt")
        if not isinstance(task, str) or not isinstance(attempt, int):
            return
        if event.get("type") == "attempt-started":
            self._check_start(number, event, task, attempt)
            self.starts[task, attempt] = event
            self.latest[task] = attempt
        elif event.get("type") == "task-failed":
            self._check_failure(number, event, task, attempt)
            self.failed.setdefault((task, attempt), event)
            self.failures.append(event.get("failure"))

    def _check_start(self, number: int, event: Event, task: str, attempt: int) -> None:
        expected = self.latest.get(task, -1) + 1
        if attempt != expected:
            self._differs(
                number,
                f"attempt-started says that attempt {attempt} of {task} began, where {expected} was next: another "
                f"attempt-started is missing, or one of them was changed",
                asked=expected,
                logged=attempt,
            )
        of = event.get("re")
        cause = self.before.get(of, {}) if isinstance(of, int) else {}
        takes_over = cause.get("type") in ("standby-activated", "task-rescheduled")
        if takes_over and event.get("standby") is not (cause["type"] == "standby-activated"):
            self._differs(
                number, f"attempt-started has standby {event.get('standby')}, but follows from a {cause['type']}"
            )
        if cause.get("type") == "global-rollback" and event.get("rollback") != cause["n"]:
            self._differs(
                number, f"attempt-started has the rollback {event.get('rollback')}, but follows from event {cause['n']}"
            )

    def _check_failure(self, number: int, event: Event, task: str, attempt: int) -> None:
        if event.get("failure") != len(self.failures):
            self._differs(
                number,
                f"task-failed is failure {event.get('failure')}, where {len(self.failures)} was next: another "
                f"task-failed is missing, or one of them was changed",
                asked=len(self.failures),
                logged=event.get("failure"),
            )
        start = self.starts.get((task, attempt))
        if start is None or self.latest.get(task) != attempt:
            self._differs(
                number,
                f"task-failed ends attempt {attempt} of {task}, which was in attempt {self.latest.get(task)} then",
                asked=self.latest.get(task),
                logged=attempt,
            )
        if event.get("host") != start.get("host"):
            self._differs(
                number,
                f"task-failed names the host {event.get('host')}, but event {start['n']} says that attempt {attempt} "
                f"of {task} began on {start.get('host')}",
                cause=start["n"],
            )
        first = event.get("together")
        if first is not None and first not in (event.get("failure"), *self.failures):
            self._differs(number, f"task-failed happened together with failure {first}, which does not come before it")

    def _differs(self, number: int, why: str, **detail: Any) -> NoReturn:
        raise DivergenceFound(f"Event {number}: {why}.", member="events.ndjson", event=number, **detail)
