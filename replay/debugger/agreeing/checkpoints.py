"""Checkpoints and transactions, as events tell of them: triggered, acknowledged by all, completed or given up, once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event

Differs = Callable[..., NoReturn]


@dataclass(slots=True)
class Checkpoints:
    """Takes the events in their order."""

    source: RecordingSource
    differs: Differs
    triggered: dict[int, int] = field(default_factory=dict)
    acknowledged: dict[int, dict[tuple[str, str], int]] = field(default_factory=dict)
    completed: dict[int, int] = field(default_factory=dict)
    aborted: dict[int, int] = field(default_factory=dict)
    sealed: dict[tuple[str, str], Event] = field(default_factory=dict)
    pending: int | None = None

    def take(self, number: int, event: Event) -> None:
        """Raises where an event can't come after those before it."""
        kind, checkpoint = str(event.get("type")), event.get("checkpoint")
        if kind in ("epoch-precommitted", "epoch-committed", "epoch-aborted"):
            self._take_transaction(number, kind, event)
        if not isinstance(checkpoint, int):
            return
        if kind == "checkpoint-triggered":
            self._trigger(number, checkpoint)
        elif kind == "checkpoint-acknowledged":
            self._acknowledge(number, checkpoint, event)
        elif kind in ("checkpoint-completed", "checkpoint-aborted"):
            self._end(number, kind, checkpoint)
        elif kind == "checkpoint-notified" and checkpoint not in self.completed:
            self.differs(number, f"checkpoint-notified tells of checkpoint {checkpoint}, which was not completed")
        elif kind == "checkpoint-ignored" and checkpoint not in self.aborted:
            self.differs(number, f"checkpoint-ignored tells of checkpoint {checkpoint}, which was not given up")
        elif kind == "attempt-started" and event.get("attempt") != 0:
            self._start(number, checkpoint, event)
        elif kind == "attempt-started" and checkpoint != 0:
            self.differs(number, f"attempt-started says that the first attempt began from checkpoint {checkpoint}")

    def _trigger(self, number: int, checkpoint: int) -> None:
        if self.pending is not None:
            self.differs(
                number,
                f"checkpoint-triggered begins checkpoint {checkpoint}, while {self.pending} was neither completed nor "
                f"given up: a checkpoint-completed or checkpoint-aborted is missing, or one of them was changed",
            )
        if checkpoint <= max(self.triggered, default=0):
            self.differs(
                number, f"checkpoint-triggered begins checkpoint {checkpoint} after {max(self.triggered, default=0)}"
            )
        self.triggered[checkpoint] = number
        self.pending = checkpoint

    def _acknowledge(self, number: int, checkpoint: int, event: Event) -> None:
        who = str(event.get("task")), str(event.get("attempt"))
        if checkpoint not in self.triggered:
            self.differs(number, f"checkpoint-acknowledged tells of checkpoint {checkpoint}, which was not triggered")
        known = self.acknowledged.setdefault(checkpoint, {})
        if who in known:
            self.differs(
                number,
                f"checkpoint-acknowledged tells of checkpoint {checkpoint} of {who[0]} once more, after event "
                f"{known[who]}",
            )
        known[who] = number

    def _end(self, number: int, kind: str, checkpoint: int) -> None:
        if self.pending != checkpoint:
            self.differs(number, f"{kind} ends checkpoint {checkpoint}, where {self.pending} was pending")
        self.pending = None
        if kind == "checkpoint-aborted":
            self.aborted[checkpoint] = number
            return
        there = {task for task, _ in self.acknowledged.get(checkpoint, {})}
        lacking = next((task for task in self.source.graph.order if task not in there), None)
        if lacking is not None:
            self.differs(
                number,
                f"checkpoint-completed ends checkpoint {checkpoint}, but no checkpoint-acknowledged of {lacking} "
                f"stands before it",
            )
        self.completed[checkpoint] = number

    def _start(self, number: int, checkpoint: int, event: Event) -> None:
        latest = max(self.completed, default=0)
        if checkpoint != latest:
            self.differs(
                number,
                f"attempt-started says that attempt {event.get('attempt')} of {event.get('task')} began from "
                f"checkpoint {checkpoint}, where {latest} was the last one that had been completed",
                asked=latest,
                logged=checkpoint,
            )

    # --- transactions ---

    def _take_transaction(self, number: int, kind: str, event: Event) -> None:
        key = str(event.get("task")), str(event.get("txn"))
        before = self.sealed.get(key)
        if kind == "epoch-precommitted":
            if before is not None:
                self.differs(number, f"{kind} seals transaction {key[1]} of {key[0]}, as event {before['n']} did")
            self.sealed[key] = event
            return
        for name in ("epoch", "records") if before is not None else ():
            if before is not None and event.get(name) != before.get(name):
                self.differs(
                    number,
                    f"{kind} has {name} {event.get(name)} for transaction {key[1]} of {key[0]}, but event "
                    f"{before['n']}, which sealed it, has {before.get(name)}",
                    cause=before["n"],
                    asked=before.get(name),
                    logged=event.get(name),
                )
        if before is None and kind == "epoch-committed":
            self.differs(number, f"{kind} commits transaction {key[1]} of {key[0]}, which no epoch-precommitted sealed")

    # --- snapshots ---

    def check_end(self) -> None:
        """Every snapshot was acknowledged. A recording that goes on may have the one and not yet the other."""
        if not self.source.manifest.complete:
            return
        for task in self.source.graph.order:
            for attempt in self.source.attempts(task):
                for checkpoint in self.source.epochs(task, attempt, "state"):
                    if (task, str(attempt)) not in self.acknowledged.get(checkpoint, {}):
                        member = member_name(task, attempt, "state", checkpoint)
                        raise DivergenceFound(
                            f"{member} is a snapshot that attempt {attempt} of {task} took, but no "
                            f"checkpoint-acknowledged of the events tells of it.",
                            member="events.ndjson",
                            other_member=member,
                            checkpoint=checkpoint,
                        )
