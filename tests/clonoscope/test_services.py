"""Services answer as Python does, and what they answered stands in the log, in the order it was given."""

import asyncio
import os
import random
import sys
import threading
import time
import uuid
from operator import attrgetter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import clonoscope
from clonoscope import sites
from clonoscope.reading import attempts_of
from tests.clonoscope.recorded import calls_in, dumped, recording, values_of


class Refused(Exception):
    """What an outside raises."""


def answering(request: Any) -> Any:
    return {"asked": request}


def refusing(request: Any) -> Any:
    raise Refused(f"not {request}")


def ask(kind: str, chooser: random.Random) -> Any:
    """One call of a service; gives what the log must hold of it."""
    match kind:
        case "time_ns":
            return clonoscope.time_ns()
        case "time":
            return clonoscope.time()
        case "random":
            return clonoscope.random()
        case "uuid4":
            return str(clonoscope.uuid4())
        case "urandom":
            return {"b64": __import__("base64").b64encode(clonoscope.urandom(chooser.randrange(20))).decode()}
        case "external":
            return clonoscope.external(answering, chooser.choice([1, "ü", None, [1.5, {"a": []}]]))
        case _:
            with pytest.raises(Refused):
                clonoscope.external(refusing, "x", effect="write")
            return (f"{Refused.__module__}.Refused", "not x")


KINDS = ("time_ns", "time", "random", "uuid4", "urandom", "external", "raising")


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_asked_is_read_back_in_order(seed: int, tmp_path: Path) -> None:
    chooser = random.Random(seed)
    kinds = chooser.choices(KINDS, weights=(30, 30, 30, 2, 2, 4, 2), k=chooser.choice([10, 1_000, 60_000]))
    with recording(tmp_path) as made, made.task("p", 3).epoch(0):
        given = [ask(kind, chooser) for kind in kinds]
        assert values_of(made.folder, "p.3") == given, f"seed {seed}"
        assert made.faults == []
    assert values_of(tmp_path / "orders", "p.3") == given, f"seed {seed}, after the end"


def test_answers_are_those_of_python() -> None:
    before = time.time_ns()
    assert before <= clonoscope.time_ns() <= time.time_ns()
    assert abs(clonoscope.time() - time.time()) < 60
    assert all(0 <= clonoscope.random() < 1 for _ in range(100))
    assert len({clonoscope.random() for _ in range(100)}) == 100
    assert isinstance(clonoscope.uuid4(), uuid.UUID) and clonoscope.uuid4().version == 4
    assert len(clonoscope.urandom(7)) == 7
    assert clonoscope.external(answering, 3) == {"asked": 3}


def test_the_call_site_is_named(tmp_path: Path) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(0):
        clonoscope.time()  # the first
        clonoscope.external(answering, 1, name="the price")
        with dumped(made, tmp_path / "out.zip") as bundle:
            first, second = calls_in(bundle, "p.0", 0, 0)
            lines = bundle.members.read("tasks/p.0/0/sites.ndjson").decode()
    assert (first["call"], second["call"], second["name"], second["effect"]) == (
        "time",
        "external",
        "the price",
        "read",
    )
    assert '"clonoscope.time()  # the first"' in lines and __file__ in lines
    assert '"function":"test_the_call_site_is_named"' in lines


def test_two_functions_with_their_calls_at_the_same_place_are_told_apart(tmp_path: Path) -> None:
    def one() -> int:
        return clonoscope.time_ns()

    def other() -> int:
        return clonoscope.time_ns()

    with recording(tmp_path) as made, made.task("p").epoch(0):
        given = [function() for _ in range(500) for function in (one, other)]
        with dumped(made, tmp_path / "out.zip") as bundle:
            calls = calls_in(bundle, "p.0", 0, 0)
    assert [call["value"] for call in calls] == given
    assert len({call["site"] for call in calls[::2]}) == len({call["site"] for call in calls[1::2]}) == 1
    assert calls[0]["site"] != calls[1]["site"]


def test_a_value_that_is_not_json_is_the_jobs_and_a_gap(tmp_path: Path) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(0):
        assert clonoscope.external(Refused, 1).args == (1,)
        assert clonoscope.external(lambda: float("nan")) != 0
        assert clonoscope.external(lambda: (1, 2)) == (1, 2)
        assert clonoscope.external(lambda: {1, 2}, encode=sorted, decode=set) == {1, 2}
        with dumped(made, tmp_path / "out.zip") as bundle:
            tuple_call, encoded = calls_in(bundle, "p.0", 0, 0)
            gaps = [event["why"] for event in bundle.events() if event["type"] == "gap"]
    assert (tuple_call["value"], tuple_call["approximate"]) == ([1, 2], True)
    assert encoded["value"] == [1, 2] and "approximate" not in encoded
    assert len(gaps) == 2 and "Refused" in gaps[0] and "float" in gaps[1]


def test_an_answer_that_no_entry_can_hold_is_the_jobs_and_a_gap(tmp_path: Path) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(0):
        assert len(clonoscope.external(lambda: "x" * 200_000)) == 200_000
        assert len(clonoscope.external(lambda: "x" * 300_000)) == 300_000
        deep: list[Any] = []
        for _ in range(100_000):
            deep = [deep]
        assert clonoscope.external(lambda: deep) is deep
        now = clonoscope.time_ns()
        with dumped(made, tmp_path / "out.zip") as bundle:
            first, last = calls_in(bundle, "p.0", 0, 0)
            gaps = [event["why"] for event in bundle.events() if event["type"] == "gap"]
    assert len(first["value"]) == 200_000 and last["value"] == now
    assert len(gaps) == 2 and "is longer than" in gaps[0] and "is not JSON" in gaps[1]


def test_a_clock_that_jumps_is_recorded_as_it_jumped(tmp_path: Path) -> None:
    hour, chooser = 3600 * 10**9, random.Random(1)
    jumps = [0, 1, 10**18, 2 * 10**18, *(chooser.randrange(2 * 10**18) for _ in range(300)), 1, 2**60]
    jumps += [10**18 + n * hour for n in chooser.choices(range(-100, 100), k=300)]
    with recording(tmp_path) as made, made.task("p").epoch(0) as task:
        frame = sys._getframe()
        given = [task.log.slow_time_ns(frame, now) for now in jumps]
        assert values_of(made.folder, "p.0") == given == jumps
        assert made.faults == []


def test_a_clock_in_seconds_that_jumps_is_recorded_as_it_jumped(tmp_path: Path) -> None:
    chooser = random.Random(2)
    jumps = [0.0, 0.1, -1.5, 2.0**30, 2.0**30 + 0.5, 2.0**31, 2.0**31 - 2.0**-22, 2.0**32 + 0.25, 1e9 / 3, 1e11]
    jumps += [chooser.uniform(0, 2**33) for _ in range(300)]
    jumps += [1.8e9 + hour * 3600 + chooser.random() for hour in chooser.choices(range(-100, 100), k=300)]
    with recording(tmp_path) as made, made.task("p").epoch(0) as task:
        for now in jumps:
            assert clonoscope.time(_clock=lambda now=now: now) == now
            if chooser.random() < 0.1:
                task.take(task.records_taken)
        assert values_of(made.folder, "p.0") == jumps
        assert made.faults == []


@pytest.mark.parametrize(
    ("ask", "edges", "step"),
    [
        (clonoscope.time, attrgetter("low_s", "high_s"), 2.0**-22),
        (clonoscope.time_ns, attrgetter("low", "high"), 1),
    ],
    ids=["time", "time_ns"],
)
def test_times_at_the_edge_of_what_a_word_can_hold_are_recorded_as_given(
    ask: Any, edges: Any, step: float, tmp_path: Path
) -> None:
    chooser = random.Random(3)
    with recording(tmp_path) as made, made.task("p").epoch(0) as task:
        given = [ask()]
        for _ in range(400):
            now = chooser.choice(edges(task.log)) + chooser.randrange(-2_500, 2_500) * step
            if chooser.random() < 0.1:
                task.take(task.records_taken)
            given.append(ask(_clock=lambda now=now: now))
        assert values_of(made.folder, "p.0") == given


@pytest.mark.parametrize("ask", [clonoscope.time, clonoscope.time_ns], ids=["time", "time_ns"])
def test_of_any_number_of_records_between_two_times_none_is_lost(ask: Any, tmp_path: Path) -> None:
    between = [*range(70), 15, 16, 0, 31, 32, 1, 1, 0, 2]
    given = []
    with recording(tmp_path) as made, made.task("p").epoch(0) as task:
        for records in between:
            for _ in range(records):
                task.take(task.records_taken)
            given.append(ask())
        (log,) = (one for one in attempts_of(made.folder) if one.task == "p.0")
        found = [entry for entry in log.entries() if entry.kind in ("take", "call")]
    runs, values = [0], []
    for entry in found:
        if entry.kind == "take":
            runs[-1] += entry.fields["records"]
        else:
            values.append(entry.fields["value"])
            runs.append(0)
    assert (runs[:-1], values) == (between, given)


def test_after_the_end_services_answer_and_nothing_is_written(tmp_path: Path) -> None:
    with recording(tmp_path) as made:
        task = made.task("p")
        with task.epoch(0):
            clonoscope.time()
    with task.at_work():
        assert clonoscope.time() > 0 and clonoscope.external(answering, 1) == {"asked": 1}
    with task.epoch(1):
        assert 0 <= clonoscope.random() < 1
    assert len(values_of(tmp_path / "orders", "p.0")) == 1


def test_a_wrong_effect_is_refused() -> None:
    with pytest.raises(clonoscope.WrongUse, match="one of read, write"):
        clonoscope.external(answering, 1, effect="both")


def test_threads_have_tasks_of_their_own(tmp_path: Path) -> None:
    given: dict[int, list[int]] = {}

    def work(number: int) -> None:
        with made.task("p", number).epoch(0):
            given[number] = [clonoscope.time_ns() for _ in range(20_000)]

    with recording(tmp_path) as made:
        run_threads(work, 4)
    assert {number: values_of(tmp_path / "orders", f"p.{number}") for number in range(4)} == given


def test_threads_that_share_a_task_lose_nothing(tmp_path: Path) -> None:
    given: dict[int, list[Any]] = {}

    def work(number: int) -> None:
        with task.at_work():
            asked: list[Any] = []
            for n in range(20_000):
                asked.append(clonoscope.time_ns() if n % 50 else clonoscope.external(answering, [number, n]))
            given[number] = asked

    with recording(tmp_path) as made:
        task = made.task("p")
        task.begin_epoch(0)
        run_threads(work, 4)
        assert made.faults == []
    found = values_of(tmp_path / "orders", "p.0")
    assert len(found) == 80_000
    for asked in given.values():
        calls = [one for one in asked if isinstance(one, dict)]
        assert [one for one in found if isinstance(one, dict) and one["asked"][0] == calls[0]["asked"][0]] == calls
    times = sorted(one for asked in given.values() for one in asked if isinstance(one, int))
    assert sorted(one for one in found if isinstance(one, int)) == times


def run_threads(work: Any, count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


async def test_what_is_awaited_is_recorded_when_it_comes(tmp_path: Path) -> None:
    first_may_go = asyncio.Event()

    async def slow() -> str:
        await first_may_go.wait()
        return "slow"

    async def quick() -> str:
        first_may_go.set()
        return "quick"

    async def broken() -> str:
        raise Refused("async")

    with recording(tmp_path) as made, made.task("p").epoch(0):
        assert await asyncio.gather(clonoscope.external(slow), clonoscope.external(quick)) == ["slow", "quick"]
        with pytest.raises(Refused):
            await clonoscope.external(broken)
        with dumped(made, tmp_path / "out.zip") as bundle:
            calls = calls_in(bundle, "p.0", 0, 0)
    assert [(call.get("value"), call["begun"]) for call in calls] == [("quick", 1), ("slow", 0), (None, 2)]
    assert calls[2]["raised"] == {"type": f"{Refused.__module__}.Refused", "message": "async"}


async def test_asyncios_tasks_keep_to_their_own(tmp_path: Path) -> None:
    async def work(number: int) -> list[int]:
        given = []
        with made.task("p", number).epoch(0):
            for _ in range(50):
                given.append(clonoscope.time_ns())
                await asyncio.sleep(0)
        return given

    with recording(tmp_path) as made:
        given = await asyncio.gather(*(work(number) for number in range(5)))
    assert [values_of(tmp_path / "orders", f"p.{number}") for number in range(5)] == given


def test_what_no_task_asks_is_recorded_beside_the_tasks(tmp_path: Path) -> None:
    with recording(tmp_path) as made:
        given = [clonoscope.time_ns(), clonoscope.time_ns()]
        assert values_of(made.folder, "outside.0") == given
    clonoscope.time_ns()
    assert values_of(tmp_path / "orders", "outside.0") == given


def test_a_forked_child_records_attempts_of_its_own(tmp_path: Path) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(0):
        before = [clonoscope.time_ns(), clonoscope.random()]
        child = os.fork()
        if child == 0:
            clonoscope.time_ns()
            clonoscope.random()
            os._exit(0 if made.faults == [] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        after = [clonoscope.time_ns(), clonoscope.random()]
        childs = values_of(made.folder, "p.0", attempt=1)
        assert values_of(made.folder, "p.0") == before + after
    assert len(childs) == 2 and childs[1] != after[1]


def test_a_place_that_two_threads_come_to_at_once_is_one_site(monkeypatch: pytest.MonkeyPatch) -> None:
    both, found = threading.Barrier(2, timeout=30), []

    class Late(list[sites.Site]):
        """Lets the other thread go by before the site is there."""

        def append(self, site: sites.Site) -> None:
            both.wait()
            other.join(0.05)  # it is through, or waits for us
            super().append(site)

    def here() -> FrameType:
        return sys._getframe()

    frame = here()
    monkeypatch.setattr(sites, "_sites", Late(sites._sites))
    monkeypatch.setattr(sites, "_numbers", dict(sites._numbers))

    def come_too() -> None:
        both.wait()
        found.append(sites.site_at(frame))

    other = threading.Thread(target=come_too)
    other.start()
    found.append(sites.site_at(frame))
    other.join()
    assert len(found) == 2 and found[0] is found[1]
