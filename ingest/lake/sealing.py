"""What stays hidden from who may see that there is something, and not what it says: columns of the lake's tables and of
steps. A sign stands in place of each value; what has no value has no sign.

Hidden are the values of determinants, of records and of state, the keys of state, sentences that may quote any of them,
and what was told in words when something failed. Everything else (who, when, how much, in which order) is structure.
"""

from __future__ import annotations

import pyarrow as pa

from ingest.lake.engine import quoted

SIGN = "•••"
# What engines say themselves: the one thing that tells a suspicion from a failure.
PLAIN_CAUSES = ("kill", "killed", "host killed", "suspected", "its process ended without a word")
HIDDEN: dict[str, tuple[str, ...]] = {
    "determinants": ("value", "payload", "timestamp", "storage_ref"),
    "sources": ("key", "timestamp", "value", "sha256"),
    "sinks": ("key", "timestamp", "value", "id"),
    "events": ("cause", "why", "more"),
    "failures": ("cause", "escalated_why"),
    "rejects": ("why",),
}
"""Columns of the lake's tables, by table."""

PLAIN_STEPS = ("transition", "request", "answer", "merge", "cut-buffer", "hold-back", "send-buffer")
PLAIN_TAKEN = ("order", "buffer-built", "take", "source-checkpoint", "ignore-checkpoint")


def sealed_select(table: str, schema: pa.Schema, source: str) -> str:
    """A query over the source that gives the same columns, the hidden ones as signs."""
    hidden = HIDDEN.get(table, ())
    return f"SELECT {', '.join(_column(field.name, hidden) for field in schema)} FROM {source}"


def sealed_steps(table: str, select: str, *, foreign: bool) -> str:
    """The same of a table of steps; `hidden_keys` numbers the keys of state. `foreign`: they were uploaded, so that
    sentences of any kind may say anything."""
    match table:
        case "steps":
            plain = ", ".join(map(quoted, PLAIN_STEPS))
            said = f"concat_ws(' ', replace(kind, '-', ' '), 'of ' || channel, {quoted(SIGN)})"
            text = said if foreign else f"CASE WHEN kind IN ({plain}) THEN text ELSE {said} END"
            return f"SELECT * REPLACE ({text} AS text) FROM ({select})"
        case "taken":
            plain = ", ".join(map(quoted, PLAIN_TAKEN))
            return f"SELECT * REPLACE (CASE WHEN determinant IN ({plain}) THEN value END AS value) FROM ({select})"
        case "state_changes":
            return _with_keys(select, "before", "after")
        case "state_marks":
            return _with_keys(select, "after")
        case "state_keys":
            return _with_keys(select)
    return select


def keys_table(state_changes: str) -> str:
    """A number for every key, in the order in which keys were first changed: it tells nothing of the key."""
    counted = f"SELECT key, min(step) AS first_step FROM ({state_changes}) GROUP BY key"
    number = "lpad(row_number() OVER (ORDER BY first_step, key)::VARCHAR, 6, '0')"
    return f"SELECT key, {quoted(SIGN + ' ')} || {number} AS sign FROM ({counted})"


def _with_keys(select: str, *values: str) -> str:
    replaced = ", ".join(["h.sign AS key", *(f"{_signed(f's.{name}')} AS {name}" for name in values)])
    return f"SELECT s.* REPLACE ({replaced}) FROM ({select}) s JOIN hidden_keys h ON h.key = s.key"


# What an event tells besides its columns may be anything; of a retry that ended, numbers are looked for in it.
_COUNTED = ("before", "answers", "hashed", "differing")
_MORE = "CASE WHEN type = 'retry-ended' THEN json_object({})::VARCHAR WHEN more IS NOT NULL THEN {} END AS more".format(
    ", ".join(f"'{one}', TRY_CAST(more ->> '$.{one}' AS BIGINT)" for one in _COUNTED), quoted(SIGN)
)


def _column(name: str, hidden: tuple[str, ...]) -> str:
    if name not in hidden:
        return f'"{name}"'
    if name == "more":
        return _MORE
    plain = (
        f"CASE WHEN lower(cause) IN ({', '.join(map(quoted, PLAIN_CAUSES))}) THEN cause ELSE" if name == "cause" else ""
    )
    return f'{plain} {_signed(chr(34) + name + chr(34))}{" END" if plain else ""} AS "{name}"'.strip()


def _signed(column: str) -> str:
    return f"CASE WHEN {column} IS NOT NULL THEN {quoted(SIGN)} END"
