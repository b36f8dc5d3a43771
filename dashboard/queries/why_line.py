"""The causes of a step as one line back to the recording, nearest first; what branches off is counted and listed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from dashboard.queries import effects, why
from dashboard.queries.recorded import DETERMINANT
from ingest.lake.step_reader import StepReader

DEPTH = 7
EFFECTS_SHOWN = 5
ALL_EFFECTS_SHOWN = 60
# The recovery's own walk from state to state says little of why a step happened: two and more of these are folded.
TRIVIAL = ("transition", "request")
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
    refs = _line(f"step:{step}", behind)
    line = [_link(job_id, causes[ref], len(set(behind.get(ref, [])) - set(refs))) for ref in refs if ref in causes]
    far = _distances(f"step:{step}", behind)
    apart = sorted(
        (ref for ref in causes if ref not in refs), key=lambda ref: (far.get(ref, DEPTH), -_number(ref), ref)
    )
    beside = [_link(job_id, causes[ref], 0) for ref in apart]
    following = effects.of(written, step, ALL_EFFECTS_SHOWN if everything else EFFECTS_SHOWN)
    cause = next((link.step for link in line[1:] if link.step is not None), None)
    shown = line if everything else _folded(line, {ref: one["kind"] for ref, one in causes.items()})
    return WhyLine(shown, beside, found["left_out"], following["steps"], following["left_out"], cause)


def _folded(line: list[Link], kinds: dict[str, str]) -> list[Link]:
    """Without the trivial hops, which the next link keeps. The ends of the line, and one alone, stay."""
    shown: list[Link] = []
    between: list[Link] = []
    for place, link in enumerate(line):
        if 0 < place < len(line) - 1 and kinds[link.ref] in TRIVIAL:
            between.append(link)
            continue
        if len(between) == 1:
            shown += between
            between = []
        shown.append(replace(link, folded=between))
        between = []
    return shown


def _distances(start: str, behind: dict[str, list[str]]) -> dict[str, int]:
    """How many hops back each cause lies, by the shortest way."""
    far, edge = {start: 0}, [start]
    while edge:
        following = [cause for here in edge for cause in behind.get(here, [])]
        far |= {cause: far[here] + 1 for here in edge for cause in behind.get(here, []) if cause not in far}
        edge = [cause for cause in dict.fromkeys(following) if far[cause] == far[edge[0]] + 1]
    return far


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
