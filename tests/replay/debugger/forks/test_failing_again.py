"""What a fork says of a second failure: held against the engine, which runs the same job with that failure."""

from __future__ import annotations

import pytest

from replay.debugger.forks import At, change_of, fork
from replay.debugger.replay import replay
from replay.errors import WrongSetting
from tests.replay.debugger.forks.failing import Failing
from tests.replay.debugger.forks.made import Cuts
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import Kept, bundle_of

FOUND = {
    15: "a timer fired before a buffer was rebuilt that others had",
    49: "holders failed before they were asked",
}


@pytest.mark.parametrize("seed", [*range(12), *FOUND])
def test_a_task_fails_again_as_it_does_in_the_engine(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = Cuts()
    cuts.watch(monkeypatch)
    failing = Failing(cuts)
    for failures in (False, True):
        failing.of_seed(seed, each=2, failures=failures)
    assert not failing.faults, "\n".join(failing.faults)


@pytest.mark.parametrize("seed", range(20, 28))
def test_what_is_left_of_another_task_that_fails_is_what_the_engine_gives_back(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts = Cuts()
    cuts.watch(monkeypatch)
    failing = Failing(cuts)
    for failures in (False, True):
        failing.of_seed(seed, each=2, failures=failures, others=True)
    assert not failing.faults, "\n".join(failing.faults)


def test_a_task_that_recovers_fails_again_and_recovers_once_more() -> None:
    bundle, parent, kept = bundle_of(one_failure()), Kept(), Kept()
    replay(bundle, failure=0, sink=parent)
    step = len(parent.rows) // 2
    change = change_of({"change": "failure", "task": "map-1.0"})
    outcome = fork(bundle, failure=0, step=step, change=change, sink=kept)
    report = outcome.detail["fork"]
    told = report["second_failure"]
    assert told["checkpoint"] == 1 and told["attempt"] == 1 and told["answers"] == {"map-1.0>map-2.0": "held"}
    assert told["orphans"] == [] and sum(upto for *_, upto in told["returned"]) > 0 and not report["orphans"]
    assert kept.rows[:step] == parent.rows[:step]
    states = [row.state for row in kept.rows[step + 1 :]]
    seen = ["Standby", "WaitingConnections", "WaitingDeterminants", "Replaying", "Running"]
    assert sorted({*states}, key=states.index) == seen
    assert report["cannot_be_affected"] > 0 and "fails again at this moment" in outcome.sentence
    assert kept.state_at_the_end()
    with pytest.raises(WrongSetting, match="the task failed again in this fork"):
        fork(bundle, failure=0, step=step + 20, change=change, before=[At(step, change)])


def test_another_task_that_fails_is_told_with_what_is_left_of_it() -> None:
    bundle, parent = bundle_of(one_failure(sharing_depth=1)), Kept()
    replay(bundle, failure=0, sink=parent)
    change = change_of({"change": "failure", "task": "map-2.0"})
    outcome = fork(bundle, failure=0, step=len(parent.rows) - 3, change=change)
    told = outcome.detail["fork"]["second_failure"]
    assert told["task"] == "map-2.0" and told["answers"] == {"map-2.0>sink.0": "held", "map-2.0>sink.1": "held"}
    assert told["escalates"] is None and outcome.detail["fork"]["equal"]
    change = change_of({"change": "failure", "task": "source.0"})
    told = fork(bundle, failure=0, step=8, change=change).detail["fork"]["second_failure"]
    assert told["down"] == ["map-1.0"] and "not_known" in told


def test_an_attempt_that_never_failed_fails_in_a_fork() -> None:
    bundle = bundle_of(one_failure())
    for task in ("source.0", "sink.0", "map-1.0"):
        outcome = fork(
            bundle, task=task, attempt=0, step=40, change=change_of({"change": "failure", "task": task, "seed": 1})
        )
        report = outcome.detail["fork"]
        assert report["second_failure"]["task"] == task and report["new_execution"], outcome.sentence
    with pytest.raises(WrongSetting, match="there is no task nobody"):
        fork(bundle, task="sink.0", attempt=0, step=4, change=change_of({"change": "failure", "task": "nobody"}))
