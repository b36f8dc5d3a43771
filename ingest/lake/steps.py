"""Writing a replay's steps, readable while they are written: chunks, a manifest, and compaction at the end.

The manifest is the truth: it names the files that belong together, and is replaced whole. Readers look at nothing else.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingest.lake.places import put_json
from ingest.lake.step_columns import FIELDS, KEY_BEFORE_AFTER, changes_of, columns_of
from ingest.lake.step_schema import LATER_TABLES, SPILL, STEP_ROW_GROUP_ROWS, STEP_TABLES, STEPS_VERSION
from ingest.lake.writers import ROWS_AT_ONCE, TableWriter
from replay.debugger.ports import BufferRow, Change, Told

MANIFEST = "manifest.json"
FIRST_CHUNK_S = 0.5
NEXT_CHUNK_S = 3.0
SHORTEST_CHUNK_S = 0.2
CHUNK_STEPS = 200_000
LOOK_EVERY_STEPS = 256
MOST_ROWS = 32_768
CHUNK_LEVEL = 1

Row = Sequence[Any]


class ParquetStepSink:
    """Where a replay writes its steps, one folder a replay: `replay.debugger.ports.StepSink`.

    Rows are gathered into columns some thousand at a time and go to the chunk's files as row groups become full: what
    is held in memory stays the same, however many steps there are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._clear()
        self.steps = 0
        self._files: dict[str, list[str]] = {name: [] for name in STEP_TABLES}
        self._chunks = 0
        self._chunk_begun = 0
        self._chunk_begun_s = time.monotonic()
        self._busy = False
        self._fault: BaseException | None = None
        self._writers: dict[str, TableWriter] = {}
        # The fields of step after step: a column is every so-and-so-many-th, and no step outlives being handed over.
        self._fields: list[Any] = []
        self._changes: list[tuple[int, str, int]] = []
        self._changed: list[str | None] = []
        self._rows: dict[str, list[Row]] = {name: [] for name in ("taken", "buffers", "open_orders")}
        self._taken = self._rows["taken"]

    def _clear(self) -> None:
        """A replay that was killed may have left steps: this is another one, and begins with none."""
        (self.folder / MANIFEST).unlink(missing_ok=True)  # first: what it names must be there
        for name in (*STEP_TABLES, *LATER_TABLES, SPILL):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for unfinished in self.folder.glob(f".{MANIFEST}.*.tmp"):
            unfinished.unlink(missing_ok=True)

    def step(self, told: Told) -> None:
        count = self.steps
        if count % LOOK_EVERY_STEPS == 0:
            self._look()
        self._fields.extend(told)
        self.steps = count + 1

    def state_changes(self, step: int, task: str, changes: Sequence[Change]) -> None:
        self._changes.append((step, task, len(changes)))
        for change in changes:
            self._changed.extend(change)
        if len(self._changed) >= MOST_ROWS * KEY_BEFORE_AFTER:  # one step may change, or restore, a million keys
            self._gather()

    def taken(self, step: int, task: str, determinant: str, value: int | None, name: str | None) -> None:
        self._taken.append((step, task, determinant, value, name))

    def buffer(self, row: BufferRow) -> None:
        self._rows["buffers"].append(row)

    def open_order(self, step: int, before: int) -> None:
        self._rows["open_orders"].append((step, before))

    def flush(self) -> None:
        """What was written becomes readable, unless that was done a moment ago: the next step sees to it then."""
        if self._fault is not None:
            return  # it is on its way to whoever asked for the replay; half of a chunk says nothing
        if not self._chunks or time.monotonic() - self._chunk_begun_s >= SHORTEST_CHUNK_S:
            self._write_chunk()

    def keep(self) -> None:
        """What was written becomes readable now, as nothing more may come: also where something ended it anywhere."""
        if self._busy:  # half of a chunk says nothing: what was readable before stays so
            self.abandon()
            self.steps = self._chunk_begun
        else:
            self._write_chunk()

    def abandon(self) -> None:
        """Leaves only what is readable: where there was no room for more, what nobody can read takes none."""
        for writer in self._writers.values():
            writer.abandon()
        self._writers.clear()
        remove_unnamed(self.folder)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Once files could not be written, no more are: whatever took the fault for its own meets it again."""
        if self._fault is not None:
            raise self._fault
        self._busy = True
        try:
            yield
        except BaseException as fault:
            self._fault = fault
            raise
        self._busy = False

    def _look(self) -> None:
        if self._is_due():
            self._write_chunk()
        elif len(self._fields) >= ROWS_AT_ONCE * FIELDS:
            self._gather()

    def _gather(self) -> None:
        with self._writing():
            if self._fields:
                steps, causes, rows = columns_of(self._fields)
                self._writer("steps").add(steps, len(self._fields) // FIELDS)
                if rows:
                    self._writer("causes").add(causes, rows)
                self._fields.clear()
            for changed, rows in changes_of(self._changes, self._changed, ROWS_AT_ONCE) if self._changes else ():
                self._writer("state_changes").add(changed, rows)
            self._changes.clear()
            self._changed.clear()
            for name, told in self._rows.items():
                if told:
                    self._writer(name).add_rows(told)
                    told.clear()

    def _writer(self, name: str) -> TableWriter:
        if name not in self._writers:
            chunk = f"chunk-{self._chunks:06d}"
            self._writers[name] = TableWriter(
                STEP_TABLES[name],
                self.folder,
                chunk,
                row_group_rows=STEP_ROW_GROUP_ROWS,
                level=CHUNK_LEVEL,
                page_index=False,  # row groups are small, and are put together as they are
            )
        return self._writers[name]

    def _write_chunk(self) -> None:
        self._gather()
        with self._writing():
            if self._writers:
                for name, writer in self._writers.items():
                    self._files[name] += [file.path for file in writer.close()]
                self._writers.clear()
                self._chunks += 1
                self._write_manifest(self._files, complete=False)
            self._chunk_begun, self._chunk_begun_s = self.steps, time.monotonic()

    def finish(self) -> None:
        """Makes all readable, sorted and in few files, and says that this is all."""
        self._write_chunk()
        from ingest.lake.step_compaction import compacted  # not before the end: it loads what the first step can spare

        chunks = [self.folder / path for paths in self._files.values() for path in paths]
        self._files = compacted(self.folder, self._files)
        self._write_manifest(self._files, complete=True)
        for path in chunks:
            path.unlink(missing_ok=True)

    def _is_due(self) -> bool:
        waiting = self.steps - self._chunk_begun
        if waiting >= CHUNK_STEPS:
            return True
        age_s = time.monotonic() - self._chunk_begun_s
        return bool(waiting) and age_s >= (NEXT_CHUNK_S if self._chunks else FIRST_CHUNK_S)

    def _write_manifest(self, files: dict[str, list[str]], *, complete: bool) -> None:
        document = {"steps_version": STEPS_VERSION, "complete": complete, "steps": self.steps, "files": files}
        put_json(self.folder / MANIFEST, document)


def remove_unnamed(folder: Path) -> None:
    """Files of a replay's folder that its manifest does not name: nobody reads them, and nobody will."""
    named = {folder / MANIFEST}
    try:
        files = json.loads((folder / MANIFEST).read_bytes())["files"]
    except FileNotFoundError:
        files = {}
    named |= {folder / path for paths in files.values() for path in paths}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path not in named:
            path.unlink(missing_ok=True)
