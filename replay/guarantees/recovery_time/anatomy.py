"""Recoveries taken apart for a picture: lanes, groups, the critical path of each, and what the equations make of it."""

from __future__ import annotations

from itertools import islice
from typing import Any

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.guarantees.recovery_time.critical_path import critical_path
from replay.guarantees.recovery_time.fitting import Fitted, fitted
from replay.guarantees.recovery_time.lanes import Lane, lane_of, taken_along, together
from replay.guarantees.recovery_time.model import told
from replay.guarantees.recovery_time.phases import recoveries
from replay.guarantees.recovery_time.section import MEANING, MOST_RECOVERIES, predicted


def anatomy(source: RecordingSource) -> dict[str, Any]:
    """Plain values: what is the same for every recovery, and the groups of those that were recovered from together."""
    story = Story.read(source.events())
    found = list(islice(recoveries(source, story), MOST_RECOVERIES))
    along, left_out = taken_along(source, story, found)
    fit = fitted(source, story, found)
    lanes = [lane_of(source, story, one) for one in found] + along
    return {
        "protocol": source.manifest.protocol.name,
        "failures": len(story.failures),
        "failures_left_out": max(0, len(story.failures) - len(found)),
        "lanes_left_out": left_out,
        "unreadable": story.unreadable,
        **_model(fit),
        "groups": [_group(source, story, fit, group) for group in together(lanes)],
    }


def _model(fit: Fitted) -> dict[str, Any]:
    return {
        "parameters": None if fit.parameters is None else fit.parameters.to_json(),
        "model": None if fit.parameters is None else told(fit.parameters),
        "known": fit.known,
        "how": fit.how,
        "lacking": [{"name": name, "what": MEANING[name], "wants": wants} for name, wants in fit.lacking.items()],
    }


def _group(source: RecordingSource, story: Story, fit: Fitted, group: list[Lane]) -> dict[str, Any]:
    path = critical_path(source, story, group)
    return {
        "begun_us": min(one.recovery.failed_us for one in group),
        "end_us": max(one.end_us for one in group),
        "caught_up_us": max((one.caught_up_us for one in group if one.caught_up_us is not None), default=None),
        "lanes": [{**one.to_json(), **_foretold(fit, one)} for one in group],
        "path": [wait._asdict() for wait in path],
    }


def _foretold(fit: Fitted, lane: Lane) -> dict[str, Any]:
    """Of what a failure began; a task that a rollback took along is nothing that the equations speak of."""
    one = lane.recovery
    if lane.rollback is not None:
        return {"actual_us": None, "equation_us": None, "predicted_us": None, "predicted_caught_up_us": None}
    found = predicted(fit, one)
    found["predicted_caught_up_us"] = found.pop("caught_up_us")
    return {"actual_us": one.actual_us, **found}
