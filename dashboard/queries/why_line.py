"""The causes of a step as one line back to the recording, nearest first; what branches off is counted and listed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from dashboard.queries import effects, why
from dashboard.queries.recorded import DETERMINANT
from dashboard.queries.why_path import Hop, distances, number_of
from ingest.lake.step_reader import StepReader

# Farther than any step lies from the recording.
DEPTH = 12
EFFECTS_SHOWN = 5
ALL_EFFECTS_SHOWN = 60
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
    # What stands between this one and the one before it on the line, where that is folded.
    folded: list[Link] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class WhyLine:
    line: list[Link]
    beside: list[Link]
    left_out: int
    effects: list[dict[str, Any]]
    effects_left_out: int
    # The nearest step behind this one, folded or not.
    cause: int | None

    @property
    def effect(self) -> int | None:
        """The nearest step that this one caused."""
        return self.effects[0]["step"] if self.effects else None

    @property
    def hidden(self) -> int:
        """How much more there is to see than the line as it is folded."""
        return len(self.beside) + sum(len(link.folded) for link in self.line)


def why_line(written: StepReader, job_id: str, step: int, *, everything: bool = False) -> WhyLine:
    """Folded unless everything is asked for; what lies beside it comes nearest first."""
    found = why.chain(written, job_id, step, DEPTH)
    causes = {cause["ref"]: cause for cause in found["causes"]}
    behind: dict[str, list[str]] = {}
    for link in found["links"]:
        behind.setdefault(link["effect"], []).append(link["cause"])
    hops = found["chains"][0]
    refs = [ref for hop in hops for ref in (*hop.folded, hop.ref)]
    links = {
        ref: _link(job_id, causes[ref], len(set(behind.get(ref, [])) - set(refs))) for ref in refs if ref in causes
    }
    far = distances(f"step:{step}", behind)
    apart = sorted(
        (ref for ref in causes if ref not in refs), key=lambda ref: (far.get(ref, DEPTH), -number_of(ref), ref)
    )
    beside = [_link(job_id, causes[ref], 0) for ref in apart]
    following = effects.of(written, step, ALL_EFFECTS_SHOWN if everything else EFFECTS_SHOWN)
    cause = next((link.step for link in [*links.values()][1:] if link.step is not None), None)
    shown = [*links.values()] if everything else [_folded(hop, links) for hop in hops if hop.ref in links]
    return WhyLine(shown, beside, found["left_out"], following["steps"], following["left_out"], cause)


def _folded(hop: Hop, links: dict[str, Link]) -> Link:
    return replace(links[hop.ref], folded=[links[ref] for ref in hop.folded if ref in links])


def _link(job_id: str, cause: dict[str, Any], branches: int) -> Link:
    kind, _, rest = cause["ref"].partition(":")
    step = int(rest) if kind == "step" and rest.isdigit() else None
    label = f"step {step:,}" if step is not None else LABELS.get(kind, kind)
    return Link(cause["ref"], label, cause["text"], _href(job_id, cause, step), step, branches)


def _href(job_id: str, cause: dict[str, Any], step: int | None) -> str:
    """The step; the log where a determinant stands; who held how much of a task's log when something happened."""
    if step is not None:
        return f"?step={step}"
    if match := DETERMINANT.fullmatch(cause["ref"]):
        return f"/jobs/{job_id}/logs/?{urlencode(match.groupdict())}"
    row = cause.get("row") or {}
    task = row.get("task") or row.get("at")
    if not task:
        return ""
    when = {} if row.get("t_us") is None else {"t": row["t_us"]}
    return f"/jobs/{job_id}/paths/?{urlencode({'task': task, **when})}"
