"""Reading a replay's steps, finished or still being written: single steps, ranges, state, causes, effects, buffers."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.lake.engine import Limits, Params, Row, connect, deadline, fetch_columns, fetch_rows, parquet
from ingest.lake.errors import NotPublished
from ingest.lake.schema import Table, empty_source
from ingest.lake.sealing import keys_table, sealed_steps
from ingest.lake.step_schema import EFFECTS, STATE_KEYS, STATE_MARKS, STEP_TABLES, STRETCH_STEPS

FOLDERS_KEPT_OPEN = 32
# Of each folder, what searches have found of steps that stand before or after one another: 8 bytes a row.
TABLES_KEPT = 64
ROWS_KEPT = 4_000_000
LIMITS = Limits(memory_mib=384, threads=2, timeout_s=10.0)
TABLES: dict[str, Table] = {**STEP_TABLES, EFFECTS.name: EFFECTS}
_ONLY_THEN = {STATE_KEYS.name: STATE_KEYS, STATE_MARKS.name: STATE_MARKS}
# What is stored a second time only at the end is read from its chunks until then.
_UNTIL_THEN = {EFFECTS.name: "causes"}

Identity = tuple[int, int, int]
Dict = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StateEntry:
    """A key's value after a step, and the step that gave it."""

    task: str
    key: str
    value: str
    step: int


class StepReader:
    """The steps in one folder. Opening one is cheap: what costs is kept and shared by folder.

    Raises `NotPublished` where no step is written yet.
    """

    def __init__(self, folder: Path | str, *, sealed: bool = False, foreign: bool = False) -> None:
        """`sealed`: what steps say of values is hidden, see `sealing`; `foreign`: where they were uploaded."""
        self._folder = _opened(Path(folder), sealed, foreign)
        self._folder.refresh()

    @property
    def complete(self) -> bool:
        """Whether this is all, sorted; else more steps may follow."""
        return self._folder.complete

    @property
    def steps(self) -> int:
        """How many steps can be read now; they count from 0."""
        return self._folder.steps

    @property
    def content(self) -> tuple[object, ...]:
        """Which files these are: another value when others are written in their place."""
        return self._folder.folder, self._folder.sealed, self._folder.identity

    @property
    def sealed(self) -> bool:
        """Whether values are hidden."""
        return self._folder.sealed

    @property
    def version(self) -> int:
        """Which `STEPS_VERSION` wrote them."""
        return self._folder.version

    def rows(self, sql: str, params: Params | None = None, *, timeout_s: float = LIMITS.timeout_s) -> list[Row]:
        """One query over `steps`, `causes`, `state_changes`, `buffers`, `effects`; values are bound."""
        return self._folder.asked(lambda open_: fetch_rows(open_, sql, params, timeout_s))

    @contextmanager
    def session(self) -> Iterator[StepSession]:
        """A place for queries that build on one another: what one keeps in a table of its own, the next may read."""
        session = StepSession(self._folder)
        try:
            yield session
        finally:
            session.close()

    def columns_and_rows(self, sql: str, params: Params | None = None) -> tuple[list[str], list[Row]]:
        return self._folder.asked(lambda open_: fetch_columns(open_, sql, params, LIMITS.timeout_s))

    def close(self) -> None:
        """Nothing to do: the folder stays open for the next reader, until others push it out."""

    def __enter__(self) -> StepReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def step(self, number: int) -> Dict | None:
        found = self.between(number, number + 1)
        return found[0] if found else None

    def between(self, first: int, end: int) -> list[Dict]:
        """Steps from `first`, inclusive, to `end`, exclusive."""
        return self._dicts(
            "SELECT * FROM steps WHERE step >= $first AND step < $end ORDER BY step", {"first": first, "end": end}
        )

    def state(
        self, step: int, *, prefix: str = "", after: tuple[str, str] | None = None, limit: int = 200
    ) -> list[StateEntry]:
        """The state after a step, by (key, task) behind `after`; keys that were removed are not there."""
        found: list[StateEntry] = []
        while len(found) < limit:
            params = {"step": step, "prefix": prefix, "limit": limit - len(found)}
            params |= dict(zip(("after_key", "after_task"), after or (None, None), strict=True))
            upto = self._last_key(params) if self.complete else None
            stretch = step // STRETCH_STEPS if self._folder.marked else 0
            place = {"stretch": stretch, "stretch_begin": stretch * STRETCH_STEPS, "upto": upto and upto[0]}
            found += [StateEntry(*row) for row in self.rows(_STATE, params | place)]
            if upto is None:
                break
            after = upto  # keys that were removed left room on the page
        return found[:limit]

    def _last_key(self, params: Params) -> tuple[str, str] | None:
        """The last of as many keys as the page has room for; None where no more of them follow."""
        rows = self.rows(_KEYS, params)
        return rows[-1] if len(rows) == params["limit"] else None

    def causes(self, step: int) -> list[str]:
        rows = self.rows("SELECT cause FROM causes WHERE step = $step ORDER BY cause", {"step": step})
        return [row[0] for row in rows]

    def why(self, step: int, *, depth: int = 32, limit: int = 200) -> list[tuple[int, str]]:
        """(step, cause) pairs from this step back, nearest first: its causes, theirs, and so on."""
        found: list[tuple[int, str]] = []
        known, edge = {step}, [step]
        for _ in range(depth):
            if not edge or len(found) >= limit:
                break
            rows = self.rows(_CAUSES, {"steps": edge})
            found += [(row[0], row[1]) for row in rows][: limit - len(found)]
            edge = sorted({n for row in rows if (n := _step_of(row[1])) is not None} - known, reverse=True)
            known.update(edge)
        return found

    def effects(self, step: int, *, limit: int = 200) -> list[int]:
        """Steps that name this one as a cause."""
        sql = "SELECT DISTINCT step FROM effects WHERE cause = $cause ORDER BY step LIMIT $limit"
        return [row[0] for row in self.rows(sql, {"cause": f"step:{step}", "limit": limit})]

    def buffers(self, upto: int, *, channel: str | None = None, limit: int = 200) -> list[Dict]:
        """The ledger of buffers up to a step, latest first."""
        return self._dicts(
            "SELECT * FROM buffers WHERE step <= $upto AND ($channel IS NULL OR channel = $channel) "
            "ORDER BY step DESC LIMIT $limit",
            {"upto": upto, "channel": channel, "limit": limit},
        )

    def _dicts(self, sql: str, params: Params) -> list[Dict]:
        names, rows = self.columns_and_rows(sql, params)
        return [dict(zip(names, row, strict=True)) for row in rows]


_CAUSES = "SELECT step, cause FROM causes WHERE step IN (SELECT unnest($steps)) ORDER BY step DESC, cause"
_KEYS = """
SELECT key, task FROM state_keys
WHERE first_step <= $step AND starts_with(key, $prefix) AND key >= $prefix
  AND ($after_key IS NULL OR key > $after_key OR (key = $after_key AND task > $after_task))
ORDER BY key, task LIMIT $limit
"""
# No key is given twice at one step.
_STATE = """
SELECT task, key, last.after, last.step FROM (
    SELECT task, key, max_by({'after': after, 'step': step}, step) AS last
    FROM (
        SELECT task, key, after, step FROM state_marks WHERE stretch < $stretch AND {wanted}
        UNION ALL
        SELECT task, key, after, step FROM state_changes WHERE step >= $stretch_begin AND step <= $step AND {wanted}
    )
    GROUP BY task, key
)
WHERE last.after IS NOT NULL
ORDER BY key, task LIMIT $limit
""".replace(
    "{wanted}",
    "starts_with(key, $prefix) AND key >= $prefix "
    "AND ($after_key IS NULL OR key > $after_key OR (key = $after_key AND task > $after_task)) "
    "AND ($upto IS NULL OR key <= $upto)",
)


def _step_of(cause: str) -> int | None:
    kind, _, number = cause.partition(":")
    return int(number) if kind == "step" and number.isdecimal() else None


class _Folder:
    """An open connection whose views follow the folder's manifest."""

    def __init__(self, folder: Path, sealed: bool, foreign: bool) -> None:
        self.folder, self.sealed, self.foreign = folder, sealed, foreign
        self.steps = 0
        self.complete = False
        self.version = 0
        self.marked = False
        self._lock = threading.Lock()
        self._identity: Identity | None = None
        self._connection = connect(folder, LIMITS)
        self._keeping = threading.Lock()
        self._kept: OrderedDict[str, int] = OrderedDict()

    def refresh(self) -> None:
        """Takes on what was written since; raises `NotPublished` before the first chunk."""
        path = self.folder / "manifest.json"
        try:
            found = os.stat(path)
            identity = (found.st_ino, found.st_mtime_ns, found.st_size)
            if identity == self._identity:
                return
            document = json.loads(path.read_bytes())
        except FileNotFoundError as missing:
            raise NotPublished("no step of this replay is written yet") from missing
        with self._lock:
            if self.sealed:
                changes = self._select(TABLES["state_changes"], document["files"])
                self._connection.execute(f"CREATE OR REPLACE TABLE hidden_keys AS {keys_table(changes)}")
            for name, table in (TABLES | _ONLY_THEN).items():
                select = self._select(table, document["files"])
                shown = sealed_steps(name, select, foreign=self.foreign) if self.sealed else select
                self._connection.execute(f"CREATE OR REPLACE VIEW {name} AS {shown}")
            self.steps, self.complete, self._identity = document["steps"], document["complete"], identity
            self.version = document["steps_version"]
            self.marked = STATE_MARKS.name in document["files"]

    @property
    def identity(self) -> Identity | None:
        """Another one whenever other files hold the steps."""
        return self._identity

    def cursor(self) -> duckdb.DuckDBPyConnection:
        return self._connection.cursor()

    def keep(self, name: str, make: Callable[[], object]) -> None:
        """Makes a table unless it is there, and drops those that were not asked for longest when they are too much."""
        with self._keeping:
            if name in self._kept:
                self._kept.move_to_end(name)
                return
            make()
            self._kept[name] = int(self._connection.cursor().execute(f"SELECT count(*) FROM {name}").fetchall()[0][0])
            while len(self._kept) > 1 and (len(self._kept) > TABLES_KEPT or sum(self._kept.values()) > ROWS_KEPT):
                oldest, _ = self._kept.popitem(last=False)
                self._connection.cursor().execute(f"DROP TABLE IF EXISTS {oldest}")

    def asked(self, ask: Any) -> Any:
        """Asks again if files were compacted away between looking at the manifest and reading them."""
        try:
            return ask(self._connection)
        except duckdb.IOException:
            before = self._identity
            self.refresh()
            if self._identity == before:
                raise
            return ask(self._connection)

    def _select(self, table: Table, files: dict[str, list[str]]) -> str:
        paths = files.get(table.name)
        if paths is None:
            paths = files.get(_UNTIL_THEN.get(table.name, ""), [])
        if not paths:
            return f"SELECT * FROM {empty_source(table)}"
        return f"SELECT * FROM {parquet(self.folder / path for path in paths)}"


class StepSession:
    """A cursor of its own over the steps as they are now; `renew` follows them when their files were compacted away."""

    def __init__(self, folder: _Folder) -> None:
        self._folder = folder
        self._identity = folder.identity
        self._cursor = folder.cursor()

    def rows(self, sql: str, params: Params | None = None) -> list[Row]:
        with deadline(self._cursor, LIMITS.timeout_s):
            return self._cursor.execute(sql, params or None).fetchall()

    def columns(self, sql: str, params: Params | None = None, *, timeout_s: float = LIMITS.timeout_s) -> Dict:
        """Numbers, as arrays by name; those of columns that lack values are masked."""
        with deadline(self._cursor, timeout_s):
            found = self._cursor.sql(sql, params=dict(params or {})).to_arrow_table()
        return {name: _array(column) for name, column in zip(found.column_names, found.columns, strict=True)}

    def keep(self, sql: str, params: Params) -> str:
        """The name of a table of what this query gives. It is made once for all who ask for the same, and forgotten
        when too much else is kept: whoever finds it gone asks for it again."""
        asked = repr((self._identity, sql, sorted(params.items())))
        name = f"kept_{hashlib.sha256(asked.encode()).hexdigest()[:32]}"
        self._folder.keep(name, lambda: self.rows(f"CREATE OR REPLACE TABLE {name} AS {sql}", params))
        return name

    def renew(self) -> bool:
        """Begins anew on what is written now; False where nothing is new."""
        self._folder.refresh()
        if self._folder.identity == self._identity:
            return False
        self._cursor.close()
        self._identity, self._cursor = self._folder.identity, self._folder.cursor()
        return True

    def close(self) -> None:
        self._cursor.close()


def _array(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    if not column.null_count:
        return column.to_numpy()
    return np.ma.masked_array(column.fill_null(0).to_numpy(), column.is_null().to_numpy())


_lock = threading.Lock()
_open: OrderedDict[tuple[Path, bool, bool], _Folder] = OrderedDict()


def _opened(folder: Path, sealed: bool, foreign: bool) -> _Folder:
    real = folder.resolve()  # a replay done again is a link to another folder
    if not real.is_dir():
        raise NotPublished("no step of this replay is written yet")
    with _lock:
        key = real, sealed, foreign
        known = _open.get(key)
        if known is None:
            known = _open[key] = _Folder(real, sealed, foreign)
        _open.move_to_end(key)
        while len(_open) > FOLDERS_KEPT_OPEN:
            _open.popitem(last=False)
        return known
