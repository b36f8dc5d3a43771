"""A replay's child killed with -9 at any moment: what was readable is true, and begun again it comes out the same."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ingest.lake.errors import NotPublished
from ingest.lake.step_reader import TABLES, StepReader
from ingest.lake.step_search import StepSearch
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.debugger.searching.language import parsed
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS

ROOT = Path(__file__).resolve().parents[2]
KILLS_BY_LINE = 12
KILLS_BY_BYTES = 6

Tables = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    options = RecordOptions(seed=7, events=1200, kills=("map-1.0@400",), checkpoint_interval_ms=200)
    record(options, folder / "bundle", protocols=PROTOCOLS)
    with_container = open_container(folder / "bundle")
    try:
        write_pack(with_container, folder / "bundle.pack")
    finally:
        with_container.close()
    return folder / "bundle.pack"


class Child:
    """One run of the child into a folder."""

    def __init__(self, pack: Path, folder: Path, line: int = 0) -> None:
        self.folder = folder
        self.errors = folder.with_suffix(".log")
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.ingest.killing_itself", str(line)],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        request = {"pack": str(pack), "folder": str(folder), "failure": 0, "log": str(self.errors)}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def end(self) -> int:
        """Its exit status; its pipe stays open until then, as it would end with it."""
        with self.process as running:
            running.stdout.read()
        return running.returncode

    def lines(self) -> int:
        return int(re.findall(r"executed (\d+) lines", self.errors.read_text())[-1])


def tables_of(reader: StepReader) -> Tables:
    return {name: reader.rows(f"SELECT * FROM {name} ORDER BY ALL") for name in TABLES}


@pytest.fixture(scope="module")
def whole(pack: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tables, int]:
    """The undisturbed replay, and how many lines write it."""
    child = Child(pack, tmp_path_factory.mktemp("whole") / "steps")
    assert child.end() == 0, child.errors.read_text()
    reader = StepReader(child.folder)
    assert reader.complete
    assert reader.steps > 1_000
    return tables_of(reader), child.lines()


def check_readable(folder: Path, whole: Tables, where: str) -> str:
    """All that the product's reader finds is as in the undisturbed replay, up to the last step of it."""
    try:
        reader = StepReader(folder)
    except NotPublished:
        return "nothing"
    found = tables_of(reader)
    # What the last element that can be read changed in the state is known when it was processed; what else stands
    # beside a step follows it at once.
    elements = ("restore", "deliver-record", "fire-async", "transition")
    underway = max(row[0] for row in found["steps"] if row[3] in elements)
    for name, rows in found.items():
        at = TABLES[name].schema.get_field_index("step")
        expected = [row for row in whole[name] if row[at] < reader.steps]
        known, may_lack = set(rows), underway if name == "state_changes" else reader.steps - 1
        assert known <= set(expected), f"{name}, {where}"
        assert all(row in known for row in expected if row[at] < may_lack), f"{name}, {where}"
    assert [row[0] for row in found["steps"]] == list(range(reader.steps)), where
    reader.state(reader.steps - 1)
    reader.why(reader.steps - 1)
    with StepSearch(reader, [parsed("kind = take-buffer")]) as search:
        assert search.before(reader.steps) is None or found["steps"]
    return "all" if reader.complete else "some"


def check_begun_again(pack: Path, folder: Path, whole: Tables, where: str) -> None:
    child = Child(pack, folder)
    assert child.end() == 0, where
    reader = StepReader(folder)
    assert reader.complete, where
    assert tables_of(reader) == whole, where
    left = [path.name for path in folder.rglob("*") if path.name.startswith((".", "chunk-"))]
    assert left == [], where


def test_killed_at_any_line_that_writes(pack: Path, whole: tuple[Tables, int], tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    tables, lines = whole
    finishing = [lines - rng.randrange(400) for _ in range(KILLS_BY_LINE // 3)]
    chosen = [1, *finishing, *(rng.randrange(1, lines) for _ in range(KILLS_BY_LINE - len(finishing) - 1))]
    seen = set()
    for n, line in enumerate(chosen):
        where = f"seed {seed}, killed at line {line} of {lines}"
        child = Child(pack, tmp_path / f"steps-{n}", line)
        # How many lines there are depends a little on how long the disk takes: the last ones may never come.
        killed = child.end() == -9
        seen.add(check_readable(child.folder, tables, where))
        assert killed or StepReader(child.folder).complete, where
        if n % 3 == 0:
            check_begun_again(pack, child.folder, tables, where)
    assert {"nothing", "some"} <= seen, f"seed {seed}: {seen}"


def test_killed_from_outside_when_so_many_bytes_lie_there(
    pack: Path, whole: tuple[Tables, int], tmp_path: Path
) -> None:
    """Also in the middle of a file's bytes, where no line of ours is executed."""
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    tables, _ = whole
    in_all = sum(len(row) for rows in tables.values() for row in rows)
    for n in range(KILLS_BY_BYTES):
        wanted = rng.randrange(in_all)
        child = Child(pack, tmp_path / f"steps-{n}")
        while bytes_in(child.folder) < wanted and child.process.poll() is None:
            pass
        child.process.kill()
        child.end()
        where = f"seed {seed}, killed from {wanted} bytes on"
        check_readable(child.folder, tables, where)
        if n == 0:
            check_begun_again(pack, child.folder, tables, where)


def bytes_in(folder: Path) -> int:
    found = 0
    for path in (folder.rglob("*.parquet"), folder.rglob(".*.tmp")):
        for one in path:
            try:
                found += one.stat().st_size
            except FileNotFoundError:
                continue  # it has its name by now, or is put together with others
    return found
