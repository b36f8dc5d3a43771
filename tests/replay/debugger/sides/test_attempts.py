"""Two attempts side by side, against an oracle that reads the members by hand."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from replay.bundle.reader import Bundle
from replay.debugger.recorded.story import Story
from replay.debugger.sides.attempts import Side, compare_attempts
from replay.errors import ReplayError, WrongSetting
from replay.jobs.options import RecordOptions
from replay.simulation.commands import random_options
from replay.simulation.replays import recorded
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.sides import oracle
from tests.replay.debugger.worlds import bundle_of

SEEDS = range(36)


def compared(one: Bundle, other: Bundle, task: str, attempts: tuple[int, int]) -> dict[str, Any]:
    first, second = Side(one, task, attempts[0], "the first"), Side(other, task, attempts[1], "the second")
    return compare_attempts(first, second)


def differences(report: dict[str, Any]) -> dict[str, int]:
    return {one["stream"]: one["number"] for one in report["differences"]}


def check(report: dict[str, Any], one: Bundle, other: Bundle, task: str, attempts: tuple[int, int], why: str) -> None:
    """The first differing determinant and input are those that plain loops over the members find.

    An attempt is executed as far as its log tells: of what it took last, not all may have been processed.
    """
    since, found = report["since_epoch"], differences(report)
    ends = {each["stream"]: each for each in report["differences"]}
    read_anew = not one.graph.task(task).inputs and since > 0  # a source's lines do not say of which epoch they are
    for stream, read in (("determinant", oracle.determinants), ("input", oracle.inputs)):
        expected = oracle.first_difference(read(one, task, attempts[0], since), read(other, task, attempts[1], since))
        if stream == "input" and read_anew:
            continue
        at = found.get(stream)
        whole = at is not None and None not in (ends[stream]["first"], ends[stream]["second"])
        executed = min(report["counts"][side][stream] for side in ("first", "second"))
        assert at == expected or (stream == "input" and not whole and (expected is None or executed <= expected)), (
            f"{stream} {at} and not {expected}: {why}\n{report['sentence']}"
        )
    assert report["equal"] == (not found), why


@pytest.mark.parametrize("seed", SEEDS)
def test_attempts_of_one_task_first_differ_where_plain_loops_say(seed: int) -> None:
    options = random_options(seed)
    bundle = recorded(options)
    story = Story.read(bundle.events())
    for task in bundle.tasks():
        present = [attempt for attempt in bundle.attempts(task) if story.processed(task, attempt)]
        for before, after in pairwise(present):
            report = compared(bundle, bundle, task, (before, after))
            if "lacks" in report["first"] or "lacks" in report["second"]:
                continue
            assert "broke" not in report["first"] and "broke" not in report["second"], options.command()
            if not story.without_determinants:
                check(report, bundle, bundle, task, (before, after), options.command())


@pytest.mark.parametrize("seed", range(8))
def test_two_recordings_of_one_input_first_differ_where_plain_loops_say(seed: int) -> None:
    job = ("concat", "word-count", "nexmark-q3", "enrich", "windowed", "random-load-balance", "pass-through")[seed % 7]
    one, other = (recorded(RecordOptions(job=job, seed=seed + 100 * n, events=120 + 40 * n)) for n in range(2))
    for task in one.tasks():
        check(compared(one, other, task, (0, 0)), one, other, task, (0, 0), f"{job}, seeds {seed} and {seed + 100}")


def test_an_attempt_beside_itself_does_the_same() -> None:
    bundle = bundle_of(one_failure())
    report = compared(bundle, bundle, "map-1.0", (0, 0))
    assert report["equal"] and report["sentence"] == "the first and the second did the same."
    assert not report["outputs"]["changed"] and not report["outputs"]["gone"] and not report["outputs"]["new"]


def test_a_recovery_does_what_was_lost_again_and_goes_on() -> None:
    bundle = bundle_of(one_failure())
    report = compared(bundle, bundle, "map-1.0", (0, 1))
    assert report["only_longer"] == "second" and "until the first ended" in report["sentence"]
    assert not report["outputs"]["changed"]


def test_the_lines_that_changed_a_key_and_wrote_a_record_are_named() -> None:
    one, other = (recorded(RecordOptions(job="concat", seed=seed, events=200)) for seed in (1, 2))
    found = {each["stream"]: each for each in compared(one, other, "concat.0", (0, 0))["differences"]}
    for side in ("first", "second"):
        assert found["output"][side]["line"].startswith("replay/jobs/concat.py:")
        assert found["state"][side]["line"].startswith("replay/jobs/concat.py:")
    assert "emit" in found["output"]["first"]["line"], found["output"]["first"]
    # Its base class puts what it returns: that is what the operator itself did last.
    assert "return held" in found["state"]["first"]["line"], found["state"]["first"]


def test_what_both_gave_before_they_part_can_not_follow_from_it() -> None:
    one, other = (recorded(RecordOptions(job="concat", seed=3, events=events)) for events in (200, 260))
    report = compared(one, other, "concat.0", (0, 0))
    changed = {
        (span["output"], n) for span in report["outputs"]["changed"] for n in range(span["first"], span["last"] + 1)
    }
    may = {
        (span["output"], n)
        for span in report["follows"]["first"]["may_follow"]
        for n in range(span["first"], span["last"] + 1)
    }
    assert changed <= may


def test_where_buffers_are_lacking_logs_and_takes_are_compared_and_it_is_said() -> None:
    one = bundle_of(one_failure())
    other = bundle_of(one_failure().without("/state/"))
    report = compared(one, other, "map-1.0", (1, 1))
    assert report["equal"] and report["compared"] == ["determinant", "input"]
    assert "were not processed again" in report["sentence"] and "snapshot of checkpoint 1" in report["sentence"]


def test_tasks_of_another_shape_are_refused() -> None:
    bundle = bundle_of(one_failure())
    with pytest.raises(WrongSetting, match="can't stand side by side"):
        compare_attempts(Side(bundle, "source.0", 0, "one"), Side(bundle, "map-1.0", 0, "other"))
    with pytest.raises(ReplayError, match="has no attempt 9"):
        Side(bundle, "map-1.0", 9, "one")
    with pytest.raises(ReplayError, match="no task"):
        Side(bundle, "nobody", 0, "one")


def test_what_can_not_be_made_ready_to_run_is_compared_by_its_logs() -> None:
    """A snapshot that the operator refuses says so, and nothing breaks off."""
    members, member = one_failure(), "tasks/map-1.0/0/state/1.json"
    snapshot = json.loads(members.read(member))
    damaged = bundle_of(members.with_(member, json.dumps({**snapshot, "operator": {"by_key": 3}}).encode()))
    report = compare_attempts(Side(damaged, "map-1.0", 0, "one"), Side(damaged, "map-1.0", 1, "other"))
    assert "can't be restored by its operator" in report["second"]["lacks"]
