"""A replay that is hunted: its operator is listened to, and then executed in several surroundings."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ingest.jobs.hunting.perturbation import WORDS, Attempt, perturb
from ingest.jobs.lifeline import Command
from ingest.lake.steps import ParquetStepSink
from replay import live
from replay.debugger.hunting.watched import Hunt
from replay.debugger.outcome import Outcome
from replay.errors import ReplayError

_BEGUN = 2
"""Calls after which an operator is there: it was made, and opened."""

log = logging.getLogger("ingest.replay")


def hunt_beside(sink: ParquetStepSink) -> Hunt:
    """For the operators of a replay whose steps are written there."""
    return Hunt(live.real_calls(), live.shared_random(), live.system_random(), lambda: max(0, sink.steps - 1))


def report(hunt: Hunt, request: Command, outcome: Outcome, log_path: Path, tell: Callable[..., None]) -> dict[str, Any]:
    """What was heard, and what moved; where the operator could not be executed, that."""
    readings = hunt.listens.readings
    found: dict[str, Any] = {"readings": readings.to_json(), "left_out": readings.left_out, "perturbed": None}
    found |= {"operator": hunt.operator_name, "package": hunt.package}
    if len(hunt.step_of_element) < _BEGUN or outcome.attempt is None:
        lacks = f"The operator was not executed, so nothing is known of what it reads. {outcome.sentence}"
        return found | {"lacks": lacks, "sentence": lacks}
    variables = [name for one in readings.to_json() if one["kind"] == "environment" for name in one["details"]]
    try:
        # The replayed attempt may have left no log of its own; then one before it has.
        for attempt in range(outcome.attempt, -1, -1):
            which = Attempt(request["pack"], outcome.task, attempt, variables)
            perturbed = perturb(which, log_path, lambda done, total: tell("hunting", done, total, "surroundings"))
            found["perturbed"] = found["perturbed"] or perturbed
            if perturbed["calls"] >= _BEGUN:
                found["perturbed"] = perturbed
                break
    except ReplayError as fault:
        log.exception("the hunt in other surroundings failed")
        found["lacks"] = f"It could not be executed in other surroundings: {fault}"
    moved = (found["perturbed"] or {}).get("moved", [])
    for one in moved:
        steps = hunt.step_of_element
        known = found["perturbed"]["attempt"] == outcome.attempt and one["element"] < len(steps)
        one["step"] = steps[one["element"]] if known else None
    return found | {"sentence": _sentence(found, moved)}


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
