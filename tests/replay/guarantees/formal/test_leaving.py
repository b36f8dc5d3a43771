"""What left before it was recoverable, against an oracle that looks at every output and every log by itself."""

from __future__ import annotations

import random

import pytest

from replay.bundle.reader import Bundle
from replay.causality.frontiers import frontiers
from replay.causality.holders import holders
from replay.causality.life import ENDED_WITH_RECORDING, lives
from replay.guarantees.formal import formal
from replay.guarantees.formal.leaving import leaving
from replay.guarantees.formal.outputs import outputs
from replay.model import MAIN
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import bundle_of, world_of


def early_by_hand(bundle: Bundle) -> set[str]:
    """The outputs whose sink had followed a log of a task above further than any other task that lived held it."""
    completed = [(one["t_us"], one["checkpoint"]) for one in bundle.events() if one["type"] == "checkpoint-completed"]
    spans = {
        (one.task, one.attempt): (one.started_us, 1 << 60 if one.ended_by == ENDED_WITH_RECORDING else one.ended_us)
        for those in lives(bundle.events()).values()
        for one in those
    }
    rows = frontiers(bundle)
    growths = {task: holders(bundle, task).growths for task in bundle.graph.order}
    found = set()
    for one in outputs(bundle):
        for row in rows:
            stable = any(t_us <= one.t_us and checkpoint > row.epoch for t_us, checkpoint in completed)
            mine = (row.task, row.attempt) == (one.task, one.attempt) and row.t_us <= one.t_us
            if not mine or row.thread != MAIN or stable:
                continue
            held = max(
                (
                    grown.upto
                    for grown in growths[row.of_task]
                    if (grown.thread, grown.epoch) == (MAIN, row.epoch) and grown.t_us <= one.t_us
                    # Who failed in that very microsecond held it no more.
                    if spans[grown.holder, grown.holder_attempt][1] > one.t_us
                ),
                default=0,
            )
            if row.upto > held:
                found.add(one.evidence)
    return found


@pytest.mark.parametrize("seed", [0, 1, 5, 6, 7, 9, 11, 13])
def test_what_left_early_is_what_an_oracle_finds(seed: int) -> None:
    """Logs travel one hop, so that what a task chose is gone with those who take from it."""
    draw = random.Random(seed)
    vertex = f"map-{draw.randint(1, 3)}"
    kills = "+".join(f"{vertex}.{n}@{40 + 10 * draw.randint(0, 4)}" for n in range(2))
    bundle = bundle_of(failing(kills, seed=seed, depth=5, sharing_depth=1, events=200, checkpoint_interval_ms=500))
    found = leaving(bundle)
    early = {one.output for one in found.early if not one.own}
    assert early == early_by_hand(bundle), seed
    assert found.by_others == len(early)
    if vertex != "map-1":
        above = ("source.", f"map-{int(vertex[-1]) - 1}.")
        assert early and found.early[0].task.startswith(above) and found.early[0].choice.startswith("det:"), seed


@pytest.mark.parametrize("seed", [20, 28, 35, 38, 89, 13])
def test_with_all_determinants_shared_nothing_leaves_before_what_is_above_its_sink_is_held(seed: int) -> None:
    world, members = world_of(seed)
    assert world.manifest.protocol.name == "clonos" and world.manifest.protocol.sharing_depth is None
    assert leaving(bundle_of(members)).by_others == 0, seed


@pytest.mark.parametrize("options", [{}, {"protocol": "coordinated"}, {"protocol": "optimistic"}, {"sharing_depth": 0}])
def test_what_is_committed_with_a_checkpoint_leaves_when_all_is_recoverable(options: dict[str, object]) -> None:
    found = leaving(bundle_of(failing("map-1.0@115", sink="transactional", **options)))
    assert found.total > 0 and not found.early and not found.lacks


@pytest.mark.parametrize("options", [{"protocol": "coordinated"}, {"sharing_depth": 0}])
def test_without_logs_what_leaves_between_checkpoints_leaves_early_and_the_first_take_is_named(
    options: dict[str, object],
) -> None:
    found = leaving(bundle_of(failing("map-1.0@115", **options)))
    assert found.by_others == found.total > 0
    assert found.early[0].choice.startswith("receipt:") and found.early[0].kind == "the order of its inputs"


def test_a_storage_that_is_written_later_holds_nothing_yet() -> None:
    found = leaving(bundle_of(failing("map-1.0@115", protocol="optimistic")))
    assert found.by_others == found.total and found.early[0].choice.startswith("det:map-1.0/0/main/0#")


def test_where_outputs_wait_for_the_storage_nothing_is_guessed() -> None:
    found = leaving(bundle_of(failing("map-1.0@115", protocol="pessimistic")))
    assert not found.early and found.lacks


def test_what_would_take_too_long_is_not_followed_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replay.guarantees.formal.leaving.MOST_FOLLOWED", 100)
    bundle = bundle_of(failing("map-1.0@115"))
    found = leaving(bundle)
    assert not found.early and [wants for _, wants in found.lacks] == ["a shorter recording"]
    section = formal(bundle)
    assert (section.verdict, section.good) == ("undecided", None)
