"""Orphans: who follows from what a failed task had not yet stored, and how far back the last state is that does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from replay.causality.life import ORPHAN
from replay.simulation.checks.dependence import Dependence, Extents, Take, answers_of
from replay.simulation.checks.stable import Stored
from replay.simulation.recording import Recording

_REPLACES = ("standby-activated", "task-rescheduled")


@dataclass(frozen=True, slots=True)
class Known:
    """How far a task's logs were stable from an event on: as the storage answered, or as a failure left them."""

    n: int
    attempt: int
    extents: Extents


@dataclass(slots=True)
class Decision:
    """A failure was decided: whose it was, what of its logs was left, and who was rolled back for it."""

    failure: dict[str, Any]
    n: int
    t_us: int
    completed: int
    rolled_back: set[str]
    kept: Extents = field(default_factory=dict)

    def is_lost(self, take: Take) -> bool:
        """Whether a buffer follows from what was not left."""
        task, attempt = self.failure["task"], self.failure["attempt"]
        return any(
            upto > self.kept.get((thread, epoch), 0)
            for (of, one, thread, epoch), upto in take.needs.items()
            if of == task and one <= attempt and epoch >= self.completed
        )


class Orphans:
    """Follows a recording's failures in their order. `strict`: what can't be told apart in time makes no orphan."""

    def __init__(self, recording: Recording, *, strict: bool):
        self.recording = recording
        self.stored = Stored.of(recording)
        self.dependence = Dependence(recording, strict=strict)
        self.answers: dict[str, list[Known]] = {task.id: [] for task in recording.manifest.tasks}
        for one in answers_of(recording):
            self.answers[one.task].append(Known(one.n, one.attempt, one.extents))
        self._cuts: dict[str, list[Known]] = {task.id: [] for task in recording.manifest.tasks}
        self.decisions = _decisions(recording)
        self.found = [self._found(one) for one in self.decisions]

    def held(self, task: str, n: int, since: int, t_us: int) -> Extents:
        """What of a task's logs its next attempt could be given at that event and time, from an epoch on."""
        answer = _last(self.answers[task], n)
        cut = _last(self._cuts[task], n)
        if cut is not None and (answer is None or cut.n > answer.n):
            extents = cut.extents
        else:
            extents = dict(answer.extents) if answer is not None else {}
            first = answer.attempt if answer is not None else 0
            for (of, thread, epoch), growths in self.stored.growths.items():
                ends = [end for attempt, at_us, end in growths if at_us <= t_us and attempt >= first]
                if of == task and ends:
                    extents[thread, epoch] = max(*ends, extents.get((thread, epoch), 0))
        return {place: upto for place, upto in extents.items() if place[1] >= since and upto}

    def _found(self, decision: Decision) -> set[str]:
        failed = decision.failure["task"]
        decision.kept = self._kept(decision, failed, decision.failure["attempt"])
        tasks = (task.id for task in self.recording.manifest.tasks if task.id != failed)
        return {task for task in tasks if self._is_orphan(decision, task)}

    def _kept(self, decision: Decision, task: str, attempt: int) -> Extents:
        """What the failed task's next attempt is given; one that was suspected may have run on as an orphan."""
        held = self.held(task, decision.n, decision.completed, decision.t_us)
        before = [one for one in self.decisions if one.n < decision.n]
        takes = self._stable(task, attempt, decision, held)
        lost = [take for take in takes if any(one.is_lost(take) for one in before)]
        if not lost:
            return held
        kept = {place: int(min(upto, *(one.allows(*place) for one in lost), upto)) for place, upto in held.items()}
        self._cuts[task].append(Known(decision.n, attempt, kept))
        return kept

    def _is_orphan(self, decision: Decision, task: str) -> bool:
        """Whether it runs, or has been told which log to follow, and that follows from what was lost."""
        n = decision.n
        current = max(one["attempt"] for one in self.recording.starts[task] if one["n"] < n)
        told = not current or any(one.attempt == current and one.n < n for one in self.answers[task])
        runs = told and self.recording.ends.get((task, current), n) >= n
        held = self.held(task, n, decision.completed, decision.t_us)
        taken = [one for one in self._taken(task, current, decision) if decision.is_lost(one)] if runs else []
        stable = [one for one in self._stable(task, current, decision, held) if decision.is_lost(one)]
        if not taken and not stable:
            return False
        if not runs or task in decision.rolled_back:
            extents = self._logged(task, current, held) if runs else held
            bounds = {place: [one.allows(*place) for one in (*taken, *stable)] for place in extents}
            kept = {place: int(min(upto, *bounds[place])) for place, upto in extents.items()}
            # One that has not been told goes on, and follows what is left: what it takes then is behind the cut.
            self._cuts[task].append(Known(n, current if told else current - 1, kept))
        return runs

    def _logged(self, task: str, attempt: int, held: Extents) -> Extents:
        """All that an attempt had logged when it was given up, and what it had still to follow."""
        extents = dict(held)
        for thread in self.recording.graph.task(task).threads:
            for epoch in self.recording.epochs(task, attempt, thread):
                length = len(self.recording.log(task, attempt, thread, epoch))
                extents[thread, epoch] = max(length, extents.get((thread, epoch), 0))
        return extents

    def _taken(self, task: str, attempt: int, decision: Decision) -> Iterator[Take]:
        for take in self.dependence.takes(task, attempt):
            taken_us = take.receipt.taken_us
            if taken_us < decision.t_us or (taken_us == decision.t_us and not self.dependence.strict):
                yield take

    def _stable(self, task: str, current: int, decision: Decision, held: Extents) -> Iterator[Take]:
        """What the task's attempts took, and its next one will take again, as the log goes on behind it."""
        for attempt in range(current + 1):
            left = [one.extents for one in self.answers[task] if one.attempt > attempt and one.n < decision.n]
            left += [one.extents for one in self._cuts[task] if one.attempt >= attempt and one.n < decision.n]
            for take in self._taken(task, attempt, decision):
                if all(take.binds(one) for one in (held, *left)):
                    yield take


def _last(known: list[Known], n: int) -> Known | None:
    return max((one for one in known if one.n < n), key=lambda one: one.n, default=None)


def _decisions(recording: Recording) -> list[Decision]:
    """Of every failure but those of orphans: when its task was replaced, and who was given up with it."""
    detected = {one["failure"]: one["n"] for one in recording.events if one["type"] == "failure-detected"}
    orphans: dict[int, list[dict[str, Any]]] = {}
    failures: dict[int, dict[str, Any]] = {}
    for one in recording.events:
        if one["type"] == "task-failed":
            if one["cause"].startswith(ORPHAN):
                orphans.setdefault(one["re"], []).append(one)
            else:
                failures[one["failure"]] = one
    found = []
    for one in recording.events:
        if one["type"] in _REPLACES and (failure := failures.pop(one["failure"], None)) is not None:
            found.append(_decision(recording, one, failure, orphans, detected[failure["failure"]]))
    return sorted(found, key=lambda decision: decision.n)


def _decision(
    recording: Recording,
    replaced: dict[str, Any],
    failure: dict[str, Any],
    orphans: dict[int, list[dict[str, Any]]],
    detected: int,
) -> Decision:
    """A slot may have been waited for since: then no event says when, among those of that moment, it was decided."""
    waited_us = replaced.get("waited_us") or 0
    decided_us = int(replaced["t_us"]) - waited_us
    with_it = orphans.get(detected, [])
    # Of two decisions in one moment the one that was detected first was taken first.
    earlier = [one["n"] for re, given_up in orphans.items() if re < detected for one in given_up]
    begin = 1 + max((n for n in earlier if recording.events[n]["t_us"] == decided_us), default=detected)
    since = next(one["n"] for one in recording.events[begin:] if one["t_us"] >= decided_us)
    n = min((one["n"] for one in with_it), default=since if waited_us else replaced["n"])
    completed = max((0, *recording.completed_before(n)))
    return Decision(failure, n, decided_us, completed, {one["task"] for one in with_it})
