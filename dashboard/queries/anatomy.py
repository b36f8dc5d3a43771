"""A job's recoveries taken apart, and what they would take if something were otherwise: by the model of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dashboard.models import Job
from dashboard.worked_out import Question
from replay.guarantees.recovery_time import Parameters, interval_for, what_if

_ANATOMY = Question(
    module="replay.guarantees.recovery_time",
    version=1,
    folder="recoveries",
    what="anatomy of the recoveries",
    remedy="The audit tells their phases without it.",
    code="no-recoveries",
)
NEEDED = ("interval_us", "load")
# Beyond these nobody asks in earnest, and every sum of them is still a number.
MOST = {"interval_ms": 1e9, "load": 1.0, "rtt_us": 1e9, "state_bytes": 1e15, "target_ms": 1e9}


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What somebody would have otherwise; None where it is to stay as it was."""

    interval_ms: float | None = None
    load: float | None = None
    rtt_us: float | None = None
    state_bytes: float | None = None
    standby: bool | None = None
    target_ms: float | None = None

    @property
    def changed(self) -> dict[str, Any]:
        """Those that are asked for, as the model takes them."""
        asked = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "target_ms"}
        return {name: value for name, value in asked.items() if value is not None}


def anatomy(job: Job) -> Any:
    """What `python -m replay.guarantees.recovery_time` says of the job's bundle; Problem where it cannot say."""
    return _ANATOMY.asked_of(job)


def otherwise(told: Mapping[str, Any], asked: Otherwise) -> dict[str, Any]:
    """Both models, and the interval that a target asks for. `missing`: what nobody told, though it takes that."""
    known = dict(told["known"])
    if asked.interval_ms is not None:
        known["interval_us"] = asked.interval_ms * 1000
    if asked.load is not None:
        known["load"] = asked.load
    missing = [name for name in NEEDED if name not in known]
    if missing:
        return {"missing": missing, "recorded": told["model"], "asked": None, "target": None, "parameters": None}
    parameters = Parameters.from_json(known | {key: asked.changed[key] for key in _AS_THEY_ARE & asked.changed.keys()})
    target_us = None if asked.target_ms is None else asked.target_ms * 1000
    return {
        "missing": [],
        "recorded": told["model"],
        "asked": what_if(parameters, **asked.changed),
        "target": None if target_us is None else interval_for(parameters, target_us),
        "parameters": parameters.to_json(),
    }


_AS_THEY_ARE = {"rtt_us", "state_bytes", "standby"}
