"""Forks and comparisons of damaged recordings: a verdict, a report or one clear sentence, whatever is damaged."""

from __future__ import annotations

from random import Random

import pytest

from replay.debugger.forks import change_of, fork
from replay.debugger.sides.attempts import Side, compare_attempts
from replay.errors import ReplayError
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

OF = ({"failure": 0}, {"task": "map-1.0", "attempt": 0}, {"task": "sink.0", "attempt": 0})
CHANGES = (
    {"change": "lost"},
    {"change": "order"},
    {"change": "value", "value": 4},
    {"change": "holder", "holder": "map-2.0"},
    {"change": "depth", "depth": 1},
    {"change": "failure", "task": "sink.0"},
    {"change": "operator", "operator": "replay.jobs.concat:Concat"},
)


def damaged(draw: Random) -> MemoryMembers:
    members = one_failure()
    for _ in range(draw.choice((1, 1, 2, 5))):
        name = draw.choice(sorted(set(members.members) - {"job.json"}))
        data = bytearray(members.members[name])
        how = draw.choice(("flip", "cut", "gone", "junk"))
        if how == "gone":
            members = members.without(name)
            continue
        if how == "cut":
            data = data[: draw.randrange(len(data) + 1)]
        elif how == "junk":
            data += draw.randbytes(9)
        elif data:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        members = members.with_(name, bytes(data))
    return members


@pytest.mark.parametrize("seed", range(20))
def test_damage_is_told(seed: int) -> None:
    draw = Random(f"damaged {seed}")
    bundle, of, change = bundle_of(damaged(draw)), draw.choice(OF), draw.choice(CHANGES)
    try:
        outcome = fork(bundle, step=draw.randrange(30), change=change_of(change), **of)  # type: ignore[arg-type]
        assert outcome.verdict in ("forked", "unknown") and outcome.sentence
    except ReplayError as fault:
        assert str(fault)
    try:
        report = compare_attempts(Side(bundle, "map-1.0", 0, "one"), Side(bundle, "map-1.0", 1, "other"))
        assert report["sentence"]
    except ReplayError as fault:
        assert str(fault)
