"""Why a step happened: its causes, theirs, and so on, back to determinants, deltas and events of the recording."""

from __future__ import annotations

from typing import Any

from dashboard.queries.recorded import rows_of
from dashboard.queries.steps import numbered
from ingest.lake.step_reader import StepReader

MOST_CAUSES = 200


def chain(written: StepReader, job_id: str, step: int, depth: int) -> dict[str, Any]:
    """Breadth first, so that what is left out is what lies farthest; it is counted."""
    links: list[dict[str, str]] = []
    known, edge, left_out = {f"step:{step}"}, [step], 0
    for _ in range(depth):
        found = _causes(written, edge)
        edge = []
        for effect, cause in found:
            if cause not in known and len(known) > MOST_CAUSES:
                left_out += 1
                continue
            links.append({"effect": f"step:{effect}", "cause": cause})
            if cause not in known:
                known.add(cause)
                number = _step_number(cause)
                edge += [] if number is None else [number]
        if not edge:
            break
    left_out += len(_causes(written, edge)) if edge else 0
    return {"step": step, "causes": _described(written, job_id, known), "links": links, "left_out": left_out}


def _causes(written: StepReader, steps: list[int]) -> list[tuple[int, str]]:
    sql = "SELECT step, cause FROM causes WHERE step IN (SELECT unnest($steps)) ORDER BY step DESC, cause"
    return [(row[0], row[1]) for row in written.rows(sql, {"steps": steps})] if steps else []


def _described(written: StepReader, job_id: str, refs: set[str]) -> list[dict[str, Any]]:
    """Steps first, latest first; then what stands in the recording."""
    numbers = {ref: number for ref in refs if (number := _step_number(ref)) is not None}
    steps = numbered(written, numbers.values())
    of_steps = [
        {"ref": ref, "kind": steps[number]["kind"], "text": steps[number]["text"] or "", "row": steps[number]}
        for ref, number in sorted(numbers.items(), key=lambda item: -item[1])
        if number in steps
    ]
    return of_steps + rows_of(job_id, sorted(refs - set(numbers)))


def _step_number(ref: str) -> int | None:
    kind, _, number = ref.partition(":")
    return int(number) if kind == "step" and number.isdigit() else None
