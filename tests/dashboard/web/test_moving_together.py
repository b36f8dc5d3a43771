"""Moving and searching over real replays of several tasks, and over ones that are still being written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dashboard.queries.moving import moved
from dashboard.queries.of_task import open_orders
from ingest.lake.step_reader import StepReader
from ingest.lake.step_search import StepSearch
from ingest.lake.steps import ParquetStepSink
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.debugger.searching.language import parsed
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import Kept, bundle_of, world_of

Row = dict[str, Any]
Hits = Callable[["Real"], set[int]]
WALK = ("transition", "restore", "request", "answer", "merge")
AGAIN = 1014  # a task fails while it is recovered from, so that it comes into its states twice


class Tee(Kept):
    """Keeps what is written to the lake; with `stop`, no more than so many steps of it."""

    def __init__(self, sink: ParquetStepSink, stop: int | None) -> None:
        super().__init__()
        self.sink, self.stop = sink, stop

    def __getattribute__(self, name: str) -> Any:
        of_kept = object.__getattribute__(self, name)
        if name not in ("step", "state_changes", "buffer", "taken", "open_order"):
            return of_kept

        def both(*args: Any) -> None:
            number = args[0][0] if name in ("step", "buffer") else args[0]
            if self.stop is None or number < self.stop:
                of_kept(*args)
                getattr(self.sink, name)(*args)

        return both


@dataclass
class Real:
    rows: list[Row]
    kept: Kept
    reader: StepReader

    def entered(self, state: str) -> set[int]:
        """By the task's own walk: where the state is another one than at the step of the walk before."""
        found, was = set(), dict[str, str]()
        for row in self.rows:
            task = row["task"]
            if row["state"] == state and was.get(task) != state and (row["kind"] in WALK or task not in was):
                found.add(row["step"])
            if row["kind"] in WALK or task not in was:
                was[task] = row["state"]
        return found


def made(folder: Path, bundle: Any, failure: int, stop: int | None = None) -> Real:
    sink = ParquetStepSink(folder)
    kept = Tee(sink, stop)
    replay(bundle, failure=failure, sink=kept)
    if stop is None:
        sink.finish()
    else:
        sink._write_chunk()
    return Real([row._asdict() for row in kept.rows], kept, StepReader(folder))


@pytest.fixture(scope="module", params=["in one blow", "again", "being written"])
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Real:
    folder = tmp_path_factory.mktemp("real") / "replay"
    if request.param == "again":
        bundle = bundle_of(world_of(AGAIN)[1])
        return made(folder, bundle, min(Story.read(bundle.events()).failures))
    bundle = bundle_of(failing("map-1.0@115+map-2.0@115", depth=5, sink="determinant"))
    return made(folder, bundle, 0, 1500 if request.param == "being written" else None)


def where(meets: Callable[[Row], bool]) -> Hits:
    return lambda real: {row["step"] for row in real.rows if meets(row)}


def taking(meets: Callable[[str, int], bool]) -> Hits:
    return lambda real: {
        step for step, _, kind, value, _ in real.kept.determinants if value is not None and meets(kind, value)
    }


def changing(name: str, least: int) -> Hits:
    return lambda real: {
        step
        for step, _, key, _, after in real.kept.changes
        if key.startswith(name) and after is not None and after.lstrip("-").isdigit() and int(after) >= least
    }


def first_appends(real: Real) -> set[int]:
    """Those of a task's record before which it has written nothing of that record."""
    found, written = set(), set[tuple[Any, ...]]()
    for row in real.rows:
        record = row["task"], row["epoch"], row["record_count"]
        if row["kind"] == "write-record":
            written.add(record)
        elif row["kind"] == "append" and record not in written:
            found.add(row["step"])
    return found


WATCHED: dict[str, Hits] = {
    "enters Replaying": lambda real: real.entered("Replaying"),
    "enters Standby or enters Running": lambda real: real.entered("Standby") | real.entered("Running"),
    "determinant = order and value = 0": taking(lambda kind, value: (kind, value) == ("order", 0)),
    "determinant in (buffer-built, order) and not value > 100": taking(
        lambda kind, value: kind in ("buffer-built", "order") and value <= 100
    ),
    "kind = take-buffer and channel contains '.0>'": where(
        lambda row: row["kind"] == "take-buffer" and ".0>" in row["channel"]
    ),
    "record = 3 and kind = deliver-record": where(
        lambda row: row["record_count"] == 3 and row["kind"] == "deliver-record"
    ),
    "buffer = 2 or bytes > 500 B": where(lambda row: row["buffer"] == 2 or (row["bytes"] or 0) > 500),
    'change(key starts with "by_key" and after >= 2)': changing("by_key", 2),
    "held-back or sent": where(lambda row: row["kind"] in ("hold-back", "send-buffer")),
    "divergence": where(lambda row: row["kind"] == "diverge"),
    "open-order": lambda real: {step for step, _ in real.kept.open_orders},
    "kind = append not preceded by kind = write-record in the same record": first_appends,
}
SELDOM = {"divergence", "open-order", 'change(key starts with "by_key" and after >= 2)'}


@pytest.mark.parametrize("text", list(WATCHED))
def test_every_watchpoint_stops_where_a_walk_over_the_rows_does(real: Real, text: str) -> None:
    hits = sorted(WATCHED[text](real))
    for ending, counted in (("", hits), (" hit 2", hits[1:2]), (" from hit 2 every 3", hits[1::3])):
        watched = f"({text}){ending}"
        last = len(real.rows) - 1
        for at in sorted({0, last, last // 2, *hits[:2], *hits[-2:]}):
            row = real.rows[at]
            ahead = next((hit for hit in counted if hit > at), None)
            behind = next((hit for hit in reversed(counted) if hit < at), None)
            assert moved(real.reader, row, watched, []).step == ahead, (watched, at)
            assert moved(real.reader, row, f"previous {watched}", []).step == behind, (watched, at)
            landing = moved(real.reader, row, "continue", [parsed(watched)])
            assert (landing.step, list(landing.hit)) == (ahead, [] if ahead is None else [0]), (watched, at)
            assert moved(real.reader, row, "reverse-continue", [parsed(watched)]).step == behind, (watched, at)
        with StepSearch(real.reader, [parsed(watched)]) as search:
            assert sum(one.hits for window in search.binned(7) for one in window) == len(counted), watched


def test_some_of_each_are_there(real: Real) -> None:
    """Else nothing would have been compared."""
    assert {text for text, hits in WATCHED.items() if not hits(real)} <= SELDOM
    assert real.reader.steps == len(real.rows) > 300


def test_words_lead_within_the_task_where_one_stands(real: Real) -> None:
    tasks = sorted({row["task"] for row in real.rows})
    for task in tasks:
        own = [row for row in real.rows if row["task"] == task]
        at = own[len(own) // 2]
        for words, name, value in (
            ("state WaitingDeterminants", "state", "WaitingDeterminants"),
            (f"epoch {at['epoch']}", "epoch", at["epoch"]),
            (f"record {at['record_count']}", "record_count", at["record_count"]),
        ):
            wanted = [
                row for row in own if row[name] == value and (name != "record_count" or row["epoch"] == at["epoch"])
            ]
            found = moved(real.reader, at, words, []).step
            assert (found == wanted[0]["step"]) if wanted else found is None or real.rows[found][name] == value, words


def test_what_is_not_there_is_missing_so_far_while_steps_still_come(real: Real) -> None:
    at = real.rows[0]
    for words in ("divergence hit 99", "epoch 99999", "state Nowhere", "continue", "back over state"):
        why = moved(real.reader, at, words, [parsed("divergence hit 99")]).why
        assert why.endswith(f"still being written: {real.reader.steps:,} so far.") != real.reader.complete, why


def test_open_orders_are_those_that_the_replay_told_of(real: Real) -> None:
    told = dict(real.kept.open_orders)
    found = open_orders(real.reader, 0, real.reader.steps)
    assert {step: one.before for step, one in found.items()} == told
    assert all(one.task == real.rows[one.before]["task"] for one in found.values())


def test_a_task_that_fails_again_enters_its_states_again(tmp_path: Path) -> None:
    bundle = bundle_of(world_of(AGAIN)[1])
    story = Story.read(bundle.events())
    real = made(tmp_path / "replay", bundle, min(story.failures))
    tasks = {row["task"] for row in real.rows}
    with StepSearch(real.reader, [parsed("enters WaitingDeterminants")]) as search:
        hits, at = list[int](), -1
        while (found := search.after(at)) is not None:
            hits.append(found)
            at = found
    recorded = [
        (event["task"], event["attempt"])
        for event in story.by_number.values()
        if event["type"] == "recovery-state" and event["to"] == "WaitingDeterminants" and event["task"] in tasks
    ]
    assert len(hits) == len(recorded) > len(tasks)
    assert sorted(real.rows[hit]["task"] for hit in hits) == sorted(task for task, _ in recorded)
