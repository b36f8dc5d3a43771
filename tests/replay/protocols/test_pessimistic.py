"""Pessimistic logging: nothing leaves before it is stable, and any set of failures recovers exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS, Pessimistic
from replay.simulation.recording import Recording
from replay.simulation.trial import trial_of
from tests.oracle_reader import complaints
from tests.replay.protocols.worlds import check_worlds, world_under

WORLDS = 90


@pytest.mark.parametrize("first", range(0, WORLDS, 30))
def test_random_worlds_hold_what_pessimistic_logging_promises(first: int) -> None:
    check_worlds(range(first, first + 30), "pessimistic")


def test_buffers_that_do_not_wait_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pessimistic, "waits", False)
    verdicts = [trial_of(world_under(seed, "pessimistic").plan) for seed in range(30)]
    assert any("what_leaves_is_stable" in fault for verdict in verdicts for fault in verdict.faults)


@pytest.mark.parametrize("layout", ["flat", "grouping"])
def test_every_recovery_of_a_recording_is_replayed_from_the_storage(tmp_path: Path, layout: str) -> None:
    out = tmp_path / "out"
    kills = ("map-1.0@310+sink.0@310+sink.1@310+map-1.1@310", "source.0@350", "sink.0@700")
    options = RecordOptions(
        protocol="pessimistic", seed=7, events=2000, checkpoint_interval_ms=200, kills=kills, delta_layout=layout
    )
    summary = record(options, out, protocols=PROTOCOLS)
    assert complaints(out) == []
    assert summary["delta_bytes"] == 0 < summary["determinant_bytes"]
    bundle = open_bundle(out)
    outcomes = [replay(bundle, task=one["task"], failure=one["failure"]) for one in summary["failures"]]
    assert [one.verdict for one in outcomes] == ["identical"] * 6
    assert {holder for one in outcomes for holder in one.detail["holders"]} == {"world"}
    assert replay(bundle, task="map-1.0", attempt=0).verdict == "identical"


def test_waiting_for_the_storage_delays_what_leaves() -> None:
    quick, slow = (world_under(2, "pessimistic", storage_latency_us=us).run() for us in (10, 20_000))
    assert _waited_us(quick) < 20_000 <= _waited_us(slow)


def _waited_us(recording: Recording) -> float:
    """The longest time between a cut and its first sending."""
    longest = 0
    for channel in recording.graph.channels:
        buffers = recording.buffers(channel.source, 0, channel.k)
        for one in recording.sendings(channel.source, 0, channel.k):
            if not one.flags:
                longest = max(longest, one.t_us - buffers[one.seq].t_us)
    return longest
