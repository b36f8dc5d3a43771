"""The operator's state at a step: what changed last, then what else it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.queries import state
from dashboard.queries.steps import nearest
from ingest.lake.step_reader import StepReader

CHANGES_SHOWN = 4
ROWS_SHOWN = 10
VALUE_SHOWN = 160

# The changes of this step all stand there, up to a page; those before it fill up what is left.
_CHANGES_SQL = """
SELECT step, task, key, before, after FROM state_changes
WHERE step >= $first AND step < $end AND starts_with(key, $prefix) ORDER BY step DESC, key LIMIT $limit
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
    following: str | None


def state_at(written: StepReader, step: int, prefix: str = "", cursor: str = "") -> StateAt:
    """What changed last and then the first keys; behind a cursor the keys after it alone."""
    changes = [] if cursor else _changes(written, step, prefix)
    shown = {(change.task, change.key) for change in changes}
    # Some keys of the page may stand among the changes already: the page is as long as what is left for it.
    entries, following = state.after(
        written, step, prefix, cursor, ROWS_SHOWN - len(changes) if changes else ROWS_SHOWN
    )
    rest = [{**one, "value": _short(one["value"])} for one in entries if (one["task"], one["key"]) not in shown]
    return StateAt(changes, rest, following)


def _changes(written: StepReader, step: int, prefix: str) -> list[Change]:
    """The last change of each key: all of this step, and of those before as many as there is room for."""
    asked = {"prefix": prefix, "limit": ROWS_SHOWN}
    rows = nearest(written, step, True, ROWS_SHOWN, lambda within: written.rows(_CHANGES_SQL, {**within, **asked}))
    latest: dict[tuple[str, str], Change] = {}
    for at, task, key, before, after in rows:
        latest.setdefault((task, key), Change(at, task, key, _short(before), _short(after)))
    changes = list(latest.values())
    now = sum(change.step == step for change in changes)
    return changes[: min(ROWS_SHOWN - 1, max(now, CHANGES_SHOWN))]


def _short(value: str | None) -> str | None:
    return value if value is None or len(value) <= VALUE_SHOWN else f"{value[:VALUE_SHOWN]}…"
