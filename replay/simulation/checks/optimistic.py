"""Optimistic logging: orphans, and nobody else, go back to the last of their states that follows from nothing lost."""

from __future__ import annotations

from collections.abc import Iterator

from replay.simulation.checks import buffers, logs, sinks, states
from replay.simulation.checks.dependence import Dependence
from replay.simulation.checks.orphans import Decision, Orphans
from replay.simulation.recording import Recording


def orphans_go_back_just_as_far_as_they_must(recording: Recording) -> Iterator[str]:
    """Both who begins again with each failure, and what each recovery is given of what its task had logged."""
    least, most = Orphans(recording, strict=True), Orphans(recording, strict=False)
    for decision, must, may in zip(least.decisions, least.found, most.found, strict=True):
        number, done = decision.failure["failure"], decision.rolled_back
        if missed := must - done:
            yield f"failure {number} left orphans: {sorted(missed)}"
        if too_many := done - may:
            yield f"failure {number} rolled back {sorted(too_many)}, and nobody of them was an orphan"
    for task in recording.manifest.tasks:
        for answer in least.answers[task.id]:
            since = recording.restored(task.id, answer.attempt)
            t_us = int(recording.events[answer.n]["t_us"])
            low, high = (one.held(task.id, answer.n, since, t_us) for one in (most, least))
            for place in sorted({*low, *high, *answer.extents}):
                thread, epoch = place
                upto, what = answer.extents.get(place, 0), f"{task.id} attempt {answer.attempt} was given"
                if upto < low.get(place, 0):
                    yield f"{what} {upto} bytes of {thread}, epoch {epoch}, and {low[place]} follow from nothing lost"
                if upto > high.get(place, 0):
                    yield f"{what} {upto} bytes of {thread}, epoch {epoch}, where {high.get(place, 0)} were left"


def nobody_takes_what_follows_from_lost_choices(recording: Recording) -> Iterator[str]:
    """What was sent before a failure was decided, and comes later, is dropped."""
    orphans = Orphans(recording, strict=True)
    for decision in orphans.decisions:
        for task in recording.manifest.tasks:
            for attempt in range(recording.attempts(task.id)):
                yield from _taken_late(orphans, decision, task.id, attempt)


def _taken_late(orphans: Orphans, decision: Decision, task: str, attempt: int) -> Iterator[str]:
    events, ended = orphans.recording.events, orphans.recording.ends.get((task, attempt))
    # One that was suspected runs on for a while; what it does counts for nobody.
    until_us = events[-1 if ended is None else ended]["t_us"]
    for take in orphans.dependence.takes(task, attempt):
        if decision.t_us < take.receipt.taken_us <= until_us and decision.is_lost(take):
            yield (
                f"{task} attempt {attempt} took buffer {take.receipt.seq} of attempt {take.receipt.sender_attempt} "
                f"when failure {decision.failure['failure']} had lost what it follows from"
            )


def what_is_left_follows_from_what_is_left(recording: Recording) -> Iterator[str]:
    """Whoever lived to the end follows, by whatever way, only from choices that their tasks' last attempts repeated."""
    dependence = Dependence(recording, strict=True)
    last: dict[str, int] = {task.id: recording.attempts(task.id) - 1 for task in recording.manifest.tasks}
    for task, attempt in last.items():
        told = set()
        for take in dependence.takes(task, attempt):
            for (of, one, thread, epoch), upto in take.needs.items():
                if one == last[of] or epoch < recording.restored(of, last[of]) or (of, one, thread, epoch) in told:
                    continue
                lost = recording.log(of, one, thread, epoch)[:upto]
                if not recording.log(of, last[of], thread, epoch).startswith(lost):
                    told.add((of, one, thread, epoch))
                    yield (
                        f"{task} attempt {attempt} follows from {upto} bytes of {thread}, epoch {epoch}, of {of} "
                        f"attempt {one}, which attempt {last[of]} did not repeat"
                    )


def nobody_asks_but_the_storage(recording: Recording) -> Iterator[str]:
    """Nothing is piggybacked that a task could answer with; and no failure is one of all."""
    for one in recording.events:
        if one["type"] == "determinants-requested" and not one["channel"].endswith(">world"):
            yield f"event {one['n']}: {one['at']} asks {one['channel']}"
        if one["type"] in ("global-rollback", "escalated"):
            yield f"event {one['n']} rolls back whoever is no orphan"
    for channel in recording.graph.channels:
        for attempt in range(recording.attempts(channel.source)):
            if any(frame.delta for frame in recording.sendings(channel.source, attempt, channel.k)):
                yield f"{channel.id} carries determinants of attempt {attempt}"


_LOGS = tuple(one for one in logs.EXACT if one is not logs.survivors_depend_on_what_was_recovered)
"""But one: a buffer that an output thread cut late does not follow from the main log of the next epoch."""

CHECKS = (
    orphans_go_back_just_as_far_as_they_must,
    nobody_takes_what_follows_from_lost_choices,
    what_is_left_follows_from_what_is_left,
    nobody_asks_but_the_storage,
    *_LOGS,
    *buffers.EXACT,
    *states.EXACT,
    *sinks.EXACT,
)
