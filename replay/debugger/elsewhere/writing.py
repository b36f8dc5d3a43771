"""Writes steps into such a file, whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from replay.bundle.archive_writers import write_archive
from replay.bundle.pack import storing
from replay.debugger.elsewhere.tables import DETAIL, FORMAT, LINE, LISTS, REPLAY, TABLES, VERSION
from replay.debugger.outcome import Outcome
from replay.debugger.ports import BufferRow, Change, Step, Told
from replay.errors import ReplayError
from replay.model import json_bytes

_BY_NAME = {table.name: table for table in TABLES}


class StepFile:
    """A `StepSink`. Rows go to members beside `out` as they are made; `close` publishes them under its name."""

    def __init__(self, out: Path):
        if out.suffix != ".zip":
            raise ReplayError("steps are written as a .zip", path=str(out), remedy="Give it a name that ends so")
        if out.exists():
            raise ReplayError("there is something already", path=str(out), remedy="Choose another name for it")
        self.out = out
        with storing(str(out)):
            self._stage = tempfile.TemporaryDirectory(prefix=f".{out.name}.", suffix=".part", dir=out.parent)
            self._tree = Path(self._stage.name) / "tree"
            self._tree.mkdir()
            self._files = {table.name: _opened(self._tree / table.member) for table in TABLES}

    def step(self, told: Told) -> None:
        """A row of `steps`, and its rows of `causes`."""
        step = Step._make(told)
        self._write("steps", step.row())
        for cause in step.causes:
            self._write("causes", (step.step, cause))

    def state_changes(self, step: int, task: str, changes: Sequence[Change]) -> None:
        """Rows of `state_changes`."""
        for change in changes:
            self._write("state_changes", (step, task, *change))

    def taken(self, step: int, task: str, determinant: str, value: int | None, name: str | None) -> None:
        """A row of `taken`."""
        self._write("taken", (step, task, determinant, value, name))

    def buffer(self, row: BufferRow) -> None:
        """A row of `buffers`."""
        self._write("buffers", row)

    def open_order(self, step: int, before: int) -> None:
        """A row of `open_orders`."""
        self._write("open_orders", (step, before))

    def flush(self) -> None:
        """Nothing can be read before it is whole."""

    def _write(self, name: str, row: tuple[Any, ...]) -> None:
        self._files[name].write(json_bytes(dict(zip(_BY_NAME[name].columns, row, strict=True))) + b"\n")

    def close(self, outcome: Outcome, recording: str) -> Path:
        """With what the replay came to; `recording` is the content id of the bundle that it is of."""
        told = {"format": FORMAT, "version": VERSION, "recording": recording}
        told |= {name: getattr(outcome, name) for name in ("task", "attempt", "verdict", "sentence", "steps")}
        with storing(str(self.out)):
            self._end()
            (self._tree / REPLAY).write_bytes(json_bytes(told | {"detail": kept_detail(outcome.detail)}))
            archive = Path(self._stage.name) / "archive"
            write_archive(self._tree, archive, ".zip")
            os.replace(archive, self.out)
        self._stage.cleanup()
        return self.out

    def _end(self) -> None:
        for file in self._files.values():
            file.close()

    def __enter__(self) -> StepFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        self._stage.cleanup()


def _opened(path: Path) -> IO[bytes]:
    return open(path, "wb")


def kept_detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    """What of an outcome's detail such a file has room for: what is known and as it should be."""
    kept = {name: detail[name] for name, rule in DETAIL.items() if name in detail and rule(detail[name]) is None}
    line = detail.get("line")
    if isinstance(line, dict) and all(name in line and rule(line[name]) is None for name, rule in LINE.items()):
        kept["line"] = {name: line[name] for name in LINE}
    for name in LISTS:
        if isinstance(detail.get(name), list):
            kept[name] = [str(one) for one in detail[name]]
    return kept
