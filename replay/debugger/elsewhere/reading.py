"""Reads such a file, which may be anybody's: every line is held against its rules before anything is kept of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from replay.bundle.containers import Limits, open_container
from replay.debugger.elsewhere.tables import (
    BUFFERS,
    CAUSES,
    DETAIL,
    FORMAT,
    LINE,
    LISTS,
    NAME,
    OPEN_ORDERS,
    OTHERS,
    REPLAY,
    STATE_CHANGES,
    STEPS,
    TABLES,
    TAKEN,
    TEXT_CHARACTERS,
    VERDICTS,
    VERSION,
    StepTable,
    step_of_cause,
)
from replay.debugger.ports import BufferRow, StepRow, StepSink, step_of
from replay.errors import ReplayError, printable
from replay.model import read_json

MOST_STEPS = 5_000_000
MOST_ROWS_A_STEP = 100_000
MOST_LISTED = 100
LINE_BYTES = 8 << 20
TOLD_BYTES = 1 << 20
_MEMBERS = {REPLAY, *(table.member for table in TABLES)}
_CHUNK_BYTES = 1 << 20
_REMEDY = "Write it with `clonoscope replay --out steps.zip`, and send it as it is"


def limits(most_bytes: int = 1 << 30) -> Limits:
    """How much of such a file is unpacked before it is refused."""
    return Limits(max_bytes=most_bytes, max_members=2 * len(_MEMBERS), max_member_bytes=most_bytes, max_name_bytes=64)


class StepsRefused(ReplayError):
    """Something that a file of steps may not hold. `line` counts from 1."""

    def __init__(self, why: str, path: str, line: int | None = None):
        super().__init__(why if line is None else f"line {line}: {why}", path=path, remedy=_REMEDY)
        self.line = line


@dataclass(frozen=True, slots=True)
class Told:
    """What the file says that the replay came to."""

    recording: str
    task: str
    attempt: int
    verdict: str
    sentence: str
    steps: int
    detail: dict[str, Any]


def read_steps(path: Path, scratch: Path, sink: StepSink, bounds: Limits | None = None) -> Told:
    """Gives all rows to the sink, each step with what follows it. Members are unpacked below `scratch`, under names of
    this version's own. Raises `StepsRefused` or `BundleError`; what the sink has by then is worth nothing."""
    _unpack(path, scratch, bounds or limits())
    told = _told(scratch / REPLAY)
    with ExitStack() as stack:
        streams = {table.name: stack.enter_context(open(scratch / table.member, "rb")) for table in TABLES}
        _Reading(told, {table.name: _rows(table, streams[table.name]) for table in TABLES}).run(sink)
    return told


def _unpack(path: Path, scratch: Path, bounds: Limits) -> None:
    seen: set[str] = set()
    with open_container(path, bounds) as container:
        if container.kind != "zip":
            raise StepsRefused("steps come as a .zip", path.name)
        for name, _, stream in container.members():
            if name not in _MEMBERS:
                raise StepsRefused(f"there is no such table of steps; there are {', '.join(sorted(_MEMBERS))}", name)
            seen.add(name)
            with open(scratch / name, "xb") as out:
                while data := stream.read(_CHUNK_BYTES):
                    out.write(data)
    for table in OTHERS:
        if table.member not in seen:
            (scratch / table.member).touch()
    for needed in (REPLAY, STEPS.member):
        if needed not in seen:
            raise StepsRefused("the member is not there", needed)


def _told(path: Path) -> Told:
    if path.stat().st_size > TOLD_BYTES:
        raise StepsRefused(f"it is longer than {TOLD_BYTES:,} bytes", REPLAY)
    found = _object(path.read_bytes(), REPLAY, None)
    if (found.get("format"), found.get("version")) != (FORMAT, VERSION):
        raise StepsRefused(f"format and version must be {FORMAT!r} and {VERSION}", REPLAY)
    if found.get("verdict") not in VERDICTS:
        raise StepsRefused(f"verdict must be one of {', '.join(VERDICTS)}", REPLAY)
    for name in ("recording", "task"):
        _hold(NAME(found.get(name)), name, REPLAY, None)
    sentence = found.get("sentence")
    if not isinstance(sentence, str) or len(sentence) > TEXT_CHARACTERS:
        raise StepsRefused(f"sentence must be text of at most {TEXT_CHARACTERS:,} characters", REPLAY)
    for name, most in (("attempt", 2**31), ("steps", MOST_STEPS + 1)):
        if type(found.get(name)) is not int or not 0 <= found[name] < most:
            raise StepsRefused(f"{name} must be a whole number from 0, below {most:,}", REPLAY)
    own = {name: found[name] for name in ("recording", "task", "attempt", "verdict", "steps")}
    return Told(**own, sentence=printable(sentence, TEXT_CHARACTERS), detail=_detail(found.get("detail", {})))


def _detail(found: Any) -> dict[str, Any]:
    """What is not known of it is refused: pages show nothing whose shape nobody knows."""
    if not isinstance(found, dict):
        raise StepsRefused("detail must be an object", REPLAY)
    for name, value in found.items():
        if name == "line":
            if not isinstance(value, dict) or set(value) != set(LINE):
                raise StepsRefused(f"detail.line must have {', '.join(LINE)}", REPLAY)
            for part, rule in LINE.items():
                _hold(rule(value[part]), f"detail.line.{part}", REPLAY, None)
        elif name in LISTS:
            if not isinstance(value, list) or len(value) > MOST_LISTED or any(NAME(one) for one in value):
                raise StepsRefused(f"detail.{name} must be a list of at most {MOST_LISTED} texts", REPLAY)
        elif name in DETAIL:
            _hold(DETAIL[name](value), f"detail.{name}", REPLAY, None)
        else:
            raise StepsRefused(f"detail has nothing called {printable(str(name))}", REPLAY)
    return found


def _rows(table: StepTable, stream: BinaryIO) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """(line, row), held against the rules of its columns."""
    number = 0
    while data := stream.readline(LINE_BYTES + 1):
        number += 1
        if len(data) > LINE_BYTES:
            raise StepsRefused(f"it is longer than {LINE_BYTES:,} bytes", table.member, number)
        found = _object(data, table.member, number)
        if found.keys() != table.columns.keys():
            raise StepsRefused(f"its columns must be {', '.join(table.columns)}", table.member, number)
        for name, rule in table.columns.items():
            _hold(rule(found[name]), name, table.member, number)
        yield number, tuple(found[name] for name in table.columns)


def _object(data: bytes, member: str, line: int | None) -> dict[str, Any]:
    try:
        found = read_json(data)
    except (ValueError, RecursionError) as fault:
        raise StepsRefused(f"this is not JSON: {fault}", member, line) from None
    if not isinstance(found, dict):
        raise StepsRefused("this is JSON, but not an object", member, line)
    return found


def _hold(fault: str | None, name: str, member: str, line: int | None) -> None:
    if fault is not None:
        raise StepsRefused(f"{name} {fault}", member, line)


class _Reading:
    """Rows of all tables, step by step."""

    def __init__(self, told: Told, rows: dict[str, Iterator[tuple[int, tuple[Any, ...]]]]):
        self._told = told
        self._rows = rows
        self._ahead = {table.name: next(rows[table.name], None) for table in OTHERS}

    def run(self, sink: StepSink) -> None:
        count = 0
        for line, row in self._rows[STEPS.name]:
            self._check_step(StepRow(*row), count, line)
            sink.step(step_of(StepRow(*row), self._causes(count)))
            for table in OTHERS:
                if table is not CAUSES:
                    for at, other in self._followers(table, count):
                        self._give(table, at, other, sink)
            count += 1
        if count != self._told.steps:
            raise StepsRefused(f"it tells of {self._told.steps:,} steps, and {count:,} are there", REPLAY)
        for name, ahead in self._ahead.items():
            if ahead is not None:
                raise StepsRefused(f"there is no step {ahead[1][0]}", f"{name}.ndjson", ahead[0])

    def _check_step(self, row: StepRow, count: int, line: int) -> None:
        if row.step != count:
            raise StepsRefused(f"step must be {count}: steps count from 0, without gaps", STEPS.member, line)
        if count >= MOST_STEPS:
            raise StepsRefused(f"there are more than {MOST_STEPS:,} steps", STEPS.member, line)
        if row.task != self._told.task:
            raise StepsRefused("task is another than that of the replay", STEPS.member, line)

    def _followers(self, table: StepTable, step: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """(line, row) of what stands beside a step in one of the other tables."""
        given = 0
        while (ahead := self._ahead[table.name]) is not None and ahead[1][0] <= step:
            line, row = ahead
            if row[0] < step:
                raise StepsRefused("step is lower than in the line before", table.member, line)
            given += 1
            if given > MOST_ROWS_A_STEP:
                raise StepsRefused(f"step {step} has more than {MOST_ROWS_A_STEP:,} rows", table.member, line)
            yield line, row
            self._ahead[table.name] = next(self._rows[table.name], None)

    def _causes(self, step: int) -> list[str]:
        causes = []
        for line, row in self._followers(CAUSES, step):
            cause = step_of_cause(row[1])
            if cause is not None and cause >= row[0]:
                raise StepsRefused("a cause must be an earlier step", CAUSES.member, line)
            causes.append(row[1])
        return causes

    def _give(self, table: StepTable, line: int, row: tuple[Any, ...], sink: StepSink) -> None:
        if table is OPEN_ORDERS:
            if row[1] >= row[0]:
                raise StepsRefused("before must be an earlier step", table.member, line)
            sink.open_order(*row)
        else:
            if row[1] != self._told.task:
                raise StepsRefused("task is another than that of the replay", table.member, line)
            if table is STATE_CHANGES:
                sink.state_changes(row[0], row[1], [row[2:]])
            elif table is TAKEN:
                sink.taken(*row)
            elif table is BUFFERS:
                sink.buffer(BufferRow(*row))
