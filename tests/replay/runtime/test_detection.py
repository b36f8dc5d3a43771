"""Detection: by connection where a neighbour lives, by heartbeat where none does, and once in either case."""

from __future__ import annotations

from collections import Counter

import pytest

from replay.errors import ReplayError
from replay.model import TaskId
from replay.runtime.costs import Costs
from replay.runtime.failing.kills import Blow, Kill, KillIn
from tests.replay.runtime.runs import run

MAP = Blow((Kill(TaskId("map-1.0"), 100),))


def test_a_connection_tells_of_a_failure_before_a_heartbeat_does() -> None:
    done = run(blows=[MAP])
    (failed,), (detected,) = done.of("task-failed"), done.of("failure-detected")
    assert detected["by"] == "connection"
    assert detected["t_us"] - failed["t_us"] < 10_000


@pytest.mark.parametrize(("heartbeat_us", "timeout_us"), [(5_000, 12_000), (20_000, 50_000)])
def test_where_connections_break_late_a_heartbeat_is_missed(heartbeat_us: int, timeout_us: int) -> None:
    costs = Costs(loss_notice_us=10_000_000, heartbeat_us=heartbeat_us, heartbeat_timeout_us=timeout_us)
    for seed in range(4):
        done = run(seed=seed, blows=[MAP], costs=costs, jitter=0.2)
        (failed,), (detected,) = done.of("task-failed"), done.of("failure-detected")
        assert detected["by"] == "heartbeat"
        # The last heartbeat had left up to an interval before, and was half a round trip under way.
        waited_us = detected["t_us"] - failed["t_us"]
        assert timeout_us - heartbeat_us <= waited_us <= timeout_us + costs.rtt_us, f"seed {seed}"
        assert done.violations() == []


def test_all_tasks_in_one_blow_are_found_by_their_heartbeats() -> None:
    """Nobody is left to see a connection break."""
    tasks = [f"{vertex}.{i}" for vertex in ("source", "map-1", "sink") for i in range(2)]
    blow = Blow(tuple(Kill(TaskId(task), 100) for task in tasks))
    done = run(blows=[blow], costs=Costs(heartbeat_us=5_000, heartbeat_timeout_us=12_000))
    assert {one["by"] for one in done.of("failure-detected")} == {"heartbeat"}
    assert done.violations() == []


@pytest.mark.parametrize("window_us", [0, 1_000, 200_000])
def test_a_failure_is_detected_once_whatever_the_window(window_us: int) -> None:
    costs = Costs(detection_window_us=window_us, heartbeat_us=5_000, heartbeat_timeout_us=12_000)
    done = run(parallelism=3, blows=[MAP], kills_in=[KillIn(TaskId("map-1.0"), "Replaying")], costs=costs)
    detected = Counter(one["failure"] for one in done.of("failure-detected"))
    assert detected == {0: 1, 1: 1}
    assert done.engine.failures.detection.signals_ignored >= 4
    first, second = done.of("failure-detected")
    assert second["t_us"] - first["t_us"] >= window_us
    assert (second["by"] == "heartbeat") >= (window_us == 200_000)
    assert done.violations() == []


def test_a_timeout_before_the_next_heartbeat_is_refused() -> None:
    with pytest.raises(ReplayError, match="before the next one can come"):
        run(costs=Costs(heartbeat_us=50_000, heartbeat_timeout_us=50_000))


def test_the_phases_of_a_recovery_follow_one_another() -> None:
    done = run(blows=[MAP], events=1500, rate_per_s=1000)
    phases = done.engine.failures.all[0].phases.in_order()
    assert list(phases)[-1] == "caught-up"
    assert {"failed", "detected", "replaced", "restored", "WaitingDeterminants", "Replaying", "Running"} <= set(phases)
    steps = [phases[name] for name in ("failed", "detected", "replaced", "started", "WaitingDeterminants", "Replaying")]
    assert steps == sorted(steps)
    assert phases["Replaying"] <= phases["Running"] <= phases["caught-up"]
