"""The causes of a step as one line back to the recording, nearest first; what branches off is counted and listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from dashboard.queries import effects, why
from dashboard.queries.recorded import DETERMINANT
from ingest.lake.step_reader import StepReader

DEPTH = 7
LABELS = {"step": "step", "det": "determinant", "delta": "delta", "event": "event"}


@dataclass(frozen=True, slots=True)
class Link:
    """One thing on the line: what it is, what it says, and the page that shows it."""

    ref: str
    label: str
    text: str
    href: str
    step: int | None
    others: int


@dataclass(frozen=True, slots=True)
class WhyLine:
    line: list[Link]
    beside: list[Link]
    left_out: int
    effect: int | None


def why_line(written: StepReader, job_id: str, step: int) -> WhyLine:
    found = why.chain(written, job_id, step, DEPTH)
    causes = {cause["ref"]: cause for cause in found["causes"]}
    behind: dict[str, list[str]] = {}
    for link in found["links"]:
        behind.setdefault(link["effect"], []).append(link["cause"])
    line, seen, here = [], {f"step:{step}"}, f"step:{step}"
    while here in causes:
        ahead = [ref for ref in behind.get(here, []) if ref not in seen]
        line.append(_link(job_id, causes[here], len(ahead)))
        if not ahead:
            break
        here = min(ahead, key=_telling)
        seen.add(here)
    beside = [_link(job_id, cause, 0) for ref, cause in causes.items() if ref not in seen]
    following = effects.of(written, step)["steps"]
    return WhyLine(line, beside, found["left_out"], following[0]["step"] if following else None)


def _telling(ref: str) -> tuple[int, int]:
    """The recording tells more than another step, and of steps the latest lies nearest."""
    kind, _, rest = ref.partition(":")
    rank = {"det": 0, "delta": 1, "step": 2, "event": 3}.get(kind, 4)
    return rank, -int(rest) if kind == "step" and rest.isdigit() else 0


def _link(job_id: str, cause: dict[str, Any], branches: int) -> Link:
    kind, _, rest = cause["ref"].partition(":")
    step = int(rest) if kind == "step" and rest.isdigit() else None
    label = f"step {step:,}" if step is not None else LABELS.get(kind, kind)
    return Link(cause["ref"], label, cause["text"], _href(job_id, cause["ref"], step), step, max(0, branches - 1))


def _href(job_id: str, ref: str, step: int | None) -> str:
    if step is not None:
        return f"?step={step}"
    if match := DETERMINANT.fullmatch(ref):
        return f"/jobs/{job_id}/logs/?{urlencode(match.groupdict())}"
    return ""
