"""An audit's section on recovery time: parameters, each recovery as predicted and as it was, intervals for a target."""

from __future__ import annotations

from itertools import islice
from statistics import fmean
from typing import Any

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import printable
from replay.guarantees.claims import Section
from replay.guarantees.recovery_time.fitting import Fitted, fitted
from replay.guarantees.recovery_time.model import Parameters, interval_for, time_to_catch_up, told
from replay.guarantees.recovery_time.phases import Recovery, recoveries

MOST_RECOVERIES = 200
"""More are counted, and not taken apart."""


def recovery_time(source: RecordingSource, target_ms: float | None = None) -> Section:
    """Equations 3.1 and 3.2 with the recording's numbers; `numbers` holds all that `what_if` needs."""
    section = Section("recovery-time", "How long a recovery takes")
    story = Story.read(source.events())
    found = list(islice(recoveries(source, story), MOST_RECOVERIES))
    fit = fitted(source, story, found)
    _parameters(section, fit)
    rows = [_recovery(section, fit, one) for one in found]
    section.numbers["recoveries"] = rows
    section.numbers["recoveries_left_out"] = max(0, len(story.failures) - len(found))
    if section.numbers["recoveries_left_out"]:
        wants = f"a recording with no more than {MOST_RECOVERIES} failures"
        section.lack("job", f"Of {len(story.failures):,} failures only the first {len(found):,} were looked at.", wants)
    _target(section, fit, target_ms)
    _sum_up(section, fit, rows, target_ms)
    return section


def _parameters(section: Section, fit: Fitted) -> None:
    section.numbers["parameters"] = None if fit.parameters is None else fit.parameters.to_json()
    section.numbers["how"] = fit.how
    section.numbers["loads"] = {failure: round(load, 4) for failure, load in fit.loads.items()}
    for name, wants in fit.lacking.items():
        section.lack("job", f"The recording does not tell {MEANING[name]} ({name}); it counts as 0.", wants)
    section.numbers["model"] = None if fit.parameters is None else told(fit.parameters)


MEANING = {
    "interval_us": "how far apart checkpoints are",
    "load": "how much of its time a task is at work",
    "rtt_us": "how long a round trip takes",
    "detection_us": "how long a failure goes unnoticed",
    "checkpoint_us": "how long a checkpoint takes until it is complete",
    "start_us": "how long it takes to schedule a task anew",
    "state_bytes": "how large a state is",
    "download_bytes_per_s": "how fast a state is loaded",
}


def _recovery(section: Section, fit: Fitted, one: Recovery) -> dict[str, Any]:
    """One row; `predicted_us` is the equation with what the age of its checkpoint was, `equation_us` with CI / 2."""
    row: dict[str, Any] = {
        "failure": one.failure,
        "task": one.task,
        "attempt": one.attempt,
        "standby": one.standby,
        "rolled_back": one.rolled_back,
        "age_us": one.age_us,
        "parts": one.parts,
        "actual_us": one.actual_us,
        **predicted(fit, one),
    }
    actual, said_us = row["actual_us"], row["predicted_us"]
    row["error_us"] = None if actual is None or said_us is None else said_us - actual
    about = f"failure:{one.failure}"
    if actual is None:
        section.lack(about, f"How long the recovery of {printable(one.task)} took can't be said.", one.lacking)
        return row
    said = f"Failure {one.failure} of {printable(one.task)} was made good after {_ms(actual)}"
    if said_us is None:
        section.claim(about, "measured", f"{said}.", one.evidence)
    else:
        section.claim(about, "predicted", f"{said}; predicted were {_ms(said_us)}.", one.evidence)
    return row


def predicted(fit: Fitted, one: Recovery) -> dict[str, float | None]:
    """By the equation, with what is known of this very recovery: its load, its standby, the age of its checkpoint."""
    if fit.parameters is None:
        return {"equation_us": None, "predicted_us": None, "caught_up_us": None}
    fields = fit.parameters.to_json() | {"load": fit.loads.get(str(one.failure), fit.parameters.load)}
    if one.standby is not None:
        fields["standby"] = one.standby
    own = Parameters.from_json(fields)
    age_us = own.mean_age_us if one.age_us is None else one.age_us
    return {
        "equation_us": told(own)["equation_us"],
        "predicted_us": own.recovery_us(age_us),
        "caught_up_us": time_to_catch_up(own.down_us, age_us, own.load),
    }


def _target(section: Section, fit: Fitted, target_ms: float | None) -> None:
    """The interval that the target asks for."""
    if target_ms is None or fit.parameters is None:
        section.numbers["target"] = None
        return
    found = interval_for(fit.parameters, target_ms * 1000)
    section.numbers["target"] = found
    mean_us, worst_us = found["mean_interval_us"], found["worst_interval_us"]
    if mean_us is not None and mean_us < found["least_us"]:
        said = f"Recoveries of {target_ms:g} ms want a checkpoint every {_ms(mean_us)}"
        section.claim("job", "out of reach", f"{said}, and one takes {_ms(found['least_us'])} until it is complete.")
    elif mean_us is not None:
        said = f"Recoveries of {target_ms:g} ms on average want a checkpoint every {_ms(mean_us)}"
        section.claim("job", "interval", f"{said}; of {target_ms:g} ms at worst, every {_ms(worst_us)}.")
    elif found["short_us"]:
        short = _ms(found["short_us"])
        said = f"No interval makes recoveries as short as {target_ms:g} ms: without anything to do again they take"
        section.claim("job", "out of reach", f"{said} {short} longer.")
    else:
        section.claim("job", "any", f"Any interval does for {target_ms:g} ms: nothing has to be done again.")


def _sum_up(section: Section, fit: Fitted, rows: list[dict[str, Any]], target_ms: float | None) -> None:
    measured = [row for row in rows if row["actual_us"] is not None]
    both = [row for row in measured if row["error_us"] is not None]
    section.numbers["measured"] = len(measured)
    section.numbers["mean_actual_us"] = fmean(row["actual_us"] for row in measured) if measured else None
    ratios = [row["predicted_us"] / row["actual_us"] for row in both if row["actual_us"]]
    section.numbers["predicted_to_actual"] = round(fmean(ratios), 4) if ratios else None
    if target_ms is not None and measured:
        section.good = all(row["actual_us"] <= target_ms * 1000 for row in measured)
    section.verdict = "predicted" if fit.parameters else "undecided"
    if not rows:
        section.verdict = "nothing failed" if fit.parameters is None else "predicted"
    section.sentence = _sentence(fit, rows, measured, ratios)


def _sentence(fit: Fitted, rows: list[Any], measured: list[Any], ratios: list[float]) -> str:
    if not rows:
        said = "Nothing failed"
        return f"{said}." if fit.parameters is None else f"{said}; a recovery would take {_model(fit.parameters)}."
    if fit.parameters is None:
        return f"{len(measured)} of {len(rows)} recoveries could be measured, and none be predicted."
    said = f"A recovery takes {_model(fit.parameters)}."
    if ratios:
        said += f" {len(ratios)} of {len(rows)} were measured; predicted was {fmean(ratios):.2f} times what they took."
    return said


def _model(one: Parameters) -> str:
    found = told(one)
    return f"{_ms(found['mean_us'])} on average and {_ms(found['worst_us'])} at worst, by equation {found['equation']}"


def _ms(us: float) -> str:
    return f"{us / 1000:,.1f} ms"
