"""The causes of a step as one line back to the recording, nearest first; what branches off is counted and listed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from dashboard.queries import effects, why
from dashboard.queries.recorded import DETERMINANT
from ingest.lake.step_reader import StepReader

DEPTH = 7
STEPS_SHOWN = 5
# The merge that chose the copy, and the answer that brought it.
STEPS_BEHIND_A_DETERMINANT = 2
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

    @property
    def cause(self) -> int | None:
        """The nearest step behind this one."""
        return next((link.step for link in self.line[1:] if link.step is not None), None)


def why_line(written: StepReader, job_id: str, step: int) -> WhyLine:
    found = why.chain(written, job_id, step, DEPTH)
    causes = {cause["ref"]: cause for cause in found["causes"]}
    behind: dict[str, list[str]] = {}
    for link in found["links"]:
        behind.setdefault(link["effect"], []).append(link["cause"])
    refs = _line(f"step:{step}", behind)
    line = [_link(job_id, causes[ref], len(set(behind.get(ref, [])) - set(refs))) for ref in refs if ref in causes]
    beside = [_link(job_id, cause, 0) for ref, cause in causes.items() if ref not in refs]
    following = effects.of(written, step)["steps"]
    return WhyLine(line, beside, found["left_out"], following[0]["step"] if following else None)


def _line(start: str, behind: dict[str, list[str]]) -> list[str]:
    """From a step back along its latest cause; where a determinant was read, by way of who returned it.

    A determinant, the delta that carried it and the merge that chose it are causes of one step, side by side; told
    after one another they are its history.
    """
    line, carried, here, steps_left = [start], "", start, STEPS_SHOWN
    while steps_left:
        ahead = [ref for ref in behind.get(here, []) if ref not in line]
        of_kind = {kind: [ref for ref in ahead if ref.startswith(f"{kind}:")] for kind in LABELS}
        if of_kind["det"] and not carried:
            line.append(of_kind["det"][0])
            carried, steps_left = next(iter(of_kind["delta"]), ""), STEPS_BEHIND_A_DETERMINANT + 1
        if not of_kind["step"]:
            line += [] if carried else (of_kind["delta"] + of_kind["event"])[:1]
            break
        here = max(of_kind["step"], key=_number)
        steps_left -= 1
        line += [here] if steps_left else []
    return [*line, carried] if carried else line


def _number(ref: str) -> int:
    number = ref.partition(":")[2]
    return int(number) if number.isdigit() else -1


def _link(job_id: str, cause: dict[str, Any], branches: int) -> Link:
    kind, _, rest = cause["ref"].partition(":")
    step = int(rest) if kind == "step" and rest.isdigit() else None
    label = f"step {step:,}" if step is not None else LABELS.get(kind, kind)
    return Link(cause["ref"], label, cause["text"], _href(job_id, cause["ref"], step), step, branches)


def _href(job_id: str, ref: str, step: int | None) -> str:
    if step is not None:
        return f"?step={step}"
    if match := DETERMINANT.fullmatch(ref):
        return f"/jobs/{job_id}/logs/?{urlencode(match.groupdict())}"
    return ""
