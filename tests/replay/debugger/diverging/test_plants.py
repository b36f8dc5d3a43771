"""Planted corruptions in random recordings: each is named where it is; what can't be told is listed, with the why."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from replay.bundle.frames import read_buffers
from replay.debugger.agreeing.transactions import check_flushed, check_transactions
from replay.debugger.outcome import DivergenceFound
from replay.debugger.replay import replay
from replay.errors import ReplayError
from tests.replay.debugger.diverging.plants import (
    EVENTS,
    PLANTERS,
    judged,
    planted,
    recording_of_plant,
    verdict_of,
)
from tests.replay.debugger.diverging.traceless import why_no_trace
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

NOT_DECIDABLE = {
    70: "the last record that an attempt read: no buffer was cut with it, and no other attempt read it",
}
"""By seed. Nothing else in those recordings depends on what was changed."""


@pytest.mark.parametrize("seed", range(36, 36 + 4 * len(PLANTERS)))
def test_a_planted_corruption_is_named_where_it_is(seed: int) -> None:
    while (plant := planted(seed)) is None:  # that recording has nothing of the kind
        seed += len(PLANTERS)
    outcome, sentence = verdict_of(plant)
    how = judged(plant, outcome, sentence)
    where = f"seed {seed}: {plant.kind} in {plant.member}, {plant.start} to {plant.end}: {sentence}"
    if seed in NOT_DECIDABLE:
        assert how == "not noticed", where
        return
    assert how == "precisely", where
    assert outcome is None or outcome.exit_status == 3, where
    if outcome is not None and outcome.verdict == "diverged":
        assert outcome.detail["reason"]["code"] in ("corrupt-recording", "undecided"), where
    assert plant.member != EVENTS or "vent" in sentence, where


UNNOTICED_BEFORE = (400027, 400045, 400060, 600292, 600404, 5500036, 91000000)
NAMED_ROUGHLY_BEFORE = (400005, 400015, 400033, 600022, 600023, 600445, 1200475, 5500012, 5500017, 5500145, 5500178)


@pytest.mark.parametrize("seed", [*UNNOTICED_BEFORE, *NAMED_ROUGHLY_BEFORE])
def test_what_was_passed_over_once_is_named_where_it_is(seed: int) -> None:
    """Of seeds that nobody had looked at: events, a time, a count, the end of a member, a log's determinants."""
    plant = planted(seed)
    assert plant is not None
    outcome, sentence = verdict_of(plant)
    assert judged(plant, outcome, sentence) == "precisely", f"seed {seed}: {plant.kind}: {sentence}"


def test_no_plant_counts_as_without_a_trace_but_by_an_argument_that_its_recording_bears_out() -> None:
    """A buffer that was held back may have been cut a little sooner; and not where something else stands between."""
    seed = 600088
    plant, undamaged = planted(seed), recording_of_plant(seed)
    assert plant is not None and undamaged is not None and plant.kind == "head of a buffer"
    outcome, sentence = verdict_of(plant)
    assert judged(plant, outcome, sentence) == "not noticed"
    assert why_no_trace(undamaged, plant) is not None
    data = undamaged.members[plant.member]
    (_, first), *_ = read_buffers(data, epoch=0)
    sooner = replace(first, t_us=1).to_bytes() + data[len(first.to_bytes()) :]
    assert why_no_trace(undamaged, replace(plant, members=undamaged.with_(plant.member, sooner))) is None


WRONG = (None, -1, 1 << 70, "x", [], {}, True, 1.5, [["a"]], {"b": []})


@pytest.mark.parametrize("sink", ["transactional", "idempotent"])
def test_a_field_of_any_kind_leads_to_a_verdict(sink: str) -> None:
    """Every field of an event and of a snapshot's transactions, with every kind of value, one at a time."""
    members = one_failure(sink=sink)
    lines = members.members[EVENTS].splitlines()
    of_kind = {json.loads(line)["type"]: n for n, line in enumerate(lines)}
    rng = random.Random(f"kinds {sink}")
    for kind, n in sorted(of_kind.items()):
        event = json.loads(lines[n])
        field, wrong = rng.choice(sorted(event.keys() - {"n", "t_us", "type"}) or ["at"]), rng.choice(WRONG)
        changed = json.dumps({**event, field: wrong}, separators=(",", ":")).encode()
        damaged = members.with_(EVENTS, b"\n".join([*lines[:n], changed, *lines[n + 1 :]]) + b"\n")
        _has_a_verdict(damaged, f"{kind}.{field} = {wrong!r}")
    for name in [one for one in members.members if "sink" in one and "/state/" in one]:
        state = json.loads(members.members[name])
        for wrong in WRONG:
            for listed in (wrong, [wrong], [{"epoch": wrong, "txn": wrong, "writes": wrong}]):
                data = json.dumps({**state, "transactions": listed}).encode()
                _checked(members.with_(name, data))


def _has_a_verdict(members: MemoryMembers, where: str) -> None:
    try:
        outcome = replay(bundle_of(members), failure=0)
    except ReplayError as fault:
        assert str(fault).endswith("."), where
        return
    assert outcome.sentence.endswith("."), where


def _checked(members: MemoryMembers) -> None:
    for check in (check_transactions, check_flushed):
        try:
            check(bundle_of(members))
        except DivergenceFound as found:
            assert found.sentence.endswith(".")
