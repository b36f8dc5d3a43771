"""Gap recovery: at most once, losses only after failures, and every loss can be told from the recording."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS, Gaps
from replay.runtime.body.records import RecordEdges
from replay.simulation.trial import trial_of
from tests.oracle_reader import complaints
from tests.replay.protocols.worlds import check_worlds, seeds_of, world_under

WORLDS = 90


@pytest.mark.parametrize("first", range(0, WORLDS, 30))
def test_random_worlds_hold_what_gap_recovery_promises(first: int) -> None:
    # What was lost is told record by record: that asks for operators which give one record for each that they take.
    check_worlds(islice(seeds_of("pass-through"), first, first + 30), "none")


def test_a_source_that_reads_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gaps, "ended", lambda self, attempt: None)
    verdicts = [trial_of(world_under(seed, "none").plan) for seed in range(60)]
    assert any("nothing_" in fault for verdict in verdicts for fault in verdict.faults)


def test_half_a_record_at_a_new_receiver_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordEdges, "left", lambda self, ahead: 0)
    verdicts = [trial_of(world_under(seed, "none").plan) for seed in range(60)]
    assert any("CorruptMember" in fault for verdict in verdicts for fault in verdict.faults)


def test_a_recording_of_it_loses_what_came_while_a_task_was_away(tmp_path: Path) -> None:
    out = tmp_path / "out"
    kills = ("map-1.0@310", "source.0@350", "sink.0@620")
    options = RecordOptions(protocol="none", seed=7, events=2000, checkpoint_interval_ms=200, kills=kills)
    summary = record(options, out, protocols=PROTOCOLS)
    assert complaints(out) == []
    assert 1800 < summary["records_written"] < 2000
    assert summary["determinant_bytes"] == summary["delta_bytes"] == 0
    verdicts = [replay(open_bundle(out), failure=failure).verdict for failure in range(3)]
    assert verdicts == ["free"] * 3
    alone = replay(open_bundle(out), task="map-1.0", attempt=1)
    assert alone.verdict == "unknown"
    assert "no log" in alone.sentence


def test_where_records_end_is_known_wherever_the_stream_is_cut() -> None:
    stream = b"".join(len(body).to_bytes(4, "big") + body for body in (b"a", b"bcdef" * 3, b"", b"gh"))
    ends = [5, 24, 28, 34]
    for cut in range(len(stream)):
        for first in range(cut + 1):
            edges = RecordEdges()
            edges.feed(stream[:first])
            edges.feed(stream[first:cut])
            end = next(one for one in [0, *ends] if one >= cut)
            assert edges.left(stream[cut : cut + 8]) == end - cut, (first, cut)
