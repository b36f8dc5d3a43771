"""Why a search hits nowhere: names in it that no step of the replay bears, and the nearest that one does."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from dashboard.queries.kinds import DETERMINANTS, STEPS
from dashboard.queries.replay_overview import STATES
from dashboard.queries.written_once import once_written
from ingest.lake.step_reader import StepReader
from replay.debugger.searching.conditions import Comparison, Enters, OneOf, Search, walked
from replay.debugger.searching.fields import FIELDS, Field

# Of these a replay has few values: names, and no texts or numbers.
NAMED = ("task", "thread", "kind", "state", "log", "channel", "determinant", "name")
MOST_NAMES = 1_000
SHOWN = 6
# Names that are right, though this replay may have no such step: whoever asks for these knows what there is.
SPOKEN = {
    "kind": {kind.name for kind in STEPS},
    "determinant": {kind.name for kind in DETERMINANTS},
    "state": {*STATES},
}
_NAMES_SQL = 'SELECT DISTINCT "{column}" FROM {table} WHERE "{column}" IS NOT NULL ORDER BY 1 LIMIT $most'


def unheard(written: StepReader, search: Search) -> str:
    """One sentence; empty where each name is one that steps bear, or it can't be told."""
    for field, value in _names(search):
        known = _known(written, field)
        if known is not None and value not in known and value not in SPOKEN.get(field.name, ()):
            return f"No step here has {field.name} {value}{_instead(value, known)}."
    return ""


def _names(search: Search) -> Iterator[tuple[Field, str]]:
    for one in walked(search.condition):
        match one:
            case Enters(state):
                yield FIELDS["state"], state
            case Comparison(field, "=", value) if field.name in NAMED:
                yield field, str(value)
            case OneOf(field, values) if field.name in NAMED:
                yield from ((field, str(value)) for value in values)


def _known(written: StepReader, field: Field) -> list[str] | None:
    """None where there are too many to be names."""
    sql = _NAMES_SQL.format(column=field.column, table=field.table)
    rows = once_written(written, ("names", field.name), lambda: written.rows(sql, {"most": MOST_NAMES + 1}))
    return None if len(rows) > MOST_NAMES else [row[0] for row in rows]


def _instead(value: str, known: list[str]) -> str:
    if not known:
        return "; none has any"
    if near := get_close_matches(value, known, 1):
        return f"; the nearest is {near[0]}"
    if len(known) <= SHOWN:
        return f"; there are {', '.join(known)}"
    return f"; there are {', '.join(known[:SHOWN])} and {len(known) - SHOWN:,} more"
