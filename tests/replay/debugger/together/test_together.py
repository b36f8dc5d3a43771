"""Recoveries that are replayed together: one stream of steps, in which each task does what it does alone."""

from __future__ import annotations

import pytest

from replay.bundle.reader import Bundle
from replay.debugger.forks import change_of, fork
from replay.debugger.outcome import Outcome
from replay.debugger.ports import StepRow
from replay.debugger.recorded.scene import scenes_of
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.debugger.together.connected import groups
from replay.debugger.together.result import WORST_FIRST
from replay.errors import WrongSetting
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import Kept, alone, bundle_of, world_of

pytestmark = pytest.mark.slow

NEIGHBOURS = ("map-1.0@115+map-2.0@115",)


def together(bundle: Bundle, failure: int) -> tuple[Outcome, Kept]:
    outcome = replay(bundle, failure=failure, sink=(kept := Kept()))
    return outcome, kept


def of_task(kept: Kept, task: str) -> list[tuple[object, ...]]:
    """Without its number, and without what all came to together."""
    return [row[1:] for row in kept.rows if row.task == task and row.actor != "coordinator"]


def first(kept: Kept, task: str, kind: str, text: str = "") -> StepRow:
    return next(row for row in kept.rows if (row.task, row.kind) == (task, kind) and text in row.text)


def test_neighbours_that_fail_in_one_blow_are_replayed_in_one_stream() -> None:
    bundle = bundle_of(failing(*NEIGHBOURS, depth=5))
    outcome, kept = together(bundle, 0)
    assert outcome.verdict == "identical", outcome.sentence
    assert "map-1.0 and map-2.0" in outcome.sentence
    assert {row.task for row in kept.rows} == {"map-1.0", "map-2.0"}
    tasks = outcome.detail["tasks"]
    assert {(one["task"], one["failure"], one["verdict"]) for one in tasks} == {
        ("map-1.0", 1, "identical"),
        ("map-2.0", 0, "identical"),
    }
    assert sum(one["steps"] for one in tasks) == len(kept.rows) - 1 == outcome.steps - 1
    assert kept.rows[-1].kind == "finish" and kept.rows[-1].text == outcome.sentence
    for number in (0, 1):
        assert together(bundle, number)[0].detail["tasks"] == tasks


def test_a_request_recurs_between_the_tasks_and_names_the_other_ones_step() -> None:
    bundle = bundle_of(failing(*NEIGHBOURS, depth=5))
    _, kept = together(bundle, 0)
    causes: dict[int, set[str]] = {}
    for step, cause in kept.causes:
        causes.setdefault(step, set()).add(cause)
    asks = first(kept, "map-1.0", "request", "for what it holds of the logs of map-1.0")
    told = first(kept, "map-2.0", "request", "map-1.0 asks on map-1.0>map-2.0")
    on = first(kept, "map-2.0", "request", "for what it holds of the logs of map-1.0")
    answers = first(kept, "map-2.0", "answer", "Answers map-1.0")
    answered = first(kept, "map-1.0", "answer", "map-2.0 answers on map-1.0>map-2.0")
    for effect, cause in ((told, asks), (on, told), (answered, answers), (answered, asks)):
        assert f"step:{cause.step}" in causes[effect.step], (effect.text, cause.text)
    assert told.state == "Replaying", "a task that replays relays it"
    sent = first(kept, "map-1.0", "send-buffer", "from the in-flight log")
    takes = first(kept, "map-2.0", "take-buffer")
    assert (sent.channel, sent.buffer) == (takes.channel, takes.buffer)
    assert f"step:{sent.step}" in causes[takes.step]
    asked = first(kept, "map-1.0", "request", "map-2.0 asks for the buffers")
    assert f"step:{asked.step}" in causes[sent.step]


def test_where_nothing_tells_which_came_first_that_is_marked() -> None:
    """A record that is processed has no time of its own; an event has, and so has what it followed from."""
    bundle = bundle_of(failing(*NEIGHBOURS, depth=5))
    _, kept = together(bundle, 0)
    marked = dict(kept.open_orders)
    between = [(step, before) for step, before in marked.items() if kept.rows[step].task != kept.rows[before].task]
    assert between
    for row in kept.rows:
        if row.kind in ("answer", "merge") or (row.kind == "request" and row.state.startswith("Waiting")):
            assert row.step not in marked, row


def test_with_a_task_its_recovery_is_replayed_alone() -> None:
    bundle = bundle_of(failing(*NEIGHBOURS, depth=5))
    outcome = replay(bundle, task="map-2.0", failure=0, sink=(kept := Kept()))
    assert {row.task for row in kept.rows} == {"map-2.0"} and "tasks" not in outcome.detail
    assert outcome.sentence.startswith("The replay of map-2.0 is identical")


def test_failures_that_have_nothing_to_do_with_one_another_are_not_put_together() -> None:
    bundle = bundle_of(failing("map-1.0@115", "map-2.1@190", depth=5))
    assert groups(Story.read(bundle.events()), bundle.graph) == [(0,), (1,)]
    outcome, kept = together(bundle, 1)
    assert outcome.task == "map-2.1" and {row.task for row in kept.rows} == {"map-2.1"}


def test_a_task_that_fails_where_its_recovery_asks_another_is_replayed_with_it() -> None:
    """Not in one blow: the second failure comes while the first one is recovered from."""
    bundle = bundle_of(failing("map-1.0@115", "map-2.0@117", depth=5))
    assert groups(Story.read(bundle.events()), bundle.graph) == [(0, 1)]
    outcome, kept = together(bundle, 0)
    assert outcome.verdict == "identical", outcome.sentence
    assert {row.task for row in kept.rows} == {"map-1.0", "map-2.0"}


def test_what_one_of_them_lacks_is_the_verdict_of_all() -> None:
    members = failing(*NEIGHBOURS, depth=5).without("map-2.0/0/state/", "map-2.0/1/state/")
    outcome, _ = together(bundle_of(members), 0)
    verdicts = {one["task"]: one["verdict"] for one in outcome.detail["tasks"]}
    assert verdicts == {"map-1.0": "identical", "map-2.0": "unknown"}
    assert outcome.verdict == "unknown" and "snapshot of checkpoint 1" in outcome.sentence


WORLDS = [*range(100, 136), 512, 744]


@pytest.mark.parametrize("seed", WORLDS)
def test_each_task_does_what_it_does_alone(seed: int) -> None:
    world, members = world_of(seed)
    bundle = bundle_of(members)
    story = Story.read(bundle.events())
    joined = [group for group in groups(story, bundle.graph) if len(group) > 1]
    for group in joined[:3]:
        scenes = scenes_of(bundle, story, task=None, failure=group[0], attempt=None)
        outcome, kept = together(bundle, group[0])
        where = f"failures {group}: {outcome.sentence} {world.reproduce_with}"
        verdicts, steps = [], dict[str, list[tuple[object, ...]]]()
        for scene in sorted(scenes, key=lambda one: one.attempt):
            by_itself = alone(bundle, scene.failure or 0, sink=(own := Kept()))
            verdicts.append(by_itself.verdict)
            steps.setdefault(scene.task, []).extend(of_task(own, scene.task))
        assert outcome.verdict == min(verdicts, key=WORST_FIRST.index), where
        for task, rows in steps.items():
            assert of_task(kept, task) == rows, f"{task} {where}"
        assert all(int(cause[5:]) < step for step, cause in kept.causes if cause.startswith("step:")), where
        check_order(bundle, kept, where)


def check_order(bundle: Bundle, kept: Kept, where: str) -> None:
    """What was recorded at a time stands in the order of these times; where it does not, that is told."""
    events = {event["n"]: event for event in bundle.events()}
    tasks = {row.task for row in kept.rows}
    numbers = [
        (step, int(cause[6:]))
        for step, cause in kept.causes
        if cause.startswith("event:") and kept.rows[step].kind in ("restore", "request", "answer")
    ]
    told = [(step, n) for step, n in numbers if events[n].get("at") == kept.rows[step].task]
    assert [events[n]["t_us"] for _, n in told] == sorted(events[n]["t_us"] for _, n in told), where
    assert [n for _, n in told] == sorted(n for _, n in told), where
    assert all(kept.rows[step].task in tasks and kept.rows[before].task in tasks for step, before in kept.open_orders)


def test_a_fork_is_of_the_task_that_does_the_step() -> None:
    bundle = bundle_of(failing(*NEIGHBOURS, depth=5))
    _, kept = together(bundle, 0)
    change = change_of({"change": "value", "value": 1_600_000_123_456})
    for task, other in (("map-1.0", "map-2.0"), ("map-2.0", "map-1.0")):
        steps = [step for step, of, kind, *_ in kept.determinants if (of, kind) == (task, "timestamp")]
        step = steps[len(steps) // 2]
        own = sum(row.task == task for row in kept.rows[:step])
        failure = next(one["failure"] for one in together(bundle, 0)[0].detail["tasks"] if one["task"] == task)
        made, single = Kept(), Kept()
        outcome = fork(bundle, step=step, change=change, failure=0, sink=made)
        assert outcome == fork(bundle, step=own, change=change, failure=failure, task=task, sink=single)
        assert made.rows == single.rows and made.rows[own].kind == "fork" and outcome.task == task
        assert [row[1:] for row in made.rows[:own]] == of_task(kept, task)[:own]
        (told,) = outcome.detail["fork"]["together"]
        assert told["task"] == other and told["may_be_affected"] == (task == "map-1.0")
        assert f"What {other} would do otherwise" in outcome.sentence
    with pytest.raises(WrongSetting, match="no task does step"):
        fork(bundle, step=len(kept.rows) - 1, change=change, failure=0)


def test_what_another_holder_lost_means_for_those_that_recover_with_it() -> None:
    bundle = bundle_of(failing(*NEIGHBOURS, depth=5, sharing_depth=2))
    _, kept = together(bundle, 0)
    step = first(kept, "map-2.0", "request", "for what it holds of the logs of map-2.0").step
    outcome = fork(bundle, step=step, change=change_of({"change": "holder", "holder": "map-3.0"}), failure=0)
    (told,) = outcome.detail["fork"]["together"]
    assert told["task"] == "map-1.0" and told["recovery"]["task"] == "map-1.0"
    assert set(told["recovery"]["answers"]) == {"map-1.0>map-2.0"}
