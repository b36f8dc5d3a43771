"""What a step caused: the steps that name it as their cause."""

from __future__ import annotations

from typing import Any

from dashboard.queries.steps import Written, numbered

MOST = 500


def of(written: Written, step: int) -> dict[str, Any]:
    params = {"cause": f"step:{step}", "limit": MOST}
    rows = written.rows("SELECT DISTINCT step FROM effects WHERE cause = $cause ORDER BY step LIMIT $limit", params)
    found = numbered(written, [row[0] for row in rows])
    all_of_them = written.rows(
        "SELECT count(DISTINCT step) FROM effects WHERE cause = $cause", {"cause": params["cause"]}
    )
    shown = [found[number] for number in sorted(found)]
    return {"steps": shown, "left_out": max(0, int(all_of_them[0][0]) - len(shown))}
