"""The ways from a step back to the recording: the shortest first, without the trivial hops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# The recovery's own walk from state to state says little of why a step happened: two and more of these are folded.
TRIVIAL = ("transition", "request")
# Where a determinant was read: the merge that chose the copy, and the answer that brought it.
_CHOSE, _BROUGHT = "merge", "answer"

Behind = Mapping[str, Sequence[str]]
Kinds = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Hop:
    """One thing on the way, and those between it and the one before it that are folded."""

    ref: str
    folded: list[str] = field(default_factory=list)


def ways(start: str, behind: Behind, kinds: Kinds) -> list[list[str]]:
    """From a step to every place of the recording that it follows from, each once and on the shortest way.

    Where none is known, the one way is as far back as steps are known.
    """
    came_from: dict[str, str] = {start: ""}
    edge, found, reached = [start], list[list[str]](), set[str]()
    while edge:
        ahead: list[str] = []
        for here in edge:
            for end in _ends(here, behind, kinds):
                if end[0] not in reached:
                    reached.add(end[0])
                    found.append([*_back_to(here, came_from), *end])
            for cause in _steps(here, behind):
                if cause not in came_from:
                    came_from[cause] = here
                    ahead.append(cause)
        edge = ahead
    return found or [_nearest(start, behind)]


def folded(line: Sequence[str], kinds: Kinds) -> list[Hop]:
    """Without the trivial hops, which the next one keeps. The ends of the line, and one alone, stay."""
    shown: list[Hop] = []
    between: list[str] = []
    for place, ref in enumerate(line):
        if 0 < place < len(line) - 1 and kinds.get(ref) in TRIVIAL:
            between.append(ref)
            continue
        if len(between) == 1:
            shown.append(Hop(between.pop()))
        shown.append(Hop(ref, between))
        between = []
    return shown


def distances(start: str, behind: Behind) -> dict[str, int]:
    """How many hops back each cause lies, by the shortest way."""
    far, edge = {start: 0}, [start]
    while edge:
        following = dict.fromkeys(cause for here in edge for cause in behind.get(here, ()) if cause not in far)
        far |= dict.fromkeys(following, far[edge[0]] + 1)
        edge = list(following)
    return far


def number_of(ref: str) -> int:
    """Of a step or an event; of anything else -1."""
    number = ref.partition(":")[2]
    return int(number) if number.isdigit() else -1


def _steps(here: str, behind: Behind) -> list[str]:
    """Its causes that are steps, the nearest first."""
    return sorted((ref for ref in behind.get(here, ()) if ref.startswith("step:")), key=number_of, reverse=True)


def _of_kind(kind: str, here: str, behind: Behind) -> str | None:
    """The nearest of its causes in the recording of that kind."""
    return max((ref for ref in behind.get(here, ()) if ref.startswith(f"{kind}:")), key=number_of, default=None)


def _ends(here: str, behind: Behind, kinds: Kinds) -> list[list[str]]:
    """What of the recording a step names, and of a determinant who returned it and how it had come to them.

    The determinant, the merge that chose it, the answer and the delta are causes of one step, side by side; told after
    one another they are its history.
    """
    determinant, delta = _of_kind("det", here, behind), _of_kind("delta", here, behind)
    if determinant is None:
        events = sorted((ref for ref in behind.get(here, ()) if ref.startswith("event:")), key=number_of, reverse=True)
        return [[ref] for ref in events] or ([] if delta is None else [[delta]])
    line = [determinant]
    steps = _steps(here, behind)
    merge = next((ref for ref in steps if kinds.get(ref) == _CHOSE), None)
    answers = [ref for ref in (*steps, *_steps(merge or "", behind)) if kinds.get(ref) == _BROUGHT]
    line += [] if merge is None else [merge]
    if answers:
        told = _of_kind("event", answers[0], behind)
        line += [answers[0], *([] if told is None else [told])]
    return [[*line, *([] if delta is None else [delta])]]


def _back_to(here: str, came_from: Mapping[str, str]) -> list[str]:
    line = [here]
    while came_from[line[-1]]:
        line.append(came_from[line[-1]])
    return line[::-1]


def _nearest(start: str, behind: Behind) -> list[str]:
    line = [start]
    while following := [ref for ref in _steps(line[-1], behind) if ref not in line]:
        line.append(following[0])
    return line
