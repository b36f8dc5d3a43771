"""What is executed once more is given the answers that it was given, up to where the attempt before got."""

import asyncio
import contextlib
import importlib.util
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from tests.clonoscope.recorded import recording, values_of
from tests.clonoscope.retried import Broken, chance, epoch_of, times, told_in


class Refused(Exception):
    """What an outside raises; no replay may make it, where nobody names it."""


def everything() -> list[Any]:
    """One answer of each kind."""
    return [
        clonoscope.time_ns(),
        clonoscope.time(),
        clonoscope.random(),
        str(clonoscope.uuid4()),
        clonoscope.urandom(9),
        clonoscope.external(chance, 5),
    ]


def test_all_answers_come_again_and_are_logged_again(tmp_path: Path) -> None:
    given = []
    for fails in (True, True, False):
        with epoch_of(tmp_path, fails=fails):
            given.append([everything() for _ in range(500)])
    assert given[0] == given[1] == given[2]
    logs = [values_of(tmp_path / "orders", "p.0", attempt) for attempt in range(3)]
    assert len(logs[0]) == 3000 and logs[0] == logs[1] == logs[2]
    (told,) = told_in(tmp_path)
    assert (told["before"], told["how"], told["answers"], told["records"]) == (0, "used-up", 3000, 1)


def test_behind_the_end_of_the_attempt_before_it_lives_and_is_quick_again(tmp_path: Path) -> None:
    with epoch_of(tmp_path, fails=True):
        given = times(10)
    with epoch_of(tmp_path, fails=True) as task:
        again = times(4000)
        assert task.log.times and not task.log.slow
    assert again[:10] == given and again[10:] == sorted(again[10:]) and again[10] > given[-1]
    with epoch_of(tmp_path):
        assert times(4000) == again
    assert [(one["before"], one["how"]) for one in told_in(tmp_path)] == [(0, "used-up"), (1, "used-up")]


def test_the_attempt_that_got_furthest_is_taken_where_a_later_one_got_less_far(tmp_path: Path) -> None:
    given = []
    for count in (50, 3, 70, 1, 80):
        with epoch_of(tmp_path, fails=count < 80):
            given.append([clonoscope.random() for _ in range(count)])
    assert given[1] == given[0][:3] and given[2][:50] == given[0]
    assert given[3] == given[2][:1] and given[4][:70] == given[2]
    assert [one["before"] for one in told_in(tmp_path)] == [0, 2]


def test_epochs_that_were_reached_are_taken_each_and_new_ones_are_not_looked_for(tmp_path: Path) -> None:
    def run(first: int, epochs: int) -> dict[int, list[float]]:
        found = {}
        with recording(tmp_path, retry="replay") as made:
            for number in range(first, epochs):
                with made.task("p").epoch(number) as task:
                    task.take(number, topic="in")
                    found[number] = [clonoscope.time() for _ in range(3)]
        return found

    first, second, third = run(0, 6), run(3, 4), run(2, 9)
    assert second[3] == first[3]
    assert {number: third[number] for number in range(2, 6)} == {number: first[number] for number in range(2, 6)}
    assert [(one["epoch"], one["before"], one["how"]) for one in told_in(tmp_path)] == [
        (3, 0, "whole"),
        *((number, 1 if number == 3 else 0, "whole") for number in range(2, 6)),
    ]


def test_an_attempt_that_failed_in_the_same_process_is_taken(tmp_path: Path) -> None:
    with recording(tmp_path, retry="replay") as made:
        task, given = made.task("p"), []
        for fails in (True, False):
            with contextlib.suppress(Broken), task.epoch(0):
                for offset in task.records(range(5), 0, topic="in"):
                    given.append((offset, clonoscope.random()))
                if fails:
                    raise Broken
        assert given[:5] == given[5:]


def test_without_retry_answers_are_new(tmp_path: Path) -> None:
    given = []
    for fails in (True, False):
        with recording(tmp_path) as made, contextlib.suppress(Broken), made.task("p").epoch(0):
            given.append(everything())
            if fails:
                raise Broken
    assert all(one != other for one, other in zip(*given, strict=True))


# --- the same inputs ---


def taken_twice(tmp_path: Path, first: Callable[[Any], None], again: Callable[[Any], None]) -> dict[str, Any]:
    """How taking ended where inputs were those, and then these."""
    given = []
    for take, fails in ((first, True), (again, False)):
        with epoch_of(tmp_path, fails=fails) as task:
            before = clonoscope.random()
            take(task)
            given.append((before, clonoscope.random()))
    told = told_in(tmp_path)[0]
    assert given[0][0] == given[1][0]
    assert (given[0][1] == given[1][1]) is (told["answers"] == 2)
    return told


@pytest.mark.parametrize(
    ("again", "why"),
    [
        (lambda task: task.take(8, topic="in", data=b"seven"), "record 8 of in[0] came where attempt 0 took record 7"),
        (
            lambda task: task.take(7, topic="on", data=b"seven"),
            "record 7 of on[0] came where attempt 0 took record 7 of in",
        ),
        (lambda task: task.take(7, topic="in", data=b"other"), "is another record than that of attempt 0, by its hash"),
        (lambda task: task.take(7, topic="in"), "is another record than that of attempt 0, by its hash"),
        (lambda task: None, "at record 1 of the epoch, and in attempt 0 at 2"),
    ],
)
def test_other_records_end_it(tmp_path: Path, again: Callable[[Any], None], why: str) -> None:
    told = taken_twice(tmp_path, lambda task: task.take(7, topic="in", data=b"seven"), again)
    assert (told["how"], told["answers"]) == ("differs", 1) and why in told["why"]


def test_the_same_records_do_not(tmp_path: Path) -> None:
    def take(task: Any) -> None:
        task.take(7, topic="in", data=b"seven")
        task.take_range(8, 20, topic="in", partition=1, sha256="ab" * 32)

    told = taken_twice(tmp_path, take, take)
    assert (told["how"], told["answers"], told["records"], told["hashed"]) == ("used-up", 2, 14, 13)


@pytest.mark.parametrize(
    ("first", "until", "sha256", "why"),
    [
        (1, 20, "cd" * 32, "have another hash"),
        (1, 21, "ab" * 32, "have another hash"),
        (1, 20, "", "have another hash"),
    ],
)
def test_a_range_is_known_by_its_hash(tmp_path: Path, first: int, until: int, sha256: str, why: str) -> None:
    told = taken_twice(
        tmp_path,
        lambda task: task.take_range(1, 20, topic="in", sha256="ab" * 32),
        lambda task: task.take_range(first, until, topic="in", sha256=sha256),
    )
    assert (told["how"], told["answers"]) == ("differs", 1) and why in told["why"]


def test_a_run_that_was_taken_in_one_may_come_in_several(tmp_path: Path) -> None:
    told = taken_twice(
        tmp_path,
        lambda task: task.take_range(1, 20, topic="in"),
        lambda task: [task.take(offset, topic="in") for offset in range(1, 20)],
    )
    assert (told["how"], told["answers"]) == ("used-up", 2)


# --- what is asked ---


def job_of(folder: Path, line: str, lines_above: int) -> Any:
    """A job's module, in a place of its own."""
    folder.mkdir()
    (folder / "job.py").write_text("import clonoscope\n" + "\n" * lines_above + f"def work():\n    return {line}\n")
    spec = importlib.util.spec_from_file_location("job", folder / "job.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "lines_above", "how"),
    [
        ("clonoscope.random()", 0, "used-up"),
        ("clonoscope.random()", 7, "used-up"),
        ("0 + clonoscope.random()", 0, "differs"),
        ("clonoscope.time()", 0, "differs"),
    ],
)
def test_a_line_that_moved_asks_the_same_and_one_that_was_changed_does_not(
    line: str, lines_above: int, how: str, tmp_path: Path
) -> None:
    given = []
    for number, job in enumerate(
        (job_of(tmp_path / "before", "clonoscope.random()", 0), job_of(tmp_path / "after", line, lines_above))
    ):
        with epoch_of(tmp_path, fails=number == 0):
            given.append(job.work())
    (told,) = told_in(tmp_path)
    assert told["how"] == how and (given[0] == given[1]) is (how == "used-up")
    assert how == "used-up" or "job.py:3 was asked for where attempt 0 asked for random at" in told["why"]


def test_a_call_of_another_name_ends_it(tmp_path: Path) -> None:
    for name in ("price", "stock"):
        with epoch_of(tmp_path, fails=name == "price"):
            clonoscope.external(chance, name=name)
    (told,) = told_in(tmp_path)
    assert told["how"] == "differs" and "'stock' (read)" in told["why"] and "'price' (read)" in told["why"]


def test_what_was_asked_before_and_is_no_more_is_said(tmp_path: Path) -> None:
    for count in (5, 3):
        with epoch_of(tmp_path, fails=count == 5):
            for _ in range(count):
                clonoscope.random()
    (told,) = told_in(tmp_path)
    assert (told["how"], told["answers"]) == ("differs", 3) and "asked for 2 more answers" in told["why"]


def test_an_output_that_differs_is_counted(tmp_path: Path) -> None:
    for number in range(2):
        with epoch_of(tmp_path, fails=number == 0) as task:
            task.output([1, 0, clonoscope.random()])
            task.output([2, 0, chance()])
            clonoscope.time()
    (told,) = told_in(tmp_path)
    assert (told["how"], told["answers"], told["differing"]) == ("used-up", 2, 1)


# --- calls ---


def test_exceptions_come_again_where_the_very_same_can_be_made(tmp_path: Path) -> None:
    def refused() -> None:
        raise Refused(random.randrange(10**9))

    seen: list[Any] = []
    for fails in (True, False):
        with epoch_of(tmp_path, fails=fails):
            for function, raises in ((refused, (Refused,)), (lambda: {}[str(random.random())], ()), (refused, ())):
                with pytest.raises((Refused, LookupError)) as found:
                    clonoscope.external(function, name="look up", raises=raises)
                seen.append((type(found.value), str(found.value)))
    assert seen[:2] == seen[3:5] and seen[2] != seen[5]
    (told,) = told_in(tmp_path)
    assert (told["how"], told["answers"]) == ("not-given-back", 2)


def test_what_an_attempt_failed_of_is_asked_anew(tmp_path: Path) -> None:
    failing = True

    def look_up() -> float:
        if failing:
            raise Refused("the outside is down")
        return random.random()

    given = []
    for _ in range(2):
        with contextlib.suppress(Refused), epoch_of(tmp_path):
            given.append(clonoscope.random())
            given.append(clonoscope.external(look_up, raises=(Refused,)))
        failing = False
    assert given[0] == given[1] and len(given) == 3
    (told,) = told_in(tmp_path)
    assert (told["how"], told["answers"]) == ("failed", 1) and "Refused: the outside is down" in told["why"]


def test_writes_are_made_again_and_answer_as_they_did(tmp_path: Path) -> None:
    rows: list[int] = []

    def insert() -> int:
        rows.append(1)
        return len(rows)

    given = []
    for fails in (True, False):
        with epoch_of(tmp_path, fails=fails):
            given.append((clonoscope.external(insert, effect="write"), clonoscope.random()))
    assert given[0] == given[1] == (1, given[0][1]) and len(rows) == 2


def test_a_write_that_fails_now_fails(tmp_path: Path) -> None:
    calls: list[int] = []

    def insert() -> int:
        calls.append(1)
        if len(calls) == 2:
            raise Refused("full")
        return 1

    with epoch_of(tmp_path, fails=True):
        clonoscope.external(insert, effect="write")
    with epoch_of(tmp_path), pytest.raises(Refused):
        clonoscope.external(insert, effect="write")
    (told,) = told_in(tmp_path)
    assert told["how"] == "not-given-back" and "raised tests.clonoscope.test_retries.Refused" in told["why"]


@pytest.mark.parametrize("stays", [True, False])
def test_what_json_cannot_give_back_is_asked_again_and_compared(stays: bool, tmp_path: Path) -> None:
    found = iter([(1, 2), (1, 2) if stays else (3, 4)])
    given = []
    for fails in (True, False):
        with epoch_of(tmp_path, fails=fails):
            given.append((clonoscope.external(lambda: next(found)), clonoscope.random()))
    assert type(given[1][0]) is tuple and (given[0] == given[1]) is stays
    (told,) = told_in(tmp_path)
    assert (told["how"], told["answers"]) == (("used-up", 2) if stays else ("not-given-back", 0))


def test_a_gap_ends_it(tmp_path: Path) -> None:
    given = []
    for fails in (True, False):
        with epoch_of(tmp_path, fails=fails):
            given.append((clonoscope.random(), clonoscope.external(object), clonoscope.random()))
    assert given[0][0] == given[1][0] and given[0][2] != given[1][2]
    (told,) = told_in(tmp_path)
    assert (told["how"], told["answers"]) == ("gap", 1) and "which is not JSON" in told["why"]


def test_a_call_answers_with_all_that_it_asked_on_its_way(tmp_path: Path) -> None:
    def look_up() -> list[float]:
        return [clonoscope.random(), random.random()]

    given = []
    for fails in (True, False):
        with epoch_of(tmp_path, fails=fails), clonoscope.intercepting("tests.clonoscope.test_retries"):
            given.append((clonoscope.external(look_up), clonoscope.random()))
    assert given[0] == given[1]
    assert len(values_of(tmp_path / "orders", "p.0")) == 2


@pytest.mark.parametrize("seed", range(4))
async def test_overlapping_calls_end_as_they_ended_and_those_that_had_not_are_made(seed: int, tmp_path: Path) -> None:
    chooser = random.Random(seed)
    seen: list[Any] = []

    async def paused(number: int) -> float:
        for _ in range(chooser.randrange(6)):
            await asyncio.sleep(0)
        return random.random()

    async def work(number: int) -> None:
        given = await clonoscope.external(paused, number)
        seen.append((number, given, clonoscope.time_ns()))
        if fails and len(seen) == 5:
            raise Broken

    first: list[Any] = []
    for fails in (True, False):
        with contextlib.suppress(ExceptionGroup), epoch_of(tmp_path):
            async with asyncio.TaskGroup() as group:
                for number in range(8):
                    group.create_task(work(number))
        if fails:
            first, seen = seen[:5], []
    assert seen[:5] == first and len(seen) == 8, f"seed {seed}"
    (told,) = told_in(tmp_path)
    # Those that were cancelled when the first attempt failed are asked again.
    assert told["how"] in ("used-up", "not-given-back") and told["answers"] >= 10, told


def test_generators_that_are_seeded_draw_the_same_numbers(tmp_path: Path) -> None:
    given = []
    with clonoscope.intercepting("tests.clonoscope.test_retries"):
        for fails in (True, False):
            with epoch_of(tmp_path, fails=fails):
                given.append([random.random() for _ in range(20)])
    assert given[0] == given[1]
