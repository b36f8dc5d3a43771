"""Theorem 1 on a recording: which output left before what it depends on was recoverable.

A result of an operation whose inputs may come in another order is recoverable once a later checkpoint has completed,
or a survivor of its task's failure, or the world outside, holds the determinants that it follows from.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from replay.bundle.frames import RECEIPT_BYTES
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError
from replay.guarantees.formal.outputs import Output, outputs
from replay.guarantees.recoverability.course import FOREVER
from replay.guarantees.recoverability.log_walk import LogWalk, Step
from replay.guarantees.recoverability.of_bundle import BundleCausality
from replay.guarantees.recoverability.outside import NO_LINEAGE
from replay.guarantees.recoverability.port import Place
from replay.log.determinants import Determinant, Order, Rng, Serializable, TimerTrigger, Timestamp
from replay.model import MAIN, WORLD

MOST_EARLY = 1_000
MOST_FOLLOWED = 20_000_000
"""Takes times tasks: every log is followed through all that was taken below it, at some microseconds each."""
_CHOICES = (Order, Timestamp, Rng, Serializable, TimerTrigger)


@dataclass(frozen=True, slots=True)
class Early:
    """An output that left at `t_us`, and the first choice it depends on that nobody could have told again then.

    `own`: a choice of the sink itself, as in which order it took its inputs. `choice` is evidence, or what in words.
    """

    t_us: int
    output: str
    task: str
    epoch: int
    choice: str
    kind: str
    own: bool


@dataclass(slots=True)
class Leaving:
    """`total` outputs were seen outside; so many left early by choices of tasks above, and by their sink's own only."""

    total: int = 0
    early: list[Early] = field(default_factory=list)
    by_others: int = 0
    by_own: int = 0
    lacks: list[tuple[str, str]] = field(default_factory=list)


def leaving(source: RecordingSource) -> Leaving:
    """See the module's description."""
    found = Leaving()
    seen = sorted((one for one in outputs(source) if one.seen_us is not None), key=lambda one: (one.seen_us, one.t_us))
    found.total = len(seen)
    protocol = source.manifest.protocol
    if not seen:
        return found
    if protocol.waits:
        found.lacks.append(
            ("Outputs wait for the storage, and when they left is not recorded.", "t_us of what was seen")
        )
    elif protocol.logs and (takes := _takes(source)) * len(source.manifest.tasks) > MOST_FOLLOWED:
        tasks = len(source.manifest.tasks)
        what = f"Whose logs went how far is not followed over {takes:,} takes of {tasks} tasks"
        found.lacks.append((f"{what}: it would take too long.", "a shorter recording"))
    elif protocol.logs:
        _by_holders(source, seen, found)
    else:
        _by_checkpoints(source, seen, found)
    found.early.sort(key=lambda one: (one.own, one.t_us, one.task))
    return found


def _takes(source: RecordingSource) -> int:
    """How many receipts there are, by the sizes of their members."""
    names = (name for name in source.members.names("tasks/") if name.endswith(".rcv"))
    return sum(source.members.size(name) for name in names) // RECEIPT_BYTES


# --- where determinants are shared or stored ---


def _by_holders(source: RecordingSource, seen: list[Output], found: Leaving) -> None:
    causality = BundleCausality(source)
    times = [one.seen_us or 0 for one in seen]
    by_others, by_own = set[int](), set[int]()
    for place in causality.rows.places():
        below = source.graph.all_downstream(place.task)
        for since_us, until_us, held, choice in _untold(source, causality, place) if place.thread == MAIN else ():
            for n in range(bisect_left(times, since_us), bisect_left(times, until_us)):
                own = seen[n].task == place.task
                if (own or seen[n].task in below) and _depends(causality, place, seen[n], held, own=own):
                    if n not in by_others | by_own and len(found.early) < MOST_EARLY:
                        found.early.append(Early(times[n], seen[n].evidence, place.task, place.epoch, *choice, own))
                    (by_own if own else by_others).add(n)
    found.by_others, found.by_own = len(by_others), len(by_own - by_others)
    for fault in causality.faults:
        found.lacks.append(
            (f"What {fault.channel} carried can't be followed: {fault.why}", f"deltas of {fault.channel}")
        )


def _untold(
    source: RecordingSource, causality: BundleCausality, place: Place
) -> Iterator[tuple[int, int, int, tuple[str, str]]]:
    """(since, until, how far the log is held by others, the first choice behind that): while the outside depends on it.

    Whatever happened in one microsecond is looked at when all of it has happened.
    """
    walk = LogWalk(place, causality.course.hosts)
    stable_us = causality.course.stable_us(place.epoch)
    groups = [(t_us, list(those)) for t_us, those in groupby(causality.rows.steps(place, causality.course), _when)]
    for n, (t_us, steps) in enumerate(groups):
        for step in steps:
            walk.take(step)
        needed = walk.depends.get((WORLD, NO_LINEAGE), 0)
        held = max((upto for who, upto in walk.holds.items() if who[0] != place.task), default=0)
        if needed > held:
            choice = _first_choice(source, place, causality.course.current(place.task, t_us), held, needed)
            if choice is not None:
                yield t_us, groups[n + 1][0] if n + 1 < len(groups) else stable_us, held, choice


def _when(step: Step) -> int:
    return step.t_us


def _depends(causality: BundleCausality, place: Place, one: Output, held: int, *, own: bool) -> bool:
    """Whether what the sink had taken by then goes further in that log than others hold it."""
    if own:
        return one.epoch == place.epoch
    return any(
        row.upto > held and (row.task, row.attempt) == (one.task, one.attempt) and row.t_us <= one.t_us
        for row in causality.rows.depended.get(place, ())
    )


def _first_choice(
    source: RecordingSource, place: Place, attempt: int, held: int, needed: int
) -> tuple[str, str] | None:
    """(evidence, kind) of the first one in that part of the log that an operation made."""
    try:
        for seq, (offset, _, one) in enumerate(source.determinants(place.task, attempt, place.thread, place.epoch)):
            if held <= offset < needed and isinstance(one, _CHOICES):
                return f"det:{place.task}/{attempt}/{place.thread}/{place.epoch}#{seq}", _kind(one)
    except ReplayError:
        return f"log:{place.task}/{attempt}/{place.thread}/{place.epoch}@{held}", "a choice that can't be read"
    return None


def _kind(one: Determinant) -> str:
    words = {
        Order: "the order of its inputs",
        Timestamp: "a time",
        Rng: "chance",
        Serializable: "what the outside answered",
        TimerTrigger: "when a timer fired",
    }
    return words.get(type(one), "a choice")


# --- where nothing but checkpoints brings anything back ---


def _by_checkpoints(source: RecordingSource, seen: list[Output], found: Leaving) -> None:
    completed: list[tuple[int, int]] = []
    for event in source.events():
        if event.get("type") == "checkpoint-completed" and type(event.get("checkpoint")) is int:
            completed.append((event["t_us"], event["checkpoint"]))
    reasons: dict[tuple[str, int, int], tuple[str, int, str, str, bool] | None] = {}
    for one in seen:
        if any(t_us <= (one.seen_us or 0) and checkpoint > one.epoch for t_us, checkpoint in completed):
            continue
        where = (one.task, one.attempt, one.epoch)
        if where not in reasons:
            reasons[where] = _reason(source, one)
        reason = reasons[where]
        if reason is None:
            continue
        found.by_own += reason[4]
        found.by_others += not reason[4]
        if len(found.early) < MOST_EARLY:
            task, epoch, choice, kind, own = reason
            found.early.append(Early(one.seen_us or 0, one.evidence, task, epoch, choice, kind, own))
    if any(reason is None for reason in reasons.values()) and not source.manifest.protocol.observed:
        found.lacks.append(
            ("Nothing is logged, so whether operators asked for the time or for chance is not recorded.", "main/*.det")
        )


def _reason(source: RecordingSource, one: Output) -> tuple[str, int, str, str, bool] | None:
    """(task, epoch, evidence, kind, own): what may come otherwise when the epoch is processed again."""
    above = source.graph.all_upstream(one.task)
    for task in (*(each for each in source.graph.order if each in above), one.task):
        own = task == one.task and task in (each.id for each in source.manifest.tasks if each.inputs)
        attempts = [one.attempt] if task == one.task else sorted(source.attempts(task))
        for attempt in attempts:
            if choice := _first_choice(source, Place(task, MAIN, one.epoch), attempt, 0, FOREVER):
                return task, one.epoch, *choice, own and choice[1] == "the order of its inputs"
    for task in (*(each for each in source.graph.order if each in above), one.task):
        if len(source.graph.task(task).inputs) > 1:
            receipt = _first_receipt(source, task, one.epoch)
            return task, one.epoch, receipt, "the order of its inputs", task == one.task
    return None


def _first_receipt(source: RecordingSource, task: str, epoch: int) -> str:
    for attempt in source.attempts(task):
        for i, channel in enumerate(source.graph.task(task).inputs):
            for receipt in source.receipts(task, attempt, i):
                if receipt.taken and receipt.epoch == epoch:
                    return f"receipt:{channel}/{receipt.sender_attempt}#{receipt.seq}/{receipt.sending}"
    return f"log:{task}/0/main/{epoch}@0"
