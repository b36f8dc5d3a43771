"""What a question in SQL may be about: tables of a job and of its replays, with the columns that the asker may see."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ingest.lake.schema import LAKE_TABLES
from ingest.lake.sealing import HIDDEN
from ingest.lake.step_schema import STEP_TABLES

MOST_SQL = 8_000
MOST_ROWS = 1_000
_HIDDEN_STEPS = {"steps": ("text",), "taken": ("value",), "state_changes": ("key", "before", "after")}


@dataclass(frozen=True, slots=True)
class Asked:
    """A table that may be asked: one of the job's own, or of a replay where `schema` says which."""

    schema: str
    name: str
    files: tuple[str, ...]

    def columns(self, *, sealed: bool) -> pa.Schema:
        """Those that are there; `sealed`: without what tells values."""
        whole = (STEP_TABLES if self.schema else LAKE_TABLES)[self.name].schema
        hidden = (_HIDDEN_STEPS if self.schema else HIDDEN).get(self.name, ()) if sealed else ()
        return pa.schema([field for field in whole if field.name not in hidden])
