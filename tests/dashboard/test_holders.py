"""Who held how much at a moment, against what plain Python derives from the bundle."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dashboard.queries.determinants import LogEpoch
from dashboard.queries.holders import holders_at
from ingest.lake.readers import Lake
from replay.bundle.reader import open_bundle
from replay.causality.holders import holders
from replay.model import WORLD
from tests.ingest.inprocess import ingested_here
from tests.ingest.test_causal_tables import packed


@pytest.mark.parametrize("seed", range(1, 9))
def test_holders_at_a_moment_are_those_of_the_recording(seed: int, tmp_path: Path) -> None:
    pack, rng = packed(seed, tmp_path), random.Random(seed)
    ingested_here(pack, tmp_path / "data")
    lake = Lake(tmp_path / "data")
    with open_bundle(pack) as bundle:
        growths = [one for task in bundle.tasks() for one in holders(bundle, task).growths]
        began = [event for event in bundle.events() if event["type"] == "attempt-started"]
    for one in rng.sample(growths, min(20, len(growths))):
        t_us = one.t_us + rng.choice((-1, 0, 0, 1, 5000))
        expected = {}
        for other in growths:
            if other.t_us <= t_us and (other.task, other.attempt, other.thread, other.epoch) == (
                one.task, one.attempt, one.thread, one.epoch,
            ):  # fmt: skip
                key = str(other.holder), other.holder_attempt
                expected[key] = max(expected.get(key, 0), other.upto)
        found = holders_at(lake, job="j_1", log=LogEpoch(one.task, one.attempt, one.thread, one.epoch), t_us=t_us)
        assert {(h.holder, h.holder_attempt): h.upto for h in found} == expected, f"seed {seed}, {one} at {t_us}"
        for held in found:
            latest = [e["attempt"] for e in began if e["task"] == held.holder and e["t_us"] <= t_us]
            there = held.holder == WORLD or held.holder_attempt >= max(latest, default=0)
            assert held.there == there, f"seed {seed}, {held} at {t_us}"
        assert found == sorted(found, key=lambda h: (not h.there, -h.upto, h.holder, h.holder_attempt))
