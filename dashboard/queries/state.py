"""The state after a step: for each key the last value it was given, up to that step."""

from __future__ import annotations

from typing import Any

from dashboard.cursors import from_cursor, to_cursor
from dashboard.queries.steps import Written

_SQL = """
SELECT task, key, last.value, last.step FROM (
    SELECT task, key, max_by({'value': after, 'step': step}, step) AS last
    FROM state_by_key
    WHERE step <= $step AND key >= $prefix AND starts_with(key, $prefix)
      AND ($from_key IS NULL OR key > $from_key OR (key = $from_key AND task > $from_task))
    GROUP BY task, key
)
WHERE last.value IS NOT NULL
ORDER BY key, task LIMIT $limit
"""


def after(written: Written, step: int, prefix: str, cursor: str, limit: int) -> tuple[list[dict[str, Any]], str | None]:
    """A page of entries by key, and the cursor of the next page. A key that was removed is not there."""
    from_key, from_task = from_cursor(cursor, (str, str)) if cursor else (None, None)
    params = {"step": step, "prefix": prefix, "from_key": from_key, "from_task": from_task, "limit": limit + 1}
    rows = written.rows(_SQL, params)
    entries = [{"task": row[0], "key": row[1], "value": row[2], "step": row[3]} for row in rows[:limit]]
    following = to_cursor([entries[-1]["key"], entries[-1]["task"]]) if len(rows) > limit else None
    return entries, following
