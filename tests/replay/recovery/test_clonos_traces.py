"""The events that Clonos' real recovery classes were given, given to ours: each difference is one of its faults."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.replay.recovery.clonos_task import ClonosTask
from tests.replay.simulation.clonos_faults import ROWS

TRACES = json.loads((Path(__file__).parents[2] / "vectors" / "recovery_traces.json").read_text())
NAMES = [trace["name"] for trace in TRACES]
SHOWN = (
    "actions",
    "subpartition_actions",
    "state_after",
    "epoch",
    "record_count",
    "ready_to_replay",
    "main_log_length",
)
"""What a trace says of a step. A step without actions of subpartitions has none."""

REBUILT = ["recovering=false", "notifyDataAvailable"]
BOTH_REBUILT = {"out0": REBUILT, "out1": REBUILT}
CHECKPOINT_2 = "force checkpoint 2 ts 1002 CHECKPOINT defaultLocation=true at count 2"
CHECKPOINT_3 = "force checkpoint 3 ts 1003 CHECKPOINT defaultLocation=true at count 1"
Z = "force timer z@9 at count 0"
THROWS = "THROWS ClassCastException"
"""Theirs goes on with the names of classes."""


class Difference(NamedTuple):
    """`step` None: the whole main log, at the end."""

    trace: str
    step: int | None
    shown: str
    theirs: Any
    ours: Any


class Known(NamedTuple):
    """A difference, the row of the table of Clonos' faults that it stands for, and why it shows here."""

    difference: Difference
    row: str
    why: str


RELOGGED = (
    "01000000000000000102000000020600000001000000000000000105000000020000000000000002"
    "00000000000003ea000100000000"  # checkpoint 2
    "010000000000000003"
    "{}"  # the timer and the seed
    "0500000001000000000000000300000000000003eb0001000000000100000000000000050200000006"
)
RNG_4, TIMER_Z = "0200000004", "0400000000000000000000000906000000017a"
FIRST = "04000000000000000000000005060000000566697273740100000000000000010200000002"

KNOWN = (
    Known(
        Difference(
            "source",
            8,
            "actions",
            [CHECKPOINT_2, "replayed timestamp 3", Z, "replayed rng 4"],
            [CHECKPOINT_2, "replayed timestamp 3", "replayed rng 4", Z],
        ),
        "order",
        "the timer runs within the call that gives the seed back, before that is logged again",
    ),
    Known(
        Difference(
            "source", None, "main_log_after_hex", RELOGGED.format(TIMER_Z + RNG_4), RELOGGED.format(RNG_4 + TIMER_Z)
        ),
        "order",
        "and so its log has the length of the one that was lost, and not its bytes; ours is what was returned",
    ),
    Known(
        Difference(
            "source",
            9,
            "actions",
            [CHECKPOINT_3, "replayed timestamp 5", "conclude_replay(timers)", "replayed rng 6"],
            [CHECKPOINT_3, "replayed timestamp 5", "replayed rng 6", "conclude_replay(timers)"],
        ),
        "length",
        "it runs before the last choice is logged again, which is why its check, were it on, would fail there",
    ),
    Known(
        Difference("async-first", 7, "actions", [THROWS], ["force timer first@5 at count 0"]),
        "head",
        "the timer stays in the way of the choice behind it; ours fires it before the first record",
    ),
    Known(Difference("async-first", 7, "main_log_length", 0, 23), "head", "ours has logged that timer again"),
    Known(
        Difference(
            "async-first", 8, "actions", [], ["replayed timestamp 1", "replayed rng 2", "conclude_replay(timers)"]
        ),
        "head",
        "ours goes on with the choices behind the timer, when the first record asks for them",
    ),
    Known(Difference("async-first", 8, "state_after", "Replaying", "Running"), "head", "theirs never comes to its end"),
    Known(Difference("async-first", 8, "main_log_length", 0, 37), "head", "theirs never logs anything again"),
    Known(Difference("async-first", None, "main_log_after_hex", "", FIRST), "head", "ours is what was returned"),
    Known(
        Difference("duplicate-response", 8, "state_after", "Replaying", "WaitingDeterminants"),
        "count",
        "the second answer of one output replaces the first: the other output has not answered",
    ),
    Known(Difference("duplicate-response", 8, "ready_to_replay", True, False), "count", "ours still waits"),
    Known(
        Difference("duplicate-response", 8, "subpartition_actions", BOTH_REBUILT, {}),
        "count",
        "ours does not yet know what is to be rebuilt",
    ),
    Known(
        Difference("duplicate-response", 9, "subpartition_actions", {}, BOTH_REBUILT),
        "count",
        "the answer that theirs drops as late is the one that ours waits for",
    ),
)


def differences(trace: dict[str, Any]) -> list[Difference]:
    """All of them: every event of the trace is given, and everything that is shown of it compared."""
    task, found = ClonosTask(trace["name"], trace["config"]), []
    for n, step in enumerate(trace["steps"]):
        ours = task.step(step["event"])
        assert set(step) <= {"event", *ours}, "the trace shows something that is not compared"
        assert tuple(ours) == SHOWN
        for shown in SHOWN:
            theirs = step.get(shown, {})
            if theirs != ours[shown]:
                found.append(Difference(trace["name"], n, shown, _without_classes(theirs), ours[shown]))
    after = "main_log_after_hex"
    if task.log.hex() != trace[after]:
        found.append(Difference(trace["name"], None, after, trace[after], task.log.hex()))
    return found


def _without_classes(theirs: Any) -> Any:
    return [one.split(":")[0] for one in theirs] if str(theirs).startswith(('["THROWS', "['THROWS")) else theirs


def named(trace: str) -> list[Difference]:
    return sorted((one.difference for one in KNOWN if one.difference.trace == trace), key=str)


def trace_named(name: str) -> dict[str, Any]:
    return copy.deepcopy(next(trace for trace in TRACES if trace["name"] == name))


@pytest.mark.parametrize("name", NAMES)
def test_every_difference_is_one_of_clonos_faults_and_none_is_gone(name: str) -> None:
    assert sorted(differences(trace_named(name)), key=str) == named(name)


def test_every_difference_names_a_row_of_the_table_of_faults_once() -> None:
    assert {one.row for one in KNOWN} <= set(ROWS)
    places = [one.difference[:3] for one in KNOWN]
    assert len(set(places)) == len(places)
    assert {one.difference.trace for one in KNOWN} < set(NAMES), "and one trace is without any"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shown", ["state_after", "epoch", "record_count", "main_log_length", "ready_to_replay"])
def test_one_step_that_is_otherwise_is_seen(name: str, shown: str) -> None:
    """The comparison itself: a trace that says something else at any one step is no longer explained."""
    for n in range(len(trace_named(name)["steps"])):
        trace = trace_named(name)
        was = trace["steps"][n][shown]
        trace["steps"][n][shown] = "Elsewhere" if isinstance(was, str) else was + 7
        assert sorted(differences(trace), key=str) != named(name), f"step {n}"


@pytest.mark.parametrize("name", NAMES)
def test_one_action_that_is_otherwise_is_seen(name: str) -> None:
    for n, step in enumerate(trace_named(name)["steps"]):
        for actions in ("actions", "subpartition_actions"):
            trace = trace_named(name)
            shown = step.get(actions, {})
            trace["steps"][n][actions] = [*shown, "x"] if isinstance(shown, list) else {**shown, "out9": ["x"]}
            assert sorted(differences(trace), key=str) != named(name), f"step {n}"


def test_an_event_that_is_unknown_is_not_passed_over() -> None:
    trace = trace_named("source")
    trace["steps"][3]["event"] = "start_recovery(1)"
    with pytest.raises(ValueError, match="unknown"):
        differences(trace)
