"""One byte of a log for which the smallest set is as small as it ever gets: whose, who follows from it, who has it."""

from __future__ import annotations

from typing import Any

from replay.errors import ReplayError
from replay.guarantees.recoverability.port import Causality, Question, Worst
from replay.model import WORLD


def example(causality: Causality, question: Question, worst: Worst) -> dict[str, Any] | None:
    """With evidence: the determinant, and the buffers by which others depend on it."""
    place, upto, t_us = worst.place, worst.upto, worst.first_us
    if place is None or not upto:
        return None
    found = causality.situation(place, upto, t_us)
    holders = {(task, attempt) for task, attempt, _ in found.holders if task != WORLD}
    without = [one for one in found.dependents if one[:2] not in holders and (question.world or one[0] != WORLD)]
    log = f"{place.task}/{found.attempt}/{place.thread}/{place.epoch}"
    evidence = [_determinant(causality, worst, found.attempt) or f"log:{log}@{upto - 1}"]
    for task, attempt, since_us in sorted(without, key=lambda one: one[2])[:3]:
        evidence += list(causality.taken(task, attempt, since_us))[:3]
    return {
        "log": log,
        "offset": upto - 1,
        "at_us": t_us,
        "size": worst.smallest,
        "holders": [_told(*one) for one in sorted(found.holders)],
        "dependents": [_told(*one) for one in sorted(without)],
        "evidence": evidence,
    }


def _told(task: str, attempt: int, since_us: int) -> dict[str, Any]:
    return {"task": task, "attempt": max(attempt, 0), "since_us": since_us}


def _determinant(causality: Causality, worst: Worst, attempt: int) -> str | None:
    """In the log of the attempt that lived then, or of one before it: what it was given it did not write first."""
    place = worst.place
    for one in range(attempt, -1, -1) if place is not None else ():
        try:
            found = causality.determinant(place, one, worst.upto - 1) if place is not None else None
        except ReplayError:
            return None  # the log can't be read so far: its place is named instead
        if found is not None:
            return found
    return None
