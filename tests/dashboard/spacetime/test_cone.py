"""Causes and effects of buffers against a closure step by step, on random recordings with failures."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dashboard.queries.spacetime.lanes import Lanes
from dashboard.queries.spacetime.marks import Window, marks
from dashboard.queries.spacetime.reach import cone_of
from dashboard.queries.spacetime.selection import selected
from ingest.lake.readers import Lake
from replay.model import Graph
from tests.dashboard.spacetime.oracle import Cut, Oracle, Take
from tests.ingest.inprocess import ingested_here
from tests.ingest.test_causal_tables import packed
from tests.replay.debugger.worlds import bundle_of, world_of

SEEDS = (3, 17, 23)
MARKS = 12


@pytest.mark.parametrize("seed", SEEDS)
def test_causes_and_effects_are_those_of_a_closure_step_by_step(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path, most=MARKS)


def test_no_wider_window_and_no_folding_changes_how_many_are_causes(tmp_path: Path) -> None:
    seed = SEEDS[0]
    ingested_here(packed(seed, tmp_path), tmp_path / "data")
    lake, bundle = Lake(tmp_path / "data"), bundle_of(world_of(seed)[1])
    graph, oracle = Graph(bundle.manifest), Oracle(bundle)
    cut = max(oracle.cuts, key=lambda one: one.t_us)
    one = selected(lake, graph, job="j_1", name=_name(cut))
    assert one is not None
    cone = cone_of(lake, graph, job="j_1", one=one)
    vertices = {vertex.id for vertex in bundle.manifest.vertices}
    for folded in (set[str](), vertices):
        lanes = Lanes.of(graph, folded=folded)
        found = marks(lake, lanes, job="j_1", window=Window(0, 1 << 53), cone=cone)
        assert sum(found["marks"]["past"]) == len(oracle.past(cut))


def check(seed: int, folder: Path, *, most: int) -> int:
    """How many buffers were compared."""
    ingested_here(packed(seed, folder), folder / "data")
    lake, bundle = Lake(folder / "data"), bundle_of(world_of(seed)[1])
    graph, oracle = Graph(bundle.manifest), Oracle(bundle)
    drawn = random.Random(seed).sample(oracle.cuts, min(most, len(oracle.cuts)))
    for cut in drawn:
        compare(lake, graph, oracle, cut, seed)
    return len(drawn)


def compare(lake: Lake, graph: Graph, oracle: Oracle, cut: Cut, seed: int) -> None:
    one = selected(lake, graph, job="j_1", name=_name(cut))
    assert one is not None, (seed, cut)
    cone = cone_of(lake, graph, job="j_1", one=one)

    def is_past(take: Take) -> bool:
        upto = cone.past.get((take.task, take.taker))
        return upto is not None and (take.t_us <= upto.t_us or take.epoch < upto.epoch)

    past = {take for take in oracle.takes if is_past(take)}
    future = {one for one in oracle.cuts if one.seq >= cone.firsts.get((one.channel, one.attempt), 1 << 62)}
    assert past == oracle.past(cut), (seed, cut)
    assert future == oracle.future(cut), (seed, cut)
    assert sum(cone.taken.values()) == len(past), (seed, cut)
    assert sum(cone.sent.values()) == len(future), (seed, cut)


def _name(cut: Cut) -> str:
    return f"buffer:{cut.channel}/{cut.attempt}#{cut.seq}"
