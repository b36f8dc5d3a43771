"""Classes of operators: what a recording refutes, with evidence that is in it, and what it leaves standing."""

from __future__ import annotations

from typing import Any

import pytest

from replay.debugger.recorded.story import Story
from replay.guarantees.claims import Section
from replay.guarantees.recovery_types import recovery_types
from replay.guarantees.recovery_types.classes import CLASSES
from replay.guarantees.recovery_types.emptied import beside_itself
from replay.jobs.options import RecordOptions
from replay.model import TaskId, json_bytes
from replay.simulation.replays import recorded
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

Options = dict[str, Any]
NO_CHECKPOINT = {"checkpoint_interval_ms": 1_000}
"""Before the failure: all is done again then."""


def of(job: str, *kills: str, **options: Any) -> Section:
    small = {"events": 600, "rate_per_s": 4000.0, "checkpoint_interval_ms": 50, "seed": 3}
    return recovery_types(recorded(RecordOptions(job=job, kills=kills, **{**small, **options})))


def class_of(section: Section, vertex: str) -> str:
    return next(str(one["class"]) for one in section.numbers["operators"] if one["vertex"] == vertex)


def against(section: Section, vertex: str) -> dict[str, Any]:
    return next(one["against"] for one in section.numbers["operators"] if one["vertex"] == vertex)


@pytest.mark.parametrize(
    ("job", "vertex", "expected"),
    [
        ("pass-through", "map-1", "arbitrary"),
        ("enrich", "enrich", "arbitrary"),
        ("random-load-balance", "dispatch", "arbitrary"),
        ("nexmark-q12", "count", "arbitrary"),
        ("word-count", "split", "repeatable"),
        ("nexmark-q1", "convert", "repeatable"),
        ("word-count", "count", "convergent-capable"),
        ("nexmark-q3", "join", "convergent-capable"),
        ("nexmark-q5", "count", "convergent-capable"),
    ],
)
def test_without_a_failure_logs_and_lineage_tell_what_an_operator_is_not(job: str, vertex: str, expected: str) -> None:
    assert class_of(of(job), vertex) == expected


def test_two_executions_of_one_input_in_other_orders_refute_that_an_operator_is_deterministic() -> None:
    section = of("pass-through", "map-1.0@120", sharing_depth=0)
    found = against(section, "map-1")["deterministic"]
    assert "another order" in found["sentence"] and len(found["evidence"]) == 2
    assert class_of(section, "map-1") in ("delivery-dependent", "arbitrary")


def test_two_executions_in_one_order_that_chose_otherwise_refute_all_but_arbitrary() -> None:
    section = of("random-load-balance", "dispatch.0@120", sharing_depth=0, parallelism=1, **NO_CHECKPOINT)
    assert "same order" in against(section, "dispatch")["delivery-dependent"]["sentence"]
    assert class_of(section, "dispatch") == "arbitrary"


def test_a_clock_that_is_read_by_itself_proves_nothing_and_that_is_said() -> None:
    section = of("windowed", clock_period_ms=5)
    assert "delivery-dependent" not in against(section, "map-1")
    assert any(lack.about == "vertex:map-1" and "clock" in lack.sentence for lack in section.lacks)


@pytest.mark.parametrize("job", ["pass-through", "word-count", "nexmark-q3", "windowed"])
def test_every_evidence_is_in_the_recording(job: str) -> None:
    options = RecordOptions(job=job, events=400, checkpoint_interval_ms=50, rate_per_s=4000.0)
    bundle = recorded(options)
    found = [one for vertex in recovery_types(bundle).numbers["operators"] for one in vertex["against"].values()]
    assert found
    for evidence in (name for one in found for name in one["evidence"]):
        kind, _, rest = evidence.partition(":")
        place, _, number = rest.partition("#")
        if kind == "buffer":
            channel, attempt = bundle.graph.channel(place.partition("/")[0]), int(place.partition("/")[2])
            assert int(number) in {frame.seq for frame in bundle.buffers(channel.source, attempt, channel.k)}
        else:
            task, told, thread, epoch = place.split("/")
            assert kind == "det" and int(number) < len(list(bundle.determinants(task, int(told), thread, int(epoch))))


def test_what_is_redacted_is_not_held_against_anybody() -> None:
    bundle = recorded(RecordOptions(job="word-count", events=200, rate_per_s=4000.0, checkpoint_interval_ms=50))
    members = MemoryMembers({name: bundle.members.read(name) for name in bundle.members.names()})
    hidden = {**bundle.manifest.to_json(), "redactions": ["word"]}
    section = recovery_types(bundle_of(members.with_("job.json", json_bytes(hidden))))
    assert "repeatable" not in against(section, "count")
    assert any(lack.about == "vertex:count" and "redacted" in lack.sentence for lack in section.lacks)


def test_the_classes_stand_in_the_papers_order() -> None:
    assert CLASSES == ("repeatable", "convergent-capable", "deterministic", "delivery-dependent", "arbitrary")


# --- Table 2.1 of the paper, as far as it says what must come of an approach and a kind of operator ---


@pytest.mark.parametrize(
    ("row", "job", "options", "classes", "types"),
    [
        ("Yahoo S4: PS, GR, A", "pass-through", {"protocol": "none"}, CLASSES, {"gap"}),
        ("Stonebraker et al.: PS, RR-R, R", "word-count", {"sharing_depth": 0}, ("repeatable",), {"repeating"}),
        ("Clonos: PS, PR, A", "pass-through", {}, ("arbitrary",), {"precise"}),
        ("§3.3.1: in-flight logs alone, RR-D", "pass-through", {"sharing_depth": 0}, CLASSES[3:], {"rollback"}),
    ],
)
def test_rows_of_table_2_1(row: str, job: str, options: Options, classes: tuple[str, ...], types: set[str]) -> None:
    """Passive standbys that restart with nothing, with in-flight logs, and with both, of operators that allow it."""
    vertex = {"word-count": "split", "pass-through": "map-1"}[job]
    section = of(job, f"{vertex}.0@120", **{**NO_CHECKPOINT, **options})
    (found,) = section.numbers["failures"]
    assert found["type"] in types, row
    assert class_of(section, vertex) in classes, row


# --- begun empty ---


def test_what_needs_its_state_is_not_repeatable_and_whether_it_would_converge_is_said_to_be_open() -> None:
    section = of("pass-through", time="event")  # it numbers the records of each key, and reads no clock
    assert "begun empty" in against(section, "map-1")["repeatable"]["sentence"]
    assert class_of(section, "map-1") == "convergent-capable"
    assert any(lack.about == "vertex:map-1" and "from an empty state" in lack.sentence for lack in section.lacks)


@pytest.mark.parametrize(
    ("job", "vertex"), [("nexmark-q1", "convert"), ("nexmark-q5", "bids"), ("word-count", "split")]
)
def test_what_needs_no_state_makes_the_same_begun_empty(job: str, vertex: str) -> None:
    assert against(of(job), vertex) == {}


def test_who_is_begun_empty_leaves_the_other_as_it_is() -> None:
    """Nothing that the empty one does comes into the execution, whose buffers are held against the recording's."""
    bundle = recorded(RecordOptions(job="pass-through", time="event", events=600, checkpoint_interval_ms=50))
    recovery_types(bundle)
    found = beside_itself(bundle, Story.read(bundle.events()), TaskId("map-1.0"), 0)
    assert found.against is not None and "records on" in found.open
