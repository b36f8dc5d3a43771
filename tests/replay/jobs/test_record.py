"""`record`: the same command line gives the same bundle, kills make failures, and what isn't built in is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.reader import open_bundle
from replay.debugger.replay import replay
from replay.errors import PoolExhausted, ReplayError
from replay.jobs.options import RecordOptions, WrongOption, parse_sharing_depth
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.oracle_reader import complaints

SMALL: dict[str, Any] = {"seed": 7, "events": 2000, "checkpoint_interval_ms": 200}


def recorded(out: Path, *, recorded_at: str = "", **options: Any) -> dict[str, Any]:
    return record(RecordOptions(**{**SMALL, **options}), out, protocols=PROTOCOLS, recorded_at=recorded_at)


def members(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def events(folder: Path, *kinds: str) -> list[dict[str, Any]]:
    lines = (folder / "events.ndjson").read_text().splitlines()
    return [one for one in map(json.loads, lines) if one["type"] in kinds]


def written(folder: Path) -> Counter[str]:
    files = folder.glob("tasks/sink.*/*/sink/*")
    return Counter(str(json.loads(line)["source"]) for p in files for line in p.read_text().splitlines())


def test_the_same_command_line_gives_the_same_bundle_but_for_its_date(tmp_path: Path) -> None:
    recorded(tmp_path / "a", kills=("map-1.0@310",), recorded_at="2026-11-18T06:45:00Z")
    recorded(tmp_path / "b", kills=("map-1.0@310",), recorded_at="2027-01-01T00:00:00Z")
    one, other = members(tmp_path / "a"), members(tmp_path / "b")
    manifests = [json.loads(of.pop("job.json")) for of in (one, other)]
    assert manifests[0]["job"].pop("recorded_at") != manifests[1]["job"].pop("recorded_at")
    assert manifests[0] == manifests[1]
    assert one == other


def test_another_seed_gives_another_bundle(tmp_path: Path) -> None:
    recorded(tmp_path / "a")
    recorded(tmp_path / "b", seed=8)
    assert members(tmp_path / "a") != members(tmp_path / "b")


@pytest.mark.parametrize("sharing_depth", [None, 0, 1, 2])
def test_an_independent_reader_accepts_a_recording_with_two_failures(tmp_path: Path, sharing_depth: int | None) -> None:
    out = tmp_path / "out"
    summary = recorded(out, sharing_depth=sharing_depth, depth=4, kills=("map-1.0@150+map-2.1@151", "source.1@330"))
    assert complaints(out) == []
    assert len(summary["failures"]) == 3
    assert len(written(out)) == 2000


def test_both_layouts_of_deltas_bring_the_same_to_the_same_sinks(tmp_path: Path) -> None:
    for layout in ("flat", "grouping"):
        recorded(tmp_path / layout, delta_layout=layout, depth=4, kills=("map-1.0@150+map-2.1@151",))
        assert complaints(tmp_path / layout) == []
    assert written(tmp_path / "flat") == written(tmp_path / "grouping")
    deltas = [
        b"".join(p.read_bytes() for p in (tmp_path / one).glob("tasks/*/*/sent-*/*.dlt"))
        for one in ("flat", "grouping")
    ]
    assert deltas[0] != deltas[1]


@pytest.mark.parametrize("layout", ["flat", "grouping"])
@pytest.mark.parametrize("spill", ["memory", "eager", "availability", "oldest"])
def test_under_every_policy_and_layout_failures_leave_the_same_in_the_sinks(
    tmp_path: Path, spill: str, layout: str
) -> None:
    out = tmp_path / "out"
    disk: dict[str, Any] = {} if spill == "memory" else {"in_flight_pool": 8, "disk_mib_s": 4.0}
    kills = ("map-1.0@150+map-2.1@151", "source.1@330", "map-2.0@700")
    summary = recorded(
        out,
        spill=spill,
        delta_layout=layout,
        depth=4,
        kills=kills,
        buffer_bytes=512,
        **disk,
    )
    assert complaints(out) == []
    assert len(summary["failures"]) == 4
    assert len(written(out)) == 2000 and set(written(out).values()) == {1}
    assert json.loads((out / "job.json").read_text())["protocol"]["spill"] == spill
    assert (summary["logs"]["spilled_bytes"] > 0) == (spill != "memory")
    assert (summary["logs"]["reloaded_bytes"] > 0) == (spill != "memory")
    bundle = open_bundle(out)
    assert {replay(bundle, failure=n).verdict for n in range(4)} == {"identical"}


def test_a_spilling_recording_is_the_same_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        recorded(tmp_path / name, spill="availability", in_flight_pool=8, buffer_bytes=512, kills=("map-1.0@310",))
    assert members(tmp_path / "a") == members(tmp_path / "b")


def test_a_job_with_more_determinants_than_its_pool_holds_ends_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(PoolExhausted, match=r"the determinant pool of \S+ is full: .* timestamp determinants"):
        recorded(tmp_path / "out", determinant_pool_mib=0.05, checkpoint_interval_ms=5000)
    assert list(tmp_path.iterdir()) == []


def test_a_recovery_is_recorded_from_failure_to_running(tmp_path: Path) -> None:
    out = tmp_path / "out"
    recorded(out, kills=("map-1.0@310",))
    states = [one["to"] for one in events(out, "recovery-state")]
    assert states == ["WaitingConnections", "WaitingDeterminants", "Replaying", "Running"]
    assert any(one["logs"] for one in events(out, "determinants-received"))
    assert set(written(out).values()) == {1}


def test_a_sink_that_fails_repeats_what_it_wrote_since_the_checkpoint(tmp_path: Path) -> None:
    out = tmp_path / "out"
    recorded(out, kills=("sink.0@310",))
    assert set(written(out).values()) == {1, 2}
    assert len(written(out)) == 2000


def test_a_kill_long_after_the_last_record_still_makes_a_failure(tmp_path: Path) -> None:
    out = tmp_path / "out"
    recorded(out, events=100, kills=("sink.1@20000",))
    assert [one["task"] for one in events(out, "task-failed")] == ["sink.1"]
    assert len(events(out, "checkpoint-completed")) < 10


def test_failures_of_one_blow_name_the_first(tmp_path: Path) -> None:
    out = tmp_path / "out"
    recorded(out, kills=("map-1.0@310+source.1@310",))
    assert [one["together"] for one in events(out, "task-failed")] == [0, 0]


def test_a_task_is_killed_in_the_recovery_state_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "out"
    summary = recorded(out, kills=("map-1.0@310",), kills_in=("map-1.0:Replaying", "sink.0:Replaying"))
    failed = events(out, "task-failed")
    assert [(one["task"], one["attempt"]) for one in failed] == [("map-1.0", 0), ("map-1.0", 1)]
    before = [one for one in events(out, "recovery-state") if one["n"] < failed[1]["n"]]
    assert before[-1]["to"] == "Replaying"
    assert summary["kills_not_made"] == ["sink.0:Replaying"]


def test_past_the_sharing_depth_everything_is_rolled_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    recorded(out, depth=4, sharing_depth=1, kills=("map-1.0@310+map-2.0@310",))
    assert events(out, "escalated")
    (rollback,) = events(out, "global-rollback")
    begun = [one for one in events(out, "attempt-started") if one.get("rollback") == rollback["n"]]
    assert len(begun) == 8
    assert len(written(out)) == 2000


def test_without_standbys_a_task_is_rescheduled_on_another_host(tmp_path: Path) -> None:
    out = tmp_path / "out"
    recorded(out, standby=0, kills=("map-1.0@310",))
    (failed,), (rescheduled,) = events(out, "task-failed"), events(out, "task-rescheduled")
    assert failed["host"] != rescheduled["host"]
    assert not events(out, "standby-activated")


@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.gz"])
def test_the_suffix_names_the_container(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"bundle{suffix}"
    recorded(out, events=50)
    assert out.is_file()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"protocol": "unaligned"}, "--protocol unaligned isn't built in yet"),
        ({"protocol": "magic"}, "unknown"),
        ({"sink": "hopeful"}, "--sink is 'hopeful', which is unknown"),
        ({"job": "nexmark-q12", "time": "event"}, "nexmark-q12 doesn't run on event time"),
        ({"time": "lunar"}, "--time is 'lunar'"),
        ({"record_bytes": 200}, "--record-bytes means nothing to pass-through"),
        ({"job": "nexmark-q1", "depth": 2}, "nexmark-q1 has 3 vertices in a row"),
        ({"spill": "never"}, "--spill is 'never', which is unknown"),
        ({"in_flight_pool": 0}, "--in-flight-pool is 0"),
        ({"spill_threshold": 1.0}, "--spill-threshold is 1.0"),
        ({"on_lost": "despair"}, "--on-lost is 'despair', which is unknown"),
        ({"delta_layout": "nested"}, "--delta-layout is 'nested', which is unknown"),
        ({"determinant_pool_mib": 0.0}, "--determinant-pool-mib is 0.0"),
        ({"kills": ("map-1.0",)}, "TASK@MS"),
        ({"kills_in": ("map-1.0:Sleeping",)}, "TASK:STATE"),
        ({"kills": ("map-9.0@5",)}, "no task 'map-9.0'"),
        ({"kills": ("map-1.0@-5",)}, "TASK@MS"),
        ({"kills": ("map-1.0@nan",)}, "TASK@MS"),
        ({"kills": ("map-1.0@99999999999999999999",)}, "between 0 and 86400000 ms"),
        ({"kills": ("map-1.0@" + "9" * 400,)}, "between 0 and 86400000 ms"),
        ({"kills": ("map-1.0@5+",)}, "TASK@MS"),
        ({"job": "nexmark-q99"}, "no job 'nexmark-q99'"),
        ({"depth": 1}, "--depth is 1"),
        ({"parallelism": 0}, "--parallelism is 0"),
    ],
)
def test_what_it_cannot_do_is_refused_and_leaves_nothing(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(WrongOption) as refused:
        recorded(tmp_path / "out", **options)
    assert says in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_is_written_down_without_defaults() -> None:
    options = RecordOptions(seed=7, sharing_depth=1, kills=("map-1.0@310", "sink.0@400"))
    assert options.command() == "record pass-through --seed 7 --sharing-depth 1 --kill map-1.0@310 --kill sink.0@400"


def test_the_command_line_can_be_given_again_as_it_is_written_down() -> None:
    options = RecordOptions(kills=("map-1.0@310 + sink.0@310",))
    assert options.command() == "record pass-through --kill map-1.0@310+sink.0@310"


@pytest.mark.parametrize("text", ["-1", "\u00b2", "1.5", "", "9" * 5000])
def test_a_sharing_depth_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(WrongOption, match="--sharing-depth"):
        parse_sharing_depth(text)


def test_a_sharing_depth_is_a_number_or_full() -> None:
    assert (parse_sharing_depth("full"), parse_sharing_depth("0"), parse_sharing_depth("2")) == (None, 0, 2)
    with pytest.raises(ReplayError, match="--sharing-depth"):
        parse_sharing_depth("deep")
