"""The verdict on delivery against random jobs of which the outside is known: never wrong, and sharp where it can be."""

import contextlib
import copy
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from replay.bundle.reader import open_bundle
from replay.bundle.writer import BundleWriter
from replay.guarantees.observed.delivery import IMPORTED, delivery
from replay.guarantees.observed.writes import MOST_OUTPUTS_OF_A_RECORD
from tests.clonoscope.recorded import recording
from tests.replay.guarantees.observed.worlds import TASK, World, manifest

SEEDS = range(400)


def told(path: Path) -> dict[str, Any]:
    with open_bundle(path) as bundle:
        found = delivery(bundle)
    assert found is not None and json.loads(json.dumps(found)) == found
    return found


@pytest.fixture
def verdict_of(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    def verdict(world: World, **more: Any) -> dict[str, Any]:
        path = world.write(tmp_path / "bundle.zip", **more)
        try:
            return told(path)
        finally:
            path.unlink()

    return verdict


def test_no_verdict_is_wrong_and_what_is_recorded_whole_is_decided(verdict_of: Callable[..., dict[str, Any]]) -> None:
    verdicts: Counter[tuple[str, str]] = Counter()
    for seed in SEEDS:
        world = World.random(seed)
        found, truth = verdict_of(world), world.truth()
        verdicts[truth, found["verdict"]] += 1
        assert found["verdict"] in ("undecided", truth), (seed, truth, found)
        if world.never_left:
            assert found["verdict"] != "exactly once", (seed, found)
        if world.outside and world.all_sent() and not any(event["type"] == "task-failed" for event in world.events):
            assert found["verdict"] == "exactly once", (seed, found)
        proven = _given_twice(world)
        assert bool(proven) <= (found["verdict"] == "at least once"), (seed, proven, found)
    # Each of them is there, so that none of this is idle.
    decided = {("at least once",) * 2, ("exactly once",) * 2, ("unlike", "undecided"), ("at least once", "undecided")}
    assert decided <= set(verdicts), verdicts
    print(verdicts)


def _given_twice(world: World) -> set[str]:
    """By the lines alone: keys of outputs without an id, of which attempts recorded one with the very same value."""
    seen: dict[tuple[str, bytes], set[int]] = {}
    for (attempt, _), lines in world.lines.items():
        for line in lines:
            if "id" not in line and ("topic" not in line or line["n"] < world.sent.get(attempt, 0)):
                key = json.dumps(line["record"][0]), json.dumps(line["record"][2]).encode()
                seen.setdefault(key, set()).add(attempt)
    return {key for (key, _), attempts in seen.items() if len(attempts) > 1}


def twice_run(*, ids: bool = False, prices: tuple[int, int] = (1, 1)) -> World:
    """One epoch that ran again, from its beginning to its end."""
    world = World(0)
    for attempt, price in enumerate(prices):
        world.tell("attempt-started", attempt, checkpoint=0)
        world.takes[attempt, 0] = (0, 2)
        world.lines[attempt, 0] = [
            {"n": n, "t_us": 0, "record": [1206 + n, 0, {"order": 1206 + n, "price": price if n else 4}]}
            | {"source": [[TASK, n]]}
            | ({"id": str(n)} if ids else {})
            for n in range(2)
        ]
        if attempt:
            world.tell("checkpoint-acknowledged", attempt, checkpoint=1)
        else:
            world.tell("task-failed", attempt, cause="kill")
    return world


def test_outputs_that_went_out_twice_are_shown_with_what_they_were(verdict_of: Callable[..., dict[str, Any]]) -> None:
    found = verdict_of(twice_run(prices=(19, 24)))
    assert (found["verdict"], found["count"], found["differing"]) == ("at least once", 2, 1)
    assert [one["said"] for one in found["twice"]] == ["1207 twice: price 19 and 24", "1206 twice, the same"]
    # Also where the recording is of one that goes on.
    assert verdict_of(twice_run(), complete=False)["verdict"] == "at least once"


def test_writes_of_one_id_count_once_where_they_are_the_same(verdict_of: Callable[..., dict[str, Any]]) -> None:
    found = verdict_of(twice_run(ids=True))
    assert (found["verdict"], found["once_by_id"], found["missing"]) == ("exactly once", 2, [])
    unlike = verdict_of(twice_run(ids=True, prices=(19, 24)))
    assert unlike["verdict"] == "undecided" and "writes of one id are not the same" in unlike["missing"][0]


def test_what_was_killed_is_whole_and_what_is_at_work_is_not(verdict_of: Callable[..., dict[str, Any]]) -> None:
    world = twice_run(ids=True)
    killed = verdict_of(world, complete=False, processes={"alive": 0, "killed": 1})
    assert killed["verdict"] == "exactly once"
    unclear: list[Any] = [{"alive": 1, "killed": 0}, {}, [], {"alive": "0"}, {"alive": False}]
    for processes in unclear:
        found = verdict_of(world, complete=False, processes=processes)
        assert found["verdict"] == "undecided" and "not complete" in found["missing"][0], processes


@pytest.mark.parametrize(("again", "verdict"), [(24.9, "exactly once"), (19.9, "undecided")])
def test_a_write_that_another_choice_may_have_led_to_may_be_missing(again: float, verdict: str, tmp_path: Path) -> None:
    """An alert above a price: the attempt that was stopped may have given one, and its line is not there."""
    with recording(tmp_path, "alerts") as made:
        for price in (24.9, again):
            with contextlib.suppress(ZeroDivisionError), made.task("p").epoch(0):
                made.task("p").take(0, topic="in")
                clonoscope.external(float, price)
                assert price != 24.9 or made.task("p").attempt or 1 / 0
        with made.task("p").epoch(1):
            made.task("p").take(1, topic="in")
            made.task("p").output(["k", 0, 1])
    found = told(made.dump(tmp_path / "alerts.zip"))
    assert found["verdict"] == verdict and bool(found["missing"]) == (verdict == "undecided"), found


def without(world: World, change: Callable[[World], Any]) -> World:
    changed = copy.deepcopy(world)
    change(changed)
    return changed


def _all_lines(change: Callable[[dict[str, Any]], Any]) -> Callable[[World], Any]:
    return lambda world: [change(line) for lines in world.lines.values() for line in lines]


def _no_lines(world: World) -> None:
    for lines in world.lines.values():
        lines.clear()


FAULTS: dict[str, tuple[Callable[[World], Any], str]] = {
    "a gap": (lambda world: world.tell("gap", 1, why="no room"), "gap"),
    "no lineage": (_all_lines(lambda line: line.pop("source")), "nobody knows which records"),
    "no such lineage": (_all_lines(lambda line: line.update(source=[["p.0"]])), "nobody knows which records"),
    "a transaction": (_all_lines(lambda line: line.update(txn=1)), "transactions"),
    "a line is gone": (lambda world: world.lines[1, 0].pop(0), "not numbered without gaps"),
    "an end is gone": (lambda world: world.lines[0, 0].pop(), "ended midway"),
    "the last did not end": (lambda world: world.events.pop(), "did not come to the end"),
    "another record": (lambda world: world.lines[0, 0][0].update(source=[[TASK, 7]]), "did not give again"),
    "a token": (_all_lines(lambda line: line.update(record=[None, 0, {"redacted": str(id(line))}])), "not the same"),
    "taken elsewhere": (
        lambda world: world.takes.update({(0, 0): (0, 3), (1, 1): (2, 1)}) or world.lines.update({(1, 1): []}),
        "again in another",
    ),
    "an attempt is gone": (
        lambda world: [world.lines.pop((0, 0)), world.takes.pop((0, 0))],
        "attempts are missing",
    ),
    "no outputs": (_no_lines, "no output is recorded"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_missing_keeps_it_undecided(fault: str, verdict_of: Callable[..., dict[str, Any]]) -> None:
    change, why = FAULTS[fault]
    found = verdict_of(without(twice_run(ids=True), change))
    assert found["verdict"] == "undecided" and any(why in one for one in found["missing"]), found


def test_who_failed_and_was_not_executed_again_may_have_lost_something(verdict_of: Callable[..., Any]) -> None:
    world = twice_run()
    del world.lines[1, 0], world.takes[1, 0]
    world.events = world.events[:2]
    found = verdict_of(world)
    assert found["verdict"] == "undecided" and "nothing executed its last epoch again" in found["missing"][0]


def test_other_records_at_the_same_place_are_no_repeat(verdict_of: Callable[..., dict[str, Any]]) -> None:
    world = twice_run(prices=(1, 2))
    for number, line in enumerate(world.lines[1, 0]):
        line["record"][0] = 9000 + number
    found = verdict_of(world)
    assert found["verdict"] == "undecided" and "other records at the same places" in found["missing"][0]


def test_ids_that_are_drawn_anew_keep_nothing_from_going_out_twice(verdict_of: Callable[..., dict[str, Any]]) -> None:
    world = twice_run(ids=True)
    for line in world.lines[1, 0]:
        line["id"] = f"again-{line['id']}"
    assert (found := verdict_of(world))["verdict"] == "at least once" and found["count"] == 2, found


def test_redacted_values_are_neither_the_same_nor_others(verdict_of: Callable[..., dict[str, Any]]) -> None:
    world = twice_run()
    for (attempt, _), lines in world.lines.items():
        lines[1]["record"][2] = {"redacted": f"token{attempt}"}
    found = verdict_of(world)
    assert found["verdict"] == "at least once" and found["differing"] == 0
    assert {one["said"] for one in found["twice"]} == {
        "1206 twice, the same",
        "1207 twice, redacted: it may be the same or not",
    }


def test_a_key_that_is_a_token_names_no_output(verdict_of: Callable[..., dict[str, Any]]) -> None:
    world = twice_run()
    for lines in world.lines.values():
        lines[1]["record"][0] = {"redacted": "drawn"}
    found = verdict_of(world)
    said = {one["said"]: one["record"] for one in found["twice"]}
    assert said == {"1206 twice, the same": 0, "An output twice, redacted, with the same tokens": 1}, found


def test_a_record_of_very_many_outputs_is_not_held_in_memory(verdict_of: Callable[..., dict[str, Any]]) -> None:
    world = twice_run(ids=True)
    for lines in world.lines.values():
        first = lines[0]
        lines[:] = [{**first, "n": n, "id": str(n)} for n in range(MOST_OUTPUTS_OF_A_RECORD + 1)]
    assert verdict_of(world)["verdict"] == "undecided"


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_bundle_gets_a_verdict_and_never_that_all_was_given_once(
    seed: int, tmp_path: Path, verdict_of: Callable[..., dict[str, Any]]
) -> None:
    chance, world = random.Random(seed), twice_run(ids=True)
    line = chance.choice(chance.choice(list(world.lines.values())))
    name = chance.choice(["n", "record", "source", "id"])
    line[name] = chance.choice([None, -1, True, 10**30, "\x00", [], [[]], {"redacted": "x"}, [[TASK, 10**30]], 1.5])
    assert verdict_of(world)["verdict"] != "exactly once", (seed, line)


def test_a_line_that_cant_be_read_is_named_and_what_stands_before_it_counts(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    twice_run(prices=(1, 2)).write(folder)
    with open(folder / "tasks" / TASK / "1" / "sink" / "0.ndjson", "ab") as sink:
        sink.write(b'{"n": 2,\n')
    found = told(folder)
    assert found["verdict"] == "at least once" and any("can't be read to its end" in one for one in found["missing"])


@pytest.mark.parametrize("depth", [50, 500, 900, 5_000, 100_000])
def test_values_may_be_nested_as_deep_as_they_like(depth: int, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    twice_run(prices=(1, 2)).write(folder)
    for attempt in range(2):
        with open(folder / "tasks" / TASK / str(attempt) / "sink" / "0.ndjson", "ab") as sink:
            deep = "[" * depth + str(attempt) + "]" * depth
            sink.write(f'{{"n":2,"record":["deep",0,{deep}],"source":[["{TASK}",2]]}}\n'.encode())
    found = told(folder)
    assert found["verdict"] == "at least once" and found["count"] == (3 if depth < 500 else found["count"])


@pytest.mark.parametrize("more", [{"observed": False}, {"excerpt": {"of": ""}}, {}])
def test_protocols_that_decide_it_themselves_excerpts_and_imports_get_none(
    more: dict[str, Any], tmp_path: Path
) -> None:
    with BundleWriter(tmp_path / "b.zip") as writer:
        if not more:
            writer.append(IMPORTED, b"{}")
        path = writer.close(manifest(**more))
    with open_bundle(path) as bundle:
        assert delivery(bundle) is None
