"""The operator's state at a step: what changed last, then what else it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.queries import state
from ingest.lake.step_reader import StepReader

CHANGES_SHOWN = 4
ROWS_SHOWN = 10
VALUE_SHOWN = 160

# The changes of this step all stand there, up to a page; those before it fill up what is left.
_CHANGES_SQL = """
SELECT step, task, key, before, after FROM state_changes
WHERE step <= $step AND starts_with(key, $prefix) ORDER BY step DESC, key LIMIT $limit
"""


@dataclass(frozen=True, slots=True)
class Change:
    step: int
    task: str
    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class StateAt:
    changes: list[Change]
    entries: list[dict[str, Any]]
    more: bool


def state_at(written: StepReader, step: int, prefix: str = "") -> StateAt:
    rows = written.rows(_CHANGES_SQL, {"step": step, "prefix": prefix, "limit": ROWS_SHOWN})
    changes = [Change(at, task, key, _short(before), _short(after)) for at, task, key, before, after in rows]
    latest: dict[tuple[str, str], Change] = {}
    for change in changes:
        latest.setdefault((change.task, change.key), change)
    changes = list(latest.values())
    now = sum(change.step == step for change in changes)
    changes = changes[: max(now, CHANGES_SHOWN)]
    entries, following = state.after(written, step, prefix, "", ROWS_SHOWN)
    changed = {(change.task, change.key) for change in changes}
    rest = [{**one, "value": _short(one["value"])} for one in entries if (one["task"], one["key"]) not in changed]
    room = max(0, ROWS_SHOWN - len(changes))
    return StateAt(changes, rest[:room], following is not None or len(rest) > room)


def _short(value: str | None) -> str | None:
    return value if value is None or len(value) <= VALUE_SHOWN else f"{value[:VALUE_SHOWN]}…"
