"""The tables of a replay's steps: columns, types and order, and the copies that are stored in a second order."""

from __future__ import annotations

import pyarrow as pa

from ingest.lake.schema import Table, table

_I64, _I32, _TEXT, _BOOL = pa.int64(), pa.int32(), pa.string(), pa.bool_()

STEPS_VERSION = 4
"""Raised whenever a table changes. Steps of version 1 have no `taken`; a search that needs it says so.
Those of version 2 have no `state_marks`: their state is added up from all changes. Those of version 3 have no
`open_orders`: whether the recording proves the order of two steps was not looked at."""

STEPS = table(
    "steps",
    {
        "step": _I64,
        "task": _TEXT,
        "actor": _TEXT,
        "kind": _TEXT,
        "state": _TEXT,
        "epoch": _I64,
        "record_count": _I64,
        "t_us": _I64,
        "log": _TEXT,
        "log_offset": _I64,
        "channel": _TEXT,
        "buffer": _I64,
        "bytes": _I64,
        "text": _TEXT,
    },
    counting="step record_count t_us log_offset buffer",
    distinct="text",
    scanned="text",
)
CAUSES = table("causes", {"step": _I64, "cause": _TEXT}, counting="step", distinct="cause")
STATE_CHANGES = table(
    "state_changes",
    {"step": _I64, "task": _TEXT, "key": _TEXT, "before": _TEXT, "after": _TEXT},
    counting="step",
    distinct="before after",
)
BUFFERS = table(
    "buffers",
    {
        "step": _I64,
        "task": _TEXT,
        "channel": _TEXT,
        "seq": _I64,
        "bytes": _I64,
        "was_received_before": _BOOL,
        "matches": _BOOL,
    },
    counting="step",
)
TAKEN = table(
    "taken", {"step": _I64, "task": _TEXT, "determinant": _TEXT, "value": _I64, "name": _TEXT}, counting="step"
)
OPEN_ORDERS = table("open_orders", {"step": _I64, "before": _I64}, counting="step")
STEP_TABLES: dict[str, Table] = {one.name: one for one in (STEPS, CAUSES, STATE_CHANGES, BUFFERS, TAKEN, OPEN_ORDERS)}

EFFECTS = Table("effects", CAUSES.schema, counting=CAUSES.counting, distinct=CAUSES.distinct)
"""`causes` sorted by (cause, step): what followed from a step."""

STRETCH_STEPS = 65_536
STATE_MARKS = table(
    "state_marks", {"key": _TEXT, "task": _TEXT, "stretch": _I64, "step": _I64, "after": _TEXT}, distinct="after"
)
"""Of each key the last change in every stretch of so many steps that changes it, sorted by key: the state at a step is
the last mark before its stretch, or the last change within it."""

STATE_KEYS = table("state_keys", {"key": _TEXT, "task": _TEXT, "first_step": _I64})
"""The keys of `state_changes`, once each: a page of the state finds here how far it has to read."""

LATER_TABLES = tuple(one.name for one in (EFFECTS, STATE_MARKS, STATE_KEYS))
"""Those that are made of the others at the end."""

SPILL = ".spill"
STEP_ROW_GROUP_ROWS = 16_384
"""Small row groups: a page reads one or two of them."""
