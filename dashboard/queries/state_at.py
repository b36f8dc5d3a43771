"""The operator's state at a step: what this step changed, then what stands beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.queries import state
from ingest.lake.step_reader import StepReader

ENTRIES_SHOWN = 12
VALUE_SHOWN = 160

_CHANGES_SQL = "SELECT task, key, before, after FROM state_changes WHERE step = $step ORDER BY key LIMIT $limit"


@dataclass(frozen=True, slots=True)
class Change:
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
    rows = written.rows(_CHANGES_SQL, {"step": step, "limit": ENTRIES_SHOWN})
    changes = [Change(task, key, _short(before), _short(after)) for task, key, before, after in rows]
    entries, following = state.after(written, step, prefix, "", ENTRIES_SHOWN)
    changed = {(change.task, change.key) for change in changes}
    shown = [{**one, "value": _short(one["value"])} for one in entries if (one["task"], one["key"]) not in changed]
    return StateAt(changes, shown[: max(3, ENTRIES_SHOWN - len(changes))], following is not None)


def _short(value: str | None) -> str | None:
    return value if value is None or len(value) <= VALUE_SHOWN else f"{value[:VALUE_SHOWN]}…"
