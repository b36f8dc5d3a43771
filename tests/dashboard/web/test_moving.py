"""Moving over steps by words, compared with a walk over the rows; and breakpoints that are kept and stopped at."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard import breakpoints
from dashboard.jobs import Refused
from dashboard.models import Breakpoint, Job, Replay
from dashboard.models.breakpoints import MOST_BREAKPOINTS
from dashboard.queries.moving import moved
from dashboard.queries.units import UNITS
from ingest.lake.step_reader import StepReader
from ingest.lake.steps import ParquetStepSink
from replay.debugger.ports import StepRow, step_of
from replay.debugger.searching.conditions import WrongSearch
from replay.debugger.searching.language import parsed
from tests.docs.pages import code_words, table

TASKS = ("join.0", "join.1")
KINDS = ("take-buffer", "deliver-record", "deliver-record", "append", "write-record")
Row = dict[str, Any]


def made(folder: Path, seed: int) -> tuple[list[Row], StepReader]:
    """Two tasks in turn, through states and epochs, with buffers and records in them."""
    rng, sink, rows = random.Random(seed), ParquetStepSink(folder), []
    stands = {task: {"state": 0, "epoch": 0, "record": 0} for task in TASKS}
    for n in range(160):
        task = rng.choice(TASKS)
        at = stands[task]
        at["state"] += rng.random() < 0.04
        at["epoch"] += rng.random() < 0.06
        kind = rng.choice(KINDS)
        at["record"] += kind == "deliver-record"
        row = StepRow(n, task, "main", kind, f"State{chr(65 + at['state'])}", at["epoch"], at["record"], n * 250_000,
                      None, None, None, None, None, f"Step {n}.")  # fmt: skip
        sink.step(step_of(row))
        rows.append(row._asdict())
    sink.finish()
    return rows, StepReader(folder)


def numbered(rows: list[Row], task: str) -> dict[str, dict[int, int]]:
    """For every unit the number of the one that encloses a step of the task, by one walk over its rows."""
    found: dict[str, dict[int, int]] = {unit: {} for unit in UNITS}
    numbers, last = dict.fromkeys(UNITS, 0), None
    for row in (row for row in rows if row["task"] == task):
        ends = {"state": last is not None and last["state"] != row["state"]}
        ends["epoch"] = ends["state"] or (last is not None and last["epoch"] != row["epoch"])
        ends["buffer"] = ends["epoch"] or row["kind"] == "take-buffer"
        ends["record"] = ends["buffer"] or row["kind"] == "deliver-record"
        for unit in UNITS:
            numbers[unit] += ends[unit]
            found[unit][row["step"]] = numbers[unit]
        last = row
    return found


def first_of(numbers: dict[int, int], number: int) -> int | None:
    return min((step for step, one in numbers.items() if one == number), default=None)


@pytest.mark.parametrize("seed", range(3))
def test_over_and_out_of_what_encloses_a_step(tmp_path: Path, seed: int) -> None:
    rows, reader = made(tmp_path / "replay", seed)
    by_task = {task: numbered(rows, task) for task in TASKS}
    for row in rows[::3]:
        step, units = row["step"], by_task[row["task"]]
        outs = []
        for unit in UNITS:
            numbers = units[unit]
            here = numbers[step]
            begun = first_of(numbers, here)
            known = f"seed {seed}, step {step}, {unit}"
            # One can go back over what began before; the very first of a task may begin with any number.
            assert moved(reader, row, f"over {unit}", []).step == first_of(numbers, here + 1), known
            assert moved(reader, row, f"back over {unit}", []).step == first_of(numbers, here - 1), known
            assert moved(reader, row, f"out of the {unit}", []).step == (begun if begun != step else None), known
            outs.append(begun)
        assert moved(reader, row, "out", []).step == next((out for out in outs if out != step), None), (seed, step)


def test_words_that_name_a_place(tmp_path: Path) -> None:
    rows, reader = made(tmp_path / "replay", 7)
    at = rows[40]

    def first(**wanted: Any) -> int | None:
        """Of the task where one stands, or else of another one."""
        hits = [row for row in rows if all(row[name] == wanted[name] for name in wanted)]
        return min(((row["task"] != at["task"], row["step"]) for row in hits), default=(True, None))[1]

    for words, step in {
        "12": 12, "1,000": 159, "+5": 45, "-5": 35, "-500": 0, "first": 0, "last": 159, "step 7": 7,
        "2.6 s": 11, "2500ms": 10, "1 h": None, "epoch 1": first(epoch=1), "epoch 99": None,
        f"record {at['record_count']}": first(epoch=at["epoch"], record_count=at["record_count"]),
        "StateB": first(state="StateB"), "state StateA": first(state="StateA"),
        "state StateZ": None,
    }.items():  # fmt: skip
        if words == "1 h":
            with pytest.raises(WrongSearch):
                moved(reader, at, words, [])
            continue
        landing = moved(reader, at, words, [])
        assert landing.step == step, words
        assert step is not None or landing.why.endswith("."), words


def test_searches_as_words_go_on_from_where_one_stands(tmp_path: Path) -> None:
    rows, reader = made(tmp_path / "replay", 7)
    hits = [row["step"] for row in rows if row["kind"] == "append"]
    for words in ("kind = append", "next kind = append", 'next   {"kind": "append"}'):
        assert moved(reader, rows[40], words, []).step == next(hit for hit in hits if hit > 40)
    assert moved(reader, rows[40], "previous kind = append", []).step == max(hit for hit in hits if hit < 40)
    assert moved(reader, rows[40], "divergence", []).why == "It hits nowhere behind this step."
    assert moved(reader, rows[40], 'text  =  "Step 41."', []).step == 41


@pytest.mark.parametrize(
    "words", sorted(code_words("\n".join(row[0] for row in table("search.md", "words", "lead to").rows)))
)
def test_all_words_that_are_documented_are_understood(tmp_path: Path, words: str) -> None:
    rows, reader = made(tmp_path / "replay", 7)
    landing = moved(reader, rows[40], words.replace("…", "sent"), [])
    assert landing.step is not None or landing.why.endswith(".")


def test_continue_stops_at_the_nearest_hit_of_any_breakpoint_and_names_it(tmp_path: Path) -> None:
    rows, reader = made(tmp_path / "replay", 7)
    texts = ("kind = append every 4", "kind = take-buffer and task = join.1", "divergence")
    searches = [parsed(text) for text in texts]
    hits = [
        [row["step"] for row in rows if row["kind"] == "append"][::4],
        [row["step"] for row in rows if row["kind"] == "take-buffer" and row["task"] == "join.1"],
    ]
    for at in (0, 40, 99, 159):
        for words, wanted in (
            ("continue", min((hit for some in hits for hit in some if hit > at), default=None)),
            ("reverse-continue", max((hit for some in hits for hit in some if hit < at), default=None)),
        ):
            landing = moved(reader, rows[at], words, searches)
            assert landing.step == wanted
            assert list(landing.hit) == [i for i, some in enumerate(hits) if wanted in some]
    assert moved(reader, rows[40], "continue", []).why.startswith("No breakpoint is enabled")
    assert moved(reader, rows[40], "continue", searches[2:]).why == "No breakpoint hits behind this step."


@pytest.fixture
def replay(db: object) -> Replay:
    owner = User.objects.create_user("ada")
    job = Job.objects.create(owner=owner, name="a job", content_id="c" * 64, bytes=1)
    return Replay.objects.create(job=job, owner=owner, task="map-1.0", failure=0)


def test_breakpoints_are_kept_changed_and_gone_with_their_replay(replay: Replay) -> None:
    kept = breakpoints.add(replay, "  kind = append  ", " the log ")
    assert (kept.search, kept.label, kept.enabled) == ("kind = append", "the log", True)
    breakpoints.change(kept, enabled=False)
    assert breakpoints.enabled_of(replay) == ([], [])
    breakpoints.change(kept, enabled=True, search="sent hit 3")
    assert breakpoints.enabled_of(replay) == ([kept], [parsed("sent hit 3")])
    replay.delete()
    assert Breakpoint.objects.count() == 0


def test_a_breakpoint_that_cannot_be_read_is_not_kept(replay: Replay) -> None:
    kept = breakpoints.add(replay, "sent")
    with pytest.raises(WrongSearch):
        breakpoints.add(replay, "knid = x")
    with pytest.raises(WrongSearch):
        breakpoints.change(kept, search="knid = x")
    assert [one.search for one in breakpoints.of(replay)] == ["sent"]


def test_a_replay_keeps_only_so_many(replay: Replay) -> None:
    for _ in range(MOST_BREAKPOINTS):
        breakpoints.add(replay, "sent")
    with pytest.raises(Refused, match="at most 32 breakpoints"):
        breakpoints.add(replay, "sent")
    assert len(breakpoints.of(replay)) == MOST_BREAKPOINTS
