"""Forks: as their parent before the step, and what can't be affected the same byte for byte, whatever was changed."""

from __future__ import annotations

from typing import Any

import pytest

from replay.debugger.forks import At, change_of, fork
from replay.debugger.forks.changes import change_to_json
from replay.debugger.outcome import Outcome
from replay.debugger.replay import replay
from replay.errors import WrongSetting
from replay.jobs.options import RecordOptions
from replay.jobs.registry import OPERATORS
from replay.model import Record
from replay.runtime.operators import Context, Operator
from replay.simulation.replays import recorded
from tests.replay.debugger.forks.made import Cuts, Forks
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import Kept, bundle_of

FOUND = {283: "a recovery that escalates in the recording too is followed into what came instead"}


@pytest.mark.parametrize("seed", [*range(14), *FOUND])
def test_random_forks_change_nothing_that_can_not_be_affected(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = Cuts()
    cuts.watch(monkeypatch)
    forks = Forks(cuts)
    forks.of_seed(seed, parents=6 if seed in FOUND else 4, each=8 if seed in FOUND else 6)
    assert not forks.faults, "\n".join(forks.faults)


# At each of these the recovery had heard, or asked, something before the change.
@pytest.mark.parametrize("seed", [*range(20, 32), 48, 52, 82])
def test_random_forks_of_answers_are_their_parents_until_then(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = Cuts()
    cuts.watch(monkeypatch)
    forks = Forks(cuts)
    forks.of_answers(seed)
    assert not forks.faults, "\n".join(forks.faults)


@pytest.mark.parametrize("seed", range(10))
def test_random_forks_of_forks_are_their_parents_until_then(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = Cuts()
    cuts.watch(monkeypatch)
    forks = Forks(cuts)
    forks.of_chains(seed, parents=3, each=3)
    assert not forks.faults, "\n".join(forks.faults)


def step_of(kept: Kept, kind: str, number: int = 0) -> int:
    return [step for step, _, one, *_ in kept.determinants if one == kind][number]


def forked(change: dict[str, Any], step: int, bundle: Any, **of: Any) -> tuple[Outcome, Kept]:
    kept = Kept()
    return fork(bundle, step=step, change=change_of(change), sink=kept, **of), kept


def replayed(bundle: Any, **of: Any) -> Kept:
    kept = Kept()
    replay(bundle, sink=kept, **of)
    return kept


def test_another_time_changes_what_was_made_of_it_and_follows_the_log_on() -> None:
    bundle = bundle_of(one_failure())
    parent = replayed(bundle, failure=0)
    step = step_of(parent, "timestamp", 3)
    outcome, kept = forked({"change": "value", "value": 1_600_000_123_456}, step, bundle, failure=0)
    report = outcome.detail["fork"]
    assert outcome.verdict == "forked" and not report["new_execution"]
    assert "the clock read 1600000123456, and not as before" in outcome.sentence
    assert report["outputs"]["changed"] and report["orphans"][0]["task"] == "map-2.0"
    assert "orphans" in outcome.sentence
    found = {one["stream"]: one for one in report["differences"]}
    assert "1600000123456" in found["output"]["second"]["said"]
    assert found["output"]["second"]["line"].startswith("replay/jobs/pass_through.py:")
    assert kept.rows[step].kind == "fork" and kept.rows[-1].kind == "finish"
    assert kept.rows[-1].text == outcome.sentence


def test_two_deliveries_in_each_others_place() -> None:
    bundle = recorded(RecordOptions(job="concat", seed=1, events=200))
    parent = replayed(bundle, task="concat.0", attempt=0)
    outcome, kept = forked({"change": "order"}, step_of(parent, "order"), bundle, task="concat.0", attempt=0)
    orders = [value for _, _, one, value, _ in kept.determinants if one == "order"]
    before = [value for _, _, one, value, _ in parent.determinants if one == "order"]
    assert orders[0] == 1 - before[0]
    assert sorted(orders[: len(before)]) == sorted(before[: len(orders)]) or outcome.detail["fork"]["new_execution"]
    assert outcome.detail["fork"]["outputs"]["changed"]


def test_the_delivery_itself_can_be_forked_as_well_as_its_determinant() -> None:
    bundle = recorded(RecordOptions(job="concat", seed=1, events=200))
    parent = replayed(bundle, task="concat.0", attempt=0)
    step = step_of(parent, "order", 1)
    take = next(row.step for row in parent.rows if row.step > step and row.kind == "take-buffer")
    by_determinant, _ = forked({"change": "order"}, step, bundle, task="concat.0", attempt=0)
    by_take, _ = forked({"change": "order"}, take, bundle, task="concat.0", attempt=0)
    assert by_determinant == by_take


def test_what_is_lost_is_chosen_anew_by_its_seed() -> None:
    bundle = bundle_of(one_failure())
    step = step_of(replayed(bundle, failure=0), "timestamp", 12)
    outcomes = [forked({"change": "lost", "seed": seed}, step, bundle, failure=0) for seed in (0, 0, 1, 2, 3)]
    assert outcomes[0][0] == outcomes[1][0] and outcomes[0][1].rows == outcomes[1][1].rows
    assert len({tuple(row.text for row in kept.rows) for _, kept in outcomes}) > 1
    for outcome, _ in outcomes:
        assert outcome.detail["fork"]["new_execution"] and "nobody holds the main log from offset" in outcome.sentence


def test_without_its_only_holder_nothing_comes_back() -> None:
    bundle = bundle_of(one_failure())
    parent = replayed(bundle, failure=0)
    asked = next(row.step for row in parent.rows if row.kind == "request")
    outcome, kept = forked({"change": "holder", "holder": "map-2.0"}, asked, bundle, failure=0)
    # Its sinks hold the log too: at full depth one more failure loses nothing.
    outputs = outcome.detail["fork"]["outputs"]
    assert outputs["equal"] and not outputs["changed"], outcome.sentence
    lower = bundle_of(one_failure(sharing_depth=1))
    parent = replayed(lower, failure=0)
    asked = next(row.step for row in parent.rows if row.kind == "request")
    outcome, kept = forked({"change": "holder", "holder": "map-2.0"}, asked, lower, failure=0)
    assert "escalates" in outcome.sentence and "sharing depth" in outcome.sentence, outcome.sentence
    assert kept.rows[-1].kind == "finish"


def test_another_sharing_depth_is_answered_by_the_recovery_manager() -> None:
    deep, shallow = bundle_of(one_failure()), bundle_of(one_failure(sharing_depth=1))
    outcome, _ = forked({"change": "depth", "depth": 0}, 1, deep, failure=0)
    assert outcome.detail["fork"]["new_execution"], outcome.sentence
    outcome, _ = forked({"change": "depth", "depth": "full"}, 1, shallow, failure=0)
    assert outcome.detail["fork"]["equal"], outcome.sentence  # map-2.0 lived, and had it all


def test_an_operator_that_is_installed_takes_over_the_state() -> None:
    bundle = bundle_of(one_failure())
    outcome, _ = forked(
        {"change": "operator", "operator": "replay.jobs.pass_through:Relay"}, 60, bundle, task="map-1.0", attempt=0
    )
    report = outcome.detail["fork"]
    assert report["words"].startswith("the operator replay.jobs.pass_through:Relay goes on with the state of")
    assert report["outputs"]["changed"] or report["outputs"]["gone"] or report["ended"]


class Hostile(Operator):
    """Does its worst when it is given somebody else's state."""

    worst: BaseException

    def on_record(self, record: Record, context: Context) -> None:
        """Never comes to it."""

    def restore(self, state: Any) -> None:
        raise self.worst


@pytest.mark.parametrize("worst", [RuntimeError("no"), SystemExit(3), KeyError("k"), RecursionError()])
def test_another_operator_that_fails_ends_the_fork_and_nothing_else(
    worst: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hostile, "worst", worst, raising=False)
    monkeypatch.setitem(OPERATORS, "planted:Hostile", Hostile)
    bundle = bundle_of(one_failure())
    change = {"change": "operator", "operator": "planted:Hostile"}
    outcome, _ = forked(change, 60, bundle, task="map-1.0", attempt=0)
    report = outcome.detail["fork"]
    assert outcome.verdict == "forked" and "Hostile can't take over the state" in report["ended"]
    assert type(worst).__name__ in report["ended"] and report["cannot_be_affected"] > 0


def test_memory_that_another_operator_uses_up_is_no_result_of_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hostile, "worst", MemoryError(), raising=False)
    monkeypatch.setitem(OPERATORS, "planted:Hostile", Hostile)
    change = {"change": "operator", "operator": "planted:Hostile"}
    with pytest.raises(MemoryError):
        forked(change, 60, bundle_of(one_failure()), task="map-1.0", attempt=0)


REFUSED = [
    ({"change": "order"}, 0, "takes no determinant"),
    ({"change": "value", "value": 5}, 10**9, "has no step 1000000000"),
    ({"change": "operator", "operator": "os:system"}, 3, "is not installed here"),
    ({"change": "holder", "holder": "source.0"}, 3, "nothing of map-1.0 is held by source.0"),
    ({"change": "failure", "task": "nobody"}, 3, "there is no task nobody"),
    ({"change": "depth", "depth": "full"}, 1, "the sharing depth that the job ran at"),
]


@pytest.mark.parametrize(("change", "step", "why"), REFUSED)
def test_what_does_not_apply_there_is_refused(change: dict[str, Any], step: int, why: str) -> None:
    with pytest.raises(WrongSetting, match=why):
        forked(change, step, bundle_of(one_failure()), failure=0)


WRONG: list[tuple[object, str]] = [
    (None, "a change is a JSON object"),
    ([], "a change is a JSON object"),
    ({"change": "time"}, "there is no change 'time'"),
    ({"change": "lost", "of": 1}, "has no field 'of'"),
    ({"change": "lost", "seed": -1}, "the field seed of a change is a whole number"),
    ({"change": "value"}, "says what the value is instead"),
    ({"change": "value", "value": float("nan")}, "is no JSON"),
    ({"change": "holder"}, "names its holder"),
    ({"change": "depth", "depth": 1 << 40}, "no graph is"),
    ({"change": "order", "with": True}, "is a whole number"),
]


@pytest.mark.parametrize(("fields", "why"), WRONG)
def test_a_change_that_can_not_be_meant_is_refused(fields: object, why: str) -> None:
    with pytest.raises(WrongSetting, match=why):
        change_of(fields)


RIGHT: list[dict[str, Any]] = [
    {"change": "order"},
    {"change": "order", "with": 12},
    {"change": "value", "value": {"a": [1, None]}},
    {"change": "lost", "seed": 3},
    {"change": "holder", "holder": "sink.0"},
    {"change": "depth", "depth": "full"},
    {"change": "failure", "task": "sink.0", "seed": 2},
    {"change": "operator", "operator": "a:B"},
]


@pytest.mark.parametrize("fields", RIGHT)
def test_a_change_is_read_as_it_is_written(fields: dict[str, Any]) -> None:
    assert change_to_json(change_of(fields)) == fields


def test_a_replay_that_lacks_something_can_not_be_forked() -> None:
    members = one_failure()
    outcome, _ = forked({"change": "lost"}, 0, bundle_of(members.without("/source/")), task="source.0", attempt=0)
    assert outcome.verdict == "unknown" and "nothing to fork" in outcome.sentence


def test_a_fork_past_its_log_is_forked_at_what_it_chooses_itself() -> None:
    bundle = bundle_of(one_failure())
    step = step_of(replayed(bundle, failure=0), "timestamp", 12)
    lost = At(step, change_of({"change": "lost", "seed": 3}))
    _, made = forked({"change": "lost", "seed": 3}, step, bundle, failure=0)
    own = [number for number, _, kind, *_ in made.determinants if kind == "timestamp" and number > step + 1]
    assert made.rows[own[2]].kind == "append"
    change = {"change": "value", "value": 1_700_000_000_000}
    outcome, again = forked(change, own[2], bundle, failure=0, before=[lost])
    assert again.rows[: own[2]] == made.rows[: own[2]] and again.rows[own[2]].kind == "fork"
    assert "the clock read 1700000000000, and not as before" in outcome.sentence
    found = {one["stream"]: one for one in outcome.detail["fork"]["differences"]}
    assert found["determinant"]["second"]["step"] == own[2] + 1 and found["output"]["second"]["line"]
    with pytest.raises(WrongSetting, match="the fork chose this for itself"):
        forked({"change": "lost"}, own[2], bundle, failure=0, before=[lost])


def test_a_fork_of_a_fork_begins_after_it() -> None:
    bundle = bundle_of(one_failure())
    step = step_of(replayed(bundle, failure=0), "timestamp", 12)
    before = [At(step, change_of({"change": "value", "value": 5}))]
    with pytest.raises(WrongSetting, match="is one of the replay that was forked"):
        forked({"change": "value", "value": 6}, step, bundle, failure=0, before=before)
    with pytest.raises(WrongSetting, match="9 forks stand one on another"):
        forked({"change": "value", "value": 6}, step, bundle, failure=0, before=before * 8)


def test_a_replay_that_diverges_is_forked_before_that() -> None:
    members = one_failure()
    name = "tasks/map-1.0/0/state/1.json"
    other = members.members[name].replace(b'"records":161', b'"records":162')
    bundle = bundle_of(members.with_(name, other))
    kept = Kept()
    outcome = replay(bundle, task="map-1.0", attempt=0, sink=kept)
    diverged_at = outcome.detail["step"]
    assert outcome.verdict == "diverged" and kept.rows[diverged_at].kind == "diverge"
    step = step_of(kept, "timestamp", 3)
    change = {"change": "value", "value": 1_600_000_123_456}
    made, rows = forked(change, step, bundle, task="map-1.0", attempt=0, diverged_at=diverged_at)
    report = made.detail["fork"]
    assert rows.rows[:step] == kept.rows[:step] and made.verdict == "forked"
    assert "state/1.json differs in" in report["parent_ended"] and report["uncompared"] and not report["outputs"]["new"]
    assert all(one["first"] is not None for one in report["differences"])
    assert f"Its parent goes no further than step {diverged_at - 1:,}" in made.sentence
