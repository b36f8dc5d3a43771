"""Random command lines of `record` over every job, protocol and sink: all that they record replays as it was."""

from __future__ import annotations

import pytest

from replay.jobs.catalogue import JOBS
from replay.simulation.commands import random_options
from replay.simulation.replays import replays_of

pytestmark = pytest.mark.slow

BLOCK = 7
LAST = 70


@pytest.mark.parametrize("first", range(0, LAST, BLOCK))
def test_everything_that_was_recorded_replays_as_it_was(first: int) -> None:
    for seed in range(first, first + BLOCK):
        found = replays_of(seed)
        assert not found.faults, f"seed {seed}: {found.command}\n" + "\n".join(found.faults)
        assert found.verdicts.total() and found.attempts["identical"] + found.attempts["unknown"]


def test_a_snapshot_of_an_attempt_that_cut_what_nobody_knew_of_binds_no_later_one() -> None:
    """Its last buffer was lost with its determinant; the attempts after it cut another number, and went on."""
    found = replays_of(80312)
    assert not found.faults, f"seed 80312: {found.command}\n" + "\n".join(found.faults)


def test_the_command_lines_meet_every_job_protocol_sink_and_way_to_fail() -> None:
    drawn = [random_options(seed) for seed in range(LAST)]
    assert {one.job for one in drawn} == set(JOBS)
    assert {one.protocol for one in drawn} == {"clonos", "none", "pessimistic", "optimistic", "coordinated"}
    assert {one.sink for one in drawn} == {"plain", "transactional", "idempotent", "determinant"}
    assert {one.on_lost for one in drawn} == {"rollback", "continue"}
    assert {one.sharing_depth for one in drawn} >= {None, 0, 1, 2}
    assert any(one.suspects for one in drawn) and any(one.kills_in for one in drawn)
    assert any("+" in kill for one in drawn for kill in one.kills)
    assert any(kill.startswith("host-") for one in drawn for kill in one.kills)


def test_a_command_line_is_drawn_from_its_seed_alone() -> None:
    assert [random_options(seed).command() for seed in range(20)] == [
        random_options(seed).command() for seed in range(20)
    ]
