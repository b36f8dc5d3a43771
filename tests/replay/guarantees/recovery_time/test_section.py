"""What the recovery-time section says of recordings whose costs are known, since they were given to the engine."""

from __future__ import annotations

import pytest

from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.guarantees.claims import Section
from replay.guarantees.recovery_time import recovery_time
from replay.jobs.options import RecordOptions
from replay.simulation.replays import recorded

KILLS = ("map-1.0@2600", "map-1.1@3900")


def slow(**options: object) -> Bundle:
    """A record costs 2 ms, so that a second of work takes a second again; three in five of what it can take come."""
    fields: dict[str, object] = {
        "events": 4_000, "load": 60.0, "record_cost_us": 2_000, "checkpoint_interval_ms": 1_500,
        "kills": KILLS, "rtt_ms": 20.0, "flush_ms": 5.0,
    }  # fmt: skip
    return recorded(RecordOptions(**{**fields, **options}))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def standby() -> tuple[Bundle, Section]:
    bundle = slow()
    return bundle, recovery_time(bundle, target_ms=500)


def test_the_parameters_are_those_that_the_engine_was_given(standby: tuple[Bundle, Section]) -> None:
    parameters = standby[1].numbers["parameters"]
    assert parameters["interval_us"] == pytest.approx(1_500_000, rel=0.25)
    assert parameters["load"] == pytest.approx(0.6, abs=0.15)
    assert 2_000 < parameters["rtt_us"] < 40_000
    assert parameters["standby"] is True


def test_each_recovery_is_predicted_nearly_as_it_was(standby: tuple[Bundle, Section]) -> None:
    rows = standby[1].numbers["recoveries"]
    assert [row["task"] for row in rows] == ["map-1.0", "map-1.1"]
    for row in rows:
        assert row["predicted_us"] == pytest.approx(row["actual_us"], rel=0.35), row
        assert sum(row["parts"].values()) == row["actual_us"]


def test_claims_name_the_events_that_they_rest_on(standby: tuple[Bundle, Section]) -> None:
    bundle, section = standby
    kinds = {f"event:{event['n']}": event["type"] for event in bundle.events()}
    claim = next(one for one in section.claims if one.about == "failure:0")
    assert [kinds[one] for one in claim.evidence][:3] == ["task-failed", "failure-detected", "attempt-started"]


def test_a_target_is_held_against_what_happened(standby: tuple[Bundle, Section]) -> None:
    bundle, section = standby
    slowest_ms = max(row["actual_us"] for row in section.numbers["recoveries"]) / 1000
    assert recovery_time(bundle, target_ms=slowest_ms + 1).good is True
    assert recovery_time(bundle, target_ms=slowest_ms - 1).good is False
    assert recovery_time(bundle).good is None


def test_without_a_standby_the_deployment_and_the_download_are_waited_for() -> None:
    section = recovery_time(slow(standby=0, state_mib=40.0, kills=KILLS[:1]))
    parameters, (row,) = section.numbers["parameters"], section.numbers["recoveries"]
    assert parameters["standby"] is False
    assert 100_000 < parameters["start_us"] < 500_000
    assert row["parts"]["download"] > 100_000
    assert section.numbers["model"]["equation"] == "3.2"


def test_under_gap_recovery_nothing_is_done_again() -> None:
    section = recovery_time(slow(protocol="none", kills=KILLS[:1], events=2_500))
    (row,) = section.numbers["recoveries"]
    assert row["parts"]["replay"] == 0
    assert section.numbers["parameters"]["load"] == 0


def without(bundle: Bundle, *parts: str) -> Bundle:
    """The recording without the members whose names have such a part."""
    names = [name for name in bundle.members.names() if not any(part in name for part in parts)]
    return Bundle(MembersInMemory({name: bundle.members.read(name) for name in names}))


def test_what_the_recording_does_not_tell_is_named_and_not_made_up(standby: tuple[Bundle, Section]) -> None:
    section = recovery_time(without(standby[0], "received-"))
    assert section.verdict == "undecided"
    assert all(row["actual_us"] is None and row["predicted_us"] is None for row in section.numbers["recoveries"])
    assert {lack.about for lack in section.lacks} >= {"failure:0", "failure:1"}
    assert any("received-" in lack.wants for lack in section.lacks)


def test_where_nothing_failed_there_is_nothing_to_measure() -> None:
    section = recovery_time(slow(kills=(), events=600))
    assert section.numbers["recoveries"] == [] and section.numbers["measured"] == 0
    assert section.sentence.startswith("Nothing failed")
