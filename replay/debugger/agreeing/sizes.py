"""Sizes of snapshots, as events tell: what was uploaded is what is notified; one snapshot is as long for all who load
it, and longer than its own bytes by what the job declares for any."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NoReturn

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event

_Snapshot = tuple[str, int]
"""(task, checkpoint)."""


def check_sizes(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first size that contradicts another one of the same snapshot. For the end: a
    snapshot that is damaged is named better by whoever takes it again."""
    if source.manifest.clock.kind == "virtual":
        _Sizes(source).run()


@dataclass(slots=True)
class _Sizes:
    source: RecordingSource
    uploaded: dict[_Snapshot, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    loaded: dict[_Snapshot, Event] = field(default_factory=dict)
    declared: tuple[set[int], Event] | None = None

    def run(self) -> None:
        for event in self.source.events():
            number, task, checkpoint = event.get("n"), event.get("task"), event.get("checkpoint")
            kind, size = event.get("type"), event.get("bytes")
            if not isinstance(number, int) or not isinstance(checkpoint, int) or not isinstance(size, int):
                continue
            snapshot = str(task), checkpoint
            if kind == "checkpoint-acknowledged":
                self.uploaded[snapshot][size] = number
            elif kind == "checkpoint-notified":
                self._check_notified(number, event, snapshot)
            elif kind == "restore-started":
                self._check_loaded(number, event, snapshot)

    def _check_notified(self, number: int, event: Event, snapshot: _Snapshot) -> None:
        known = self.uploaded.get(snapshot)
        if known and event["bytes"] not in known:
            told, of = next(iter(known.items()))
            self._differs(
                number,
                f"checkpoint-notified says that {event['bytes']} bytes of {snapshot[0]} are in checkpoint "
                f"{snapshot[1]}, but event {of} (checkpoint-acknowledged) says that {told} were uploaded",
                cause=of,
                asked=told,
                logged=event["bytes"],
            )

    def _check_loaded(self, number: int, event: Event, snapshot: _Snapshot) -> None:
        task, checkpoint = snapshot
        before = self.loaded.setdefault(snapshot, event)
        if before["bytes"] != event["bytes"]:
            self._differs(
                number,
                f"restore-started loads {event['bytes']} bytes of {task} for checkpoint {checkpoint}, but event "
                f"{before['n']} loads {before['bytes']}",
                cause=before["n"],
                asked=before["bytes"],
                logged=event["bytes"],
            )
        if not checkpoint:
            if event["bytes"]:
                self._differs(number, f"restore-started loads {event['bytes']} bytes of the initial state, which has 0")
            return
        more = {event["bytes"] - size for size in self._snapshot_bytes(*snapshot)}
        if not more:
            return
        known, by = self.declared or (more, event)
        if not known & more:
            self._differs(
                number,
                f"restore-started loads {event['bytes']} bytes of {task} for checkpoint {checkpoint}, "
                f"{' or '.join(map(str, sorted(more)))} more than its snapshot (state/{checkpoint}.json), but "
                f"event {by['n']} ({by.get('task')}) loads {' or '.join(map(str, sorted(known)))} more than its own: "
                f"what is declared is the same for all",
                cause=by["n"],
            )
        self.declared = known & more, by

    def _snapshot_bytes(self, task: str, checkpoint: int) -> set[int]:
        """By which of its attempts it was taken that counts, is not looked at."""
        if task not in self.source.graph:
            return set()
        of_task = self.source.graph.task(task).id
        names = (member_name(of_task, one, "state", checkpoint) for one in self.source.attempts(of_task))
        return {self.source.members.size(name) for name in names if name in self.source.members}

    def _differs(self, number: int, why: str, **detail: Any) -> NoReturn:
        raise DivergenceFound(f"Event {number}: {why}.", member="events.ndjson", event=number, **detail)
