"""Files of steps: what is written is read back row by row; what is bent is refused, with file, line and rule."""

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from replay.debugger.elsewhere import reading, tables
from replay.debugger.elsewhere.reading import StepsRefused, limits, read_steps
from replay.debugger.elsewhere.writing import StepFile
from replay.debugger.outcome import Outcome
from replay.debugger.ports import BufferRow, StepRow, step_of
from replay.errors import BundleError, ReplayError
from tests.replay.debugger.worlds import Kept

TASK = "orders.3"


def step(number: int, **more: Any) -> StepRow:
    row = StepRow(number, TASK, "main", "take-determinant", "Running", 0, 1, 5, None, None, None, None, None, "A step.")
    return row._replace(**more)


def outcome(steps: int, **detail: Any) -> Outcome:
    return Outcome("diverged", "It differs.", TASK, 1, None, steps, detail)


def _fill(sink: Any, chance: random.Random, steps: int) -> None:
    for number in range(steps):
        row = step(number, text=f"Step {number} — é", log=chance.choice([None, "main"]), log_offset=number)
        causes = [
            chance.choice([f"step:{number - 1}", "event:4", f"det:{TASK}/1/main/0#{cause}"])
            for cause in range(chance.randint(0, 2) if number else 0)
        ]
        sink.step(step_of(row, causes))
        if chance.random() < 0.5:
            sink.state_changes(number, TASK, [(f"k[{number}]", None, json.dumps({"n": number}))])
            sink.taken(number, TASK, "serializable", chance.choice([None, -3, 1 << 40]), "time_ns")
        if chance.random() < 0.3:
            sink.buffer(BufferRow(number, TASK, "a>b", number, 10, None, chance.choice([True, False, None])))
            if number:
                sink.open_order(number, 0)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_written_is_read_back(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    steps = chance.randint(1, 400)
    kept, read = Kept(), Kept()
    with StepFile(tmp_path / "s.zip") as file:
        _fill(kept, random.Random(seed), steps)
        _fill(file, random.Random(seed), steps)
        file.close(outcome(steps, app="m:f", line={"file": "f", "line": 3, "function": "g", "text": "t"}), "content")
    (tmp_path / "scratch").mkdir()
    told = read_steps(tmp_path / "s.zip", tmp_path / "scratch", read)
    assert vars(read) == vars(kept), seed
    assert (told.task, told.attempt, told.verdict, told.steps, told.recording) == (
        TASK,
        1,
        "diverged",
        steps,
        "content",
    )
    assert told.detail == {"app": "m:f", "line": {"file": "f", "line": 3, "function": "g", "text": "t"}}


def bent(tmp_path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """A good file whose members were changed."""
    good = tmp_path / "good.zip"
    with StepFile(good) as file:
        _fill(file, random.Random(3), 6)
        file.close(outcome(6, app="m:f"), "content")
    with zipfile.ZipFile(good) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    out = tmp_path / "bent.zip"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out


def line(member: str, number: int, **changed: Any) -> Callable[[dict[str, bytes]], None]:
    """Changes columns of a line, which counts from 1; `...` leaves one out."""

    def change(members: dict[str, bytes]) -> None:
        lines = members[member].splitlines(keepends=True)
        row = json.loads(lines[number - 1]) | changed
        row = {name: value for name, value in row.items() if value is not ...}
        lines[number - 1] = json.dumps(row).encode() + b"\n"
        members[member] = b"".join(lines)

    return change


def told(**changed: Any) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        row = json.loads(members["replay.json"]) | changed
        members["replay.json"] = json.dumps({name: value for name, value in row.items() if value is not ...}).encode()

    return change


def member(name: str, data: bytes | None) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        members.pop(name, None) if data is None else members.update({name: data})

    return change


REFUSED = {
    "a gap": (line("steps.ndjson", 3, step=7), "steps.ndjson", 3, "step must be 2"),
    "no number": (line("steps.ndjson", 2, epoch="1"), "steps.ndjson", 2, "epoch must be a whole number"),
    "too large": (line("steps.ndjson", 2, t_us=1 << 53), "steps.ndjson", 2, "below 2^53"),
    "true": (line("steps.ndjson", 2, record_count=True), "steps.ndjson", 2, "record_count"),
    "kind": (line("steps.ndjson", 1, kind="steal"), "steps.ndjson", 1, "kind is none of"),
    "state": (line("steps.ndjson", 1, state="Flying"), "steps.ndjson", 1, "state is none of"),
    "a list": (line("steps.ndjson", 1, kind=["merge"]), "steps.ndjson", 1, "kind is none of"),
    "another task": (line("steps.ndjson", 4, task="x.0"), "steps.ndjson", 4, "task is another"),
    "more columns": (line("steps.ndjson", 1, more=1), "steps.ndjson", 1, "its columns must be"),
    "fewer columns": (line("steps.ndjson", 1, text=...), "steps.ndjson", 1, "its columns must be"),
    "a long text": (line("steps.ndjson", 1, text="x" * 20_001), "steps.ndjson", 1, "longer than 20,000"),
    "half a character": (line("steps.ndjson", 1, text="\ud800"), "steps.ndjson", 1, "surrogates not allowed"),
    "a thread": (line("steps.ndjson", 1, actor="../../x"), "steps.ndjson", 1, "actor is no thread"),
    "a cause": (line("causes.ndjson", 1, cause="step:x"), "causes.ndjson", 1, "cause is no cause"),
    "a path": (line("causes.ndjson", 1, cause="det:../x y/1/main/0#1"), "causes.ndjson", 1, "cause is no cause"),
    "itself": (line("causes.ndjson", 1, step=1, cause="step:1"), "causes.ndjson", 1, "an earlier step"),
    "nowhere": (line("causes.ndjson", 1, step=99), "causes.ndjson", None, "there is no step 99"),
    "no JSON": (line("state_changes.ndjson", 1, after="{"), "state_changes.ndjson", 1, "after is not JSON"),
    "a determinant": (line("taken.ndjson", 1, determinant="x"), "taken.ndjson", 1, "determinant is none of"),
    "a flag": (line("buffers.ndjson", 1, matches=1), "buffers.ndjson", 1, "matches must be true or false"),
    "bytes": (member("steps.ndjson", b"\xff\xfe\n"), "steps.ndjson", 1, "not JSON"),
    "deep": (member("steps.ndjson", b"[" * 100_000 + b"\n"), "steps.ndjson", 1, "not JSON"),
    "no object": (member("taken.ndjson", b"[]\n"), "taken.ndjson", 1, "not an object"),
    "another member": (member("evil.ndjson", b""), "evil.ndjson", None, "no such table"),
    "no steps": (member("steps.ndjson", None), "steps.ndjson", None, "not there"),
    "nothing told": (member("replay.json", None), "replay.json", None, "not there"),
    "a version": (told(version=2), "replay.json", None, "format and version"),
    "a verdict": (told(verdict="good"), "replay.json", None, "verdict must be one of"),
    "a count": (told(steps=5), "replay.json", None, "tells of 5 steps, and 6 are there"),
    "an attempt": (told(attempt=-1), "replay.json", None, "attempt must be"),
    "a sentence": (told(sentence=7), "replay.json", None, "sentence must be text"),
    "a detail": (told(detail={"hunt": {}}), "replay.json", None, "detail has nothing called hunt"),
    "its shape": (told(detail={"line": {"file": "x"}}), "replay.json", None, "detail.line must have"),
    "its value": (told(detail={"asked": {}}), "replay.json", None, "detail.asked must be text"),
    "its list": (told(detail={"why": [{}]}), "replay.json", None, "detail.why must be a list"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_bent_is_refused_with_file_line_and_rule(tmp_path: Path, name: str) -> None:
    change, where, at, rule = REFUSED[name]
    (tmp_path / "scratch").mkdir()
    with pytest.raises(StepsRefused) as refused:
        read_steps(bent(tmp_path, change), tmp_path / "scratch", Kept())
    assert refused.value.path == where and rule in str(refused.value), refused.value
    if at is not None:
        assert refused.value.line == at and f"line {at}: " in str(refused.value)


@pytest.mark.parametrize("name", ["../steps.ndjson", "/etc/steps.ndjson", "a/steps.ndjson", "steps.ndjson\0"])
def test_no_name_leads_out(tmp_path: Path, name: str) -> None:
    (tmp_path / "scratch").mkdir()
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        info = zipfile.ZipInfo("steps.ndjson")
        info.filename = name
        archive.writestr(info, b"{}")
    (tmp_path / "out.zip").write_bytes(raw.getvalue())
    before = sorted(one for one in tmp_path.rglob("*") if one.name != "steps.ndjson")
    with pytest.raises(ReplayError):
        read_steps(tmp_path / "out.zip", tmp_path / "scratch", Kept())
    assert sorted(one for one in tmp_path.rglob("*") if one.parent != tmp_path / "scratch" or one.is_dir()) == before


def test_what_unpacks_to_too_much_is_refused_early(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    bomb = bent(tmp_path, member("taken.ndjson", b" " * (8 << 20)))
    with pytest.raises(BundleError, match=r"taken\.ndjson|bytes"):
        read_steps(bomb, tmp_path / "scratch", Kept(), limits(1 << 20))
    assert sum(one.stat().st_size for one in (tmp_path / "scratch").iterdir()) <= 1 << 20
    with pytest.raises(StepsRefused, match="longer than"):
        (tmp_path / "more").mkdir()
        long = b'{"step": 0, "before": "' + b"x" * reading.LINE_BYTES + b'"}\n'
        read_steps(bent(tmp_path / "more", member("taken.ndjson", long)), tmp_path / "more", Kept())


def test_the_kinds_of_steps_are_those_that_pages_know() -> None:
    from dashboard.queries.kinds import STEPS

    assert set(tables.STEP_KINDS) <= {one.name for one in STEPS}
    from ingest.lake.step_schema import STEP_TABLES

    assert {one.name: tuple(one.columns) for one in tables.TABLES} == {
        name: tuple(one.schema.names) for name, one in STEP_TABLES.items()
    }
