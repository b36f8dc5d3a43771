"""A Bytewax dataflow on two workers, recorded, killed, and resumed from its recovery store."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clonoscope.reading import attempts_of
from replay.bundle.reader import Bundle
from replay.guarantees.observed.delivery import delivery
from replay.guarantees.outside import Held, How, outside
from tests.clonoscope.adapted import answers, dumped, gaps, place_of, shown, side_by_side
from tests.clonoscope.engines import kill_after, needs, run_to_the_end, start, start_paced

ORDERS, BATCH, KILLED_AT = 300, 5, 67
CUSTOMERS = 5
JOB = "bytewax_totals.py"
PARTS = ["even", "odd"]


class Recovered:
    """What the dataflow said up to its kill, and when it was resumed: orders with their answers."""

    def __init__(self, folder: Path):
        self.recording, self.store = folder / "totals", folder / "store"
        self.store.mkdir()
        run_to_the_end(start("-mbytewax.recovery", self.store, 1))
        run = ["-mbytewax.run", "tests.clonoscope.jobs.bytewax_totals:flow"]
        run += ["-r", str(self.store), "-s", "0", "-b", "0", "-w", "2"]
        variables = {"ORDERS": ORDERS, "RECORDINGS": folder}
        killed = start_paced(*run, **variables)
        said = kill_after(killed, KILLED_AT), run_to_the_end(start(*run, **variables))
        self.before, self.after = ([one for one in those if isinstance(one, list)] for those in said)
        # What the sink has written: where it stands is all that it leaves.
        self.written = [one for those in said for one in those if isinstance(one, dict)]
        # Which worker has which part of the source, the engine decides anew each time.
        self.parts = [{self.part_of(task, attempt): task for task in TASKS} for attempt in (0, 1)]

    def part_of(self, task: str, attempt: int) -> str:
        (log,) = [one for one in attempts_of(self.recording) if (one.task, one.attempt) == (task, attempt)]
        list(log.entries())
        ((_, place),) = log.inputs.items()
        return str(place["topic"])

    def said(self, which: list[list[Any]], part: str) -> list[float]:
        return [value for number, *values in which if PARTS[number % 2] == part for value in values]

    @property
    def resumed_in(self) -> int:
        """By the engine's own word."""
        (path,) = self.store.glob("*.sqlite3")
        with closing(sqlite3.connect(path)) as store:
            ((epoch,),) = store.execute("SELECT resume_epoch FROM exs WHERE ex_num = 1").fetchall()
        return int(epoch)


TASKS = ["totals.0", "totals.1"]


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> Recovered:
    needs("bytewax")
    return Recovered(tmp_path_factory.mktemp("bytewax"))


@pytest.mark.parametrize("part", PARTS)
def test_what_a_killed_worker_was_given_is_there(recovered: Recovered, part: str) -> None:
    assert gaps(recovered.recording) == []
    said = recovered.said(recovered.before, part)
    found = [value for *_, value in answers(recovered.recording, recovered.parts[0][part], 0)]
    # Between an answer and the job's word about it there is a moment.
    assert said != [] and found[: len(said)] == said and len(found) - len(said) <= 2
    again = [value for *_, value in answers(recovered.recording, recovered.parts[1][part], 1)]
    assert again == recovered.said(recovered.after, part) != []


@pytest.mark.parametrize("part", PARTS)
def test_epochs_and_offsets_are_the_engines_own(recovered: Recovered, part: str, tmp_path: Path) -> None:
    with dumped(recovered.recording, tmp_path / "out.zip") as bundle:
        task, resumed = recovered.parts[1][part], recovered.resumed_in
        assert min(bundle.epochs(task, 1, "main")) == resumed > 1
        first = next(number for number, *_ in recovered.after if PARTS[number % 2] == part)
        assert first // 2 == (resumed - 1) * BATCH
        lines = [one["ref"] for one in bundle.source(task, 1)]
        assert [(one["topic"], one["offset"]) for one in lines] == [(part, at) for at in range(first // 2, ORDERS // 2)]


def test_snapshots_are_the_state_that_follows_from_the_answers(recovered: Recovered, tmp_path: Path) -> None:
    """At the last checkpoint that both workers came to; a logic is not told of its key, so totals have no names."""
    rates = {number: rate for number, _, rate in recovered.before}
    with dumped(recovered.recording, tmp_path / "out.zip") as bundle:
        checkpoint = max(set.intersection(*({*bundle.epochs(task, 0, "main")} for task in TASKS)))
        held = [bundle.state(task, 0, checkpoint) for task in TASKS]
        found = sorted(total for one in held if one for total in one["operator"].get("totals.total.stateful_batch", []))
        at = {part: where for one in held if one for part, where in one["operator"]["totals.orders"].items()}
    assert at == dict.fromkeys(PARTS, (checkpoint - 1) * BATCH)
    orders = range((checkpoint - 1) * BATCH * 2)
    wanted = [sum(rates[n] * (n % 3 + 1) for n in orders if n % CUSTOMERS == one) for one in range(CUSTOMERS)]
    assert found == pytest.approx(sorted(wanted))


def test_outputs_are_what_the_sink_was_given(recovered: Recovered, tmp_path: Path) -> None:
    with dumped(recovered.recording, tmp_path / "out.zip") as bundle:
        lines = [line for task in TASKS for line in bundle.sink(task, 1)]
    assert len(lines) == len(recovered.after) and all(line["source"] == [] for line in lines)


def test_the_sink_tells_which_orders_are_there_twice_and_the_job_alone_does_not(
    recovered: Recovered, tmp_path: Path
) -> None:
    """The engine does not tell of which records an output is, so that its lines can't be held against each other."""
    rows = [one | {"part": PARTS[one["order"] % 2], "at": one["order"] // 2} for one in recovered.written]
    counts = Counter(one["order"] for one in rows)
    assert set(counts) == set(range(ORDERS))
    with dumped(recovered.recording, tmp_path / "out.zip") as bundle:
        found = outside(bundle, Held.of("lines", rows), How.parse("part,at", "topic,offset"))
        told = delivery(bundle)
    twice = sum(count > 1 for count in counts.values())
    assert (found.verdict, found.numbers["twice"]) == ("at least once" if twice else "exactly once", twice), found
    assert told is not None and told["verdict"] == "undecided", told
    assert any("nobody knows which records they come from" in why for why in told["missing"]), told["missing"]


def test_the_product_shows_workers_and_names_the_line_that_differs(recovered: Recovered, tmp_path: Path) -> None:
    task = recovered.parts[0]["even"]
    with dumped(recovered.recording, tmp_path / "out.zip") as bundle:
        report = side_by_side_of(bundle, recovered)
    page = shown(tmp_path / "out.zip", tmp_path)
    assert page.attempts == dict.fromkeys(TASKS, 2)
    assert {(failure.task, failure.attempt) for failure in page.failures} == {(one, 0) for one in TASKS}
    (lane,) = [one for one in page.lanes if one["task"] == task]
    assert [(one["state"], one["attempt"]) for one in lane["spans"]] == [
        ("Running", 0),
        ("Failed", 0),
        ("Running", 1),
    ]
    difference = report["differences"][0]
    assert report["since_epoch"] == recovered.resumed_in
    if recovered.parts[0] == recovered.parts[1]:
        assert difference["second"]["line"] == place_of(JOB, "priced_at = clonoscope.time()")
    else:  # the engine gave the parts to other workers: they differ in what they took
        assert "line" not in difference["second"] and "came next" in difference["second"]["said"]


def side_by_side_of(bundle: Bundle, recovered: Recovered) -> dict[str, Any]:
    """Of the worker that had the even orders last."""
    return side_by_side(bundle, recovered.parts[1]["even"])
