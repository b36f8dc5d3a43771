"""A replay that is hunted: its operator is listened to, and then executed in several surroundings."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingest.jobs.hunting.perturbation import BEGUN, WORDS, Attempt, perturb
from ingest.jobs.lifeline import Command
from ingest.lake.steps import ParquetStepSink
from replay.debugger.hunting.watched import Hunt
from replay.debugger.outcome import Outcome
from replay.errors import ReplayError

_MOST_TASKS = 8
"""Of tasks that are replayed together, so many are executed in other surroundings."""

log = logging.getLogger("ingest.replay")


def hunt_beside(sink: ParquetStepSink) -> Hunt:
    """For the operators of a replay whose steps are written there."""
    return Hunt(lambda: max(0, sink.steps - 1))


def report(hunt: Hunt, request: Command, outcome: Outcome, log_path: Path, tell: Callable[..., None]) -> dict[str, Any]:
    """What was heard, and what moved; where the operator could not be executed, that."""
    readings = hunt.readings
    found: dict[str, Any] = {"readings": readings.to_json(), "left_out": readings.left_out, "perturbed": None}
    found["operators"] = [{"name": name, "package": package} for name, package in hunt.operators.items()]
    if not hunt.by_task:
        lacks = f"The operator was not executed, so nothing is known of what it reads. {outcome.sentence}"
        return found | {"lacks": lacks, "sentence": lacks}
    variables = [name for one in readings.to_json() if one["kind"] == "environment" for name in one["details"]]
    replayed = _replayed(outcome)
    try:
        for task, attempt in replayed[:_MOST_TASKS]:
            made = _perturbed(Attempt(request["pack"], task, attempt, variables), log_path, tell)
            for one in made["moved"]:
                one["step"] = hunt.step_of(task, one["element"]) if one["attempt"] == attempt else None
            found["perturbed"] = _put_together(found["perturbed"], made)
    except ReplayError as fault:
        log.exception("the hunt in other surroundings failed")
        found["lacks"] = f"It could not be executed in other surroundings: {fault}"
    if len(replayed) > _MOST_TASKS:
        names = ", ".join(task for task, _ in replayed[_MOST_TASKS:])
        found["lacks"] = f"{found.get('lacks', '')} Not executed in other surroundings: {names}.".strip()
    return found | {"sentence": _sentence(found, (found["perturbed"] or {}).get("moved", []))}


def _replayed(outcome: Outcome) -> list[tuple[str, int]]:
    """The attempts whose replay this was: of one task, or of several that failed together."""
    parts = outcome.detail.get("tasks") or [{"task": outcome.task, "attempt": outcome.attempt}]
    return [(one["task"], one["attempt"]) for one in parts if one["attempt"] is not None]


def _perturbed(asked: Attempt, log_path: Path, tell: Callable[..., None]) -> dict[str, Any]:
    """An attempt that was replayed may have left no log of its own; then one before it has."""
    first: dict[str, Any] | None = None
    for attempt in range(asked.attempt, -1, -1):
        which = dataclasses.replace(asked, attempt=attempt)
        made = perturb(which, log_path, lambda done, total: tell("hunting", done, total, "surroundings"))
        first = first or made
        if made["calls"] >= BEGUN:
            return made
    return first or {}


def _put_together(before: dict[str, Any] | None, more: dict[str, Any]) -> dict[str, Any]:
    if before is None:
        return more
    return {
        "attempts": before["attempts"] + more["attempts"],
        "tried": before["tried"],
        "calls": before["calls"] + more["calls"],
        "enough": before["enough"] or more["enough"],
        "ended": before["ended"] or more["ended"],
        "moved": before["moved"] + more["moved"],
    }


def _sentence(found: dict[str, Any], moved: list[dict[str, Any]]) -> str:
    readings = found["readings"]
    said = []
    if readings:
        places = sorted({(one["file"], one["line"]) for one in readings})
        calls = ", ".join(sorted({one["call"] for one in readings}))
        said.append(f"The operator reads past its log at {_places(places)}: {calls}.")
    said += [_moved(one) for one in moved]
    if not said:
        unknown = found.get("lacks") or (found["perturbed"] or {}).get("ended")
        moves = "" if unknown else ", and nothing moves what it gives"
        said.append(f"The operator reads nothing past its log{moves}.")
    if (found["perturbed"] or {}).get("ended"):
        said.append(f"Executed once more it came only so far: {found['perturbed']['ended']}")
    return " ".join([*said, *([found["lacks"]] if found.get("lacks") else [])])


def _places(places: list[tuple[str, int]]) -> str:
    file, line = places[0]
    more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
    return f"line {line} of {file}{more}"


def _moved(one: dict[str, Any]) -> str:
    by = f", by line {one['line']} of {one['file']}" if one["line"] else ""
    if one["surroundings"] == "again":
        return f"What it gives changes from execution to execution{by}."
    return f"What it gives moves with {WORDS[one['surroundings']]}{by}."
