"""How attempts come by their state, as events tell: who takes over loads it at once; all begin again only together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event

_LOADING = ("restore-started", "state-restored", "metric")


def check_restores(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first event before which an attempt must have loaded, or begun to load."""
    if source.manifest.clock.kind == "virtual":
        _Restores(source).run()


@dataclass(slots=True)
class _Restores:
    """`begun`: who has just begun, and loads next. `empty`: who has just begun to load, as a standby, where nothing is
    to be loaded. `together`: those of the last rollback that have no state yet. `recovering`: who has not come to
    Running, by task. `loaded`: what a task's standbys on a host have."""

    source: RecordingSource
    begun: Event | None = None
    empty: Event | None = None
    rollback: int = 0
    attempts: dict[str, int] = field(default_factory=dict)
    together: set[str] = field(default_factory=set)
    recovering: dict[str, tuple[int, str]] = field(default_factory=dict)
    standby: dict[tuple[str, int], Event] = field(default_factory=dict)
    loaded: dict[tuple[str, str], int] = field(default_factory=dict)

    def run(self) -> None:
        number = -1
        for event in self.source.events():
            if not isinstance(event.get("n"), int):
                continue
            number = event["n"]
            self._check_has_all(number, event)
            self._check_loads(number, event)
            self._check_together(number, event)
            if event.get("type") in ("attempt-started", "state-restored"):
                self._check_standby(number, event)
            self._take(number, event)
        if self.source.manifest.complete and self.together:
            self._not_all_there(number, "is the last one, and a job ends with all its tasks at work")
        for task, (attempt, state) in self.recovering.items() if self.source.manifest.complete else ():
            self._differs(
                number,
                f"this is the last one, and a job ends with all its tasks at work, but no recovery-state tells that "
                f"attempt {attempt} of {task} came from {state} to Running",
            )

    def _check_loads(self, number: int, event: Event) -> None:
        begun, self.begun = self.begun, None
        if begun is None:
            return
        who = begun.get("task"), begun.get("attempt"), begun["n"]
        if (event.get("type"), event.get("at"), event.get("attempt"), event.get("re")) != ("restore-started", *who):
            self._differs(
                number,
                f"restore-started of {who[0]}, attempt {who[1]}, must stand here, as by event {who[2]} "
                f"(attempt-started) it takes over and loads its state at once; here is {event.get('type')}",
                cause=who[2],
            )
        # A standby of checkpoint 0 has its state as soon as it is there; of others only it knew what it had loaded.
        if (begun.get("standby"), begun.get("checkpoint")) == (True, 0):
            self.empty = event

    def _check_has_all(self, number: int, event: Event) -> None:
        begun, self.empty = self.empty, None
        if begun is not None and (event.get("type"), event.get("re")) != ("state-restored", begun["n"]):
            self._differs(
                number,
                f"state-restored of {begun.get('at')}, attempt {begun.get('attempt')}, must stand here, as by event "
                f"{begun['n']} (restore-started) a standby begins at checkpoint 0, which it need not load; here is "
                f"{event.get('type')}",
                cause=begun["n"],
            )

    def _check_standby(self, number: int, event: Event) -> None:
        """One that has its state the moment it takes over, had loaded that before."""
        task, attempt, checkpoint = str(event.get("task")), event.get("attempt", -1), event.get("checkpoint", 0)
        if not isinstance(attempt, int) or not isinstance(checkpoint, int):
            return
        if event.get("standby") is True:
            self.standby[task, attempt] = event
            return
        if event.get("type") == "state-restored" and "at" not in event:
            place = task, str(event.get("host"))
            self.loaded[place] = max(self.loaded.get(place, 0), checkpoint)
            return
        start = self.standby.pop((task, attempt), {})
        known = self.loaded.get((task, str(start.get("host"))), 0)
        if start.get("t_us") == event.get("t_us") and checkpoint > known:
            self._differs(
                number,
                f"state-restored tells that attempt {attempt} of {task} had its state at once, but no state-restored "
                f"of its standby on {start.get('host')} says that it had loaded checkpoint {checkpoint} before",
                cause=start["n"],
            )

    def _check_together(self, number: int, event: Event) -> None:
        task, kind = event.get("at", event.get("task")), event.get("type")
        if kind in _LOADING or kind == "attempt-started" or not isinstance(task, str):
            return
        if self.together and self.attempts.get(task) == event.get("attempt"):
            self._not_all_there(number, f"is a {kind} of {task}, attempt {event.get('attempt')}, which began with all")

    def _take(self, number: int, event: Event) -> None:
        kind, task, attempt = event.get("type"), event.get("task"), event.get("attempt")
        if kind == "global-rollback":
            self.rollback, self.attempts = number, {}
            self.together = set(map(str, self.source.graph.order))
            self.recovering.clear()
        elif not isinstance(task, str) or not isinstance(attempt, int):
            return
        elif kind == "attempt-started" and "rollback" in event:
            self.attempts[task] = attempt
        elif kind == "attempt-started" and attempt > 0:
            self.begun = event
            self.recovering[task] = attempt, "Standby"
        elif kind == "recovery-state" and self.recovering.get(task, ("",))[0] == attempt:
            self.recovering[task] = attempt, str(event.get("to"))
            if event.get("to") == "Running":
                del self.recovering[task]
        elif kind == "state-restored" and self.attempts.get(task) == attempt:
            self.together.discard(task)

    def _not_all_there(self, number: int, what: str) -> NoReturn:
        task = next(one for one in self.source.graph.order if one in self.together)
        self._differs(
            number,
            f"this {what}, but no state-restored of {task} stands after event {self.rollback} (global-rollback): after "
            f"a rollback nobody does anything before all have their state",
            cause=self.rollback,
        )

    def _differs(self, number: int, why: str, **detail: Any) -> NoReturn:
        raise DivergenceFound(f"Event {number}: {why}.", member="events.ndjson", event=number, **detail)
