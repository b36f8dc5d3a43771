"""Why a step happened: its causes, theirs, and so on, back to determinants, deltas and events of the recording."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dashboard.queries.recorded import rows_of
from dashboard.queries.steps import numbered
from dashboard.queries.why_path import folded, ways
from ingest.lake.step_reader import StepReader

MOST_CAUSES = 200
# Of the many records in one buffer, or the many answers of one merge, the nearest; what is recorded always.
MOST_OF_A_STEP = 20
MOST_CHAINS = 20

Recorded = Callable[[list[str]], list[dict[str, Any]]]

_CAUSES = """
SELECT step, cause FROM causes WHERE step IN (SELECT unnest($steps))
QUALIFY row_number() OVER (
    PARTITION BY step ORDER BY starts_with(cause, 'step:'), length(cause) DESC, cause DESC
) <= $most
ORDER BY step DESC, cause
"""
_COUNT = "SELECT count(*) FROM causes WHERE step IN (SELECT unnest($steps))"


def chain(written: StepReader, job_id: str, step: int, depth: int, recorded: Recorded | None = None) -> dict[str, Any]:
    """Breadth first, so that what is left out is what lies farthest; it is counted. `chains`: the shortest first.

    `recorded` describes places of the recording, where it is not the lake that does.
    """
    links: list[dict[str, str]] = []
    behind: dict[str, list[str]] = {}
    known, edge, left_out = {f"step:{step}"}, [step], 0
    for _ in range(depth):
        found, more = _causes(written, edge)
        edge, left_out = [], left_out + more
        for effect, cause in found:
            if cause not in known and len(known) > MOST_CAUSES:
                left_out += 1
                continue
            links.append({"effect": f"step:{effect}", "cause": cause})
            behind.setdefault(f"step:{effect}", []).append(cause)
            if cause not in known:
                known.add(cause)
                number = _step_number(cause)
                edge += [] if number is None else [number]
        if not edge:
            break
    left_out += _number_of_causes(written, edge)
    causes = _described(written, recorded or partial(rows_of, job_id), known)
    kinds = {cause["ref"]: cause["kind"] for cause in causes}
    lines = ways(f"step:{step}", behind, kinds)
    return {
        "step": step,
        "causes": causes,
        "links": links,
        "left_out": left_out,
        "chains": [folded(line, kinds) for line in lines[:MOST_CHAINS]],
        "chains_left_out": max(0, len(lines) - MOST_CHAINS),
    }


def _causes(written: StepReader, steps: list[int]) -> tuple[list[tuple[int, str]], int]:
    """The nearest of each step, and how many more there are."""
    if not steps:
        return [], 0
    rows = written.rows(_CAUSES, {"steps": steps, "most": MOST_OF_A_STEP})
    full = len(rows) >= MOST_OF_A_STEP
    return [(row[0], row[1]) for row in rows], _number_of_causes(written, steps) - len(rows) if full else 0


def _number_of_causes(written: StepReader, steps: list[int]) -> int:
    return int(written.rows(_COUNT, {"steps": steps})[0][0]) if steps else 0


def _described(written: StepReader, recorded: Recorded, refs: set[str]) -> list[dict[str, Any]]:
    """Steps first, latest first; then what stands in the recording."""
    numbers = {ref: number for ref in refs if (number := _step_number(ref)) is not None}
    steps = numbered(written, numbers.values())
    of_steps = [
        {"ref": ref, "kind": steps[number]["kind"], "text": steps[number]["text"] or "", "row": steps[number]}
        for ref, number in sorted(numbers.items(), key=lambda item: -item[1])
        if number in steps
    ]
    return of_steps + recorded(sorted(refs - set(numbers)))


def _step_number(ref: str) -> int | None:
    kind, _, number = ref.partition(":")
    return int(number) if kind == "step" and number.isdigit() else None
