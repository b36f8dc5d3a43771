"""The recovery type of each failure, of recordings where it is known, and of random worlds against what they gave."""

from __future__ import annotations

from typing import Any

import pytest

from replay.guarantees.claims import Section
from replay.guarantees.recovery_types import recovery_types
from replay.model import json_bytes, read_json
from replay.simulation.recoveries import recoveries_of
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

INNER, SINK = "map-1.0@115", "sink.0@115"
Setting = dict[str, Any]
LOSING: Setting = {"depth": 4, "sharing_depth": 1, "sink": "transactional", "seed": 7, "events": 500,
                   "checkpoint_interval_ms": 200, "rate_per_s": 1000.0}  # fmt: skip


def of(members: MemoryMembers) -> Section:
    return recovery_types(bundle_of(members))


def types(section: Section) -> list[str]:
    return [one["type"] for one in section.numbers["failures"]]


@pytest.mark.parametrize(
    ("kill", "settings", "expected"),
    [
        (INNER, {}, {"precise"}),
        (INNER, {"sharing_depth": 1}, {"precise"}),
        (INNER, {"protocol": "pessimistic"}, {"precise"}),
        (SINK, {"sink": "determinant"}, {"precise"}),
        (SINK, {"sink": "transactional"}, {"precise"}),
        (SINK, {"sink": "idempotent"}, {"precise"}),
        (INNER, {"sharing_depth": 0}, {"rollback", "divergent"}),
        ("source.0@115", {"sharing_depth": 0}, {"repeating"}),
        (INNER, {"protocol": "none"}, {"gap"}),
        ("source.0@115", {"protocol": "none"}, {"gap"}),
        (INNER, {"protocol": "coordinated", "sink": "transactional"}, {"precise"}),
        (INNER, {"protocol": "coordinated"}, {"rollback", "divergent"}),
    ],
)
def test_what_the_settings_promise_is_what_the_recording_shows(
    kill: str, settings: Setting, expected: set[str]
) -> None:
    (found,) = types(of(failing(kill, **settings)))
    assert found in expected


def test_a_plain_sink_repeats_what_it_wrote_since_the_checkpoint() -> None:
    section = of(failing("sink.0@115", time="event", depth=2, parallelism=1))
    assert types(section) == ["repeating"]
    (claim,) = section.claims[:1]
    assert claim.about == "failure:0" and any(one.startswith("sink:sink.0/0/") for one in claim.evidence)


@pytest.mark.parametrize(
    ("kill", "settings", "why"),
    [
        ("sink.0@115", {}, "no transaction had kept that back"),
        ("sink.0@115", {"sink": "transactional"}, ""),
        (INNER, {"sharing_depth": 0}, "Nothing is logged"),
        (INNER, {}, ""),
        ("map-1.0@300+map-2.0@300", LOSING | {"on_lost": "continue"}, "Choices of map-1.0 were lost"),
        ("map-1.0@300+map-2.0@300", LOSING, ""),
    ],
)
def test_why_somebody_got_a_record_again_is_said_with_its_events(kill: str, settings: Setting, why: str) -> None:
    section = of(failing(kill, **settings))
    reasons = ("no transaction", "Nothing is logged", "were lost")
    told = [one for one in section.claims if any(each in one.sentence for each in reasons)]
    assert any(why in one.sentence for one in told) if why else told == []
    assert all(any(each.startswith("event:") for each in one.evidence[1:]) for one in told)


def test_where_nothing_failed_nothing_was_recovered() -> None:
    section = of(failing())
    assert (section.verdict, section.good, section.numbers["failures"]) == ("nothing failed", None, [])


def test_a_rollback_counts_as_the_recovery_of_the_failure_that_led_to_it() -> None:
    failures = of(failing("map-1.0@300+map-2.0@300", **LOSING)).numbers["failures"]
    assert [(one["type"], one["rolled_back"]) for one in failures] == [("superseded", False), ("precise", True)]


def test_where_all_recoveries_were_superseded_nothing_is_called_precise() -> None:
    """The rollback that came after them is told of, and not which failure led to it."""
    members = failing("map-1.0@300+map-2.0@300", **LOSING)
    events = [read_json(line) for line in members.members["events.ndjson"].splitlines()]
    unlinked = [
        {name: value for name, value in one.items() if (one["type"], name) != ("global-rollback", "failure")}
        for one in events
    ]
    section = of(members.with_("events.ndjson", b"".join(json_bytes(one) + b"\n" for one in unlinked)))
    assert set(types(section)) == {"superseded"}
    assert (section.verdict, section.good) == ("undecided", None)
    assert any("map-1.0 had to do again" in one.sentence for one in section.lacks)


FOUND = (871, 1034, 1514, 2272, 2400, 9531119, 9531479, 9540003, 9540128)
"""Worlds that were left undecided, or told wrong, before."""


@pytest.mark.parametrize("seed", [*range(30), *FOUND])
def test_of_random_worlds_it_says_what_those_got_who_lived_on(seed: int) -> None:
    assert recoveries_of(seed).faults == ()


def test_executed_again_a_free_execution_is_known_to_converge() -> None:
    """The sink failed before the map, and what it had written to a plain outside binds nobody else."""
    section = of(failing("sink.0@100", "map-1.0@101", depth=3, parallelism=1, checkpoint_interval_ms=500, standby=0))
    told = {one["task"]: one for one in section.numbers["failures"]}
    assert told["map-1.0"]["type"] == "convergent", told
    assert "executed again from their logs" in told["map-1.0"]["sentence"]
