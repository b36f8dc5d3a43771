"""What a step caused: the steps that name it as their cause, and what these caused in turn."""

from __future__ import annotations

from typing import Any

from dashboard.queries.steps import numbered
from ingest.lake.step_reader import StepReader

MOST = 500
_COUNT = "SELECT count(*) FROM (SELECT DISTINCT step, cause FROM effects WHERE cause IN (SELECT unnest($causes)))"
_EFFECTS = """
SELECT DISTINCT step, cause FROM effects WHERE cause IN (SELECT unnest($causes)) ORDER BY step, cause LIMIT $limit
"""


def of(written: StepReader, step: int, most: int = MOST, depth: int = 1) -> dict[str, Any]:
    """The nearest of them, by so many hops, and how many more of the last hop there are."""
    known, edge, left_out = {step}, [step], 0
    links: list[dict[str, str]] = []
    for _ in range(depth):
        causes = {"causes": [f"step:{one}" for one in edge]}
        room = most - len(known) + 1
        found = [(row[0], row[1]) for row in written.rows(_EFFECTS, causes | {"limit": room})] if room > 0 else []
        in_all = len(found) if 0 < len(found) < room else int(written.rows(_COUNT, causes)[0][0])
        left_out += in_all - len(found)
        links += [{"effect": f"step:{effect}", "cause": cause} for effect, cause in found]
        edge = sorted({effect for effect, _ in found} - known)
        known.update(edge)
        if not edge:
            break
    steps = numbered(written, known - {step})
    return {"steps": [steps[number] for number in sorted(steps)], "links": links, "left_out": left_out}
