"""Ways through hidden tasks, against a walk from buffer to buffer."""

from __future__ import annotations

from pathlib import Path

from dashboard.queries.spacetime.lanes import Lanes
from dashboard.queries.spacetime.marks import Window
from dashboard.queries.spacetime.through import through
from ingest.lake.readers import Lake
from replay.model import Graph
from tests.dashboard.spacetime.oracle import Oracle, Take
from tests.ingest.inprocess import ingested_here
from tests.ingest.test_causal_tables import packed
from tests.replay.debugger.worlds import bundle_of, world_of

SEED = 17


def test_each_way_leads_to_the_first_that_comes_out(tmp_path: Path) -> None:
    ingested_here(packed(SEED, tmp_path), tmp_path / "data")
    bundle = bundle_of(world_of(SEED)[1])
    graph, oracle = Graph(bundle.manifest), Oracle(bundle)
    inner = {task for task in graph.order if graph.task(task).inputs and graph.task(task).outputs}
    assert inner, "a world without tasks between sources and sinks shows nothing"
    lanes = Lanes.of(graph, folded=(), hidden=inner)
    found, whole = through(Lake(tmp_path / "data"), lanes, job="j_1", window=Window(0, 1 << 53))
    place = lanes.of_tasks()
    names = {number: task for task, number in place.items()}
    assert whole
    assert {(names[a], names[b], taken) for a, _, b, taken in found} == ways(oracle, inner)


def ways(oracle: Oracle, hidden: set[str]) -> set[tuple[str, str, int]]:
    found: set[tuple[str, str, int]] = set()
    waiting: list[tuple[str, Take]] = [
        (one.channel.partition(">")[0], one)
        for one in oracle.takes
        if one.task in hidden and one.channel.partition(">")[0] not in hidden
    ]
    seen = set(waiting)
    while waiting:
        source, take = waiting.pop()
        for one in first_out(oracle, take):
            if one.task not in hidden:
                found.add((source, one.task, one.t_us))
            elif (source, one) not in seen:
                seen.add((source, one))
                waiting.append((source, one))
    return found


def first_out(oracle: Oracle, take: Take) -> list[Take]:
    """Of each output the first buffer at or after it, as each attempt of its receiver took it first."""
    firsts: dict[tuple[str, int], Take] = {}
    for channel in {one.channel for one in oracle.cuts if one.task == take.task}:
        later = [
            one for one in oracle.cuts if (one.channel, one.attempt) == (channel, take.taker) and one.t_us >= take.t_us
        ]
        if not later:
            continue
        # Buffers of one channel that were cut in one microsecond stand in the order of their numbers.
        cut = min(later, key=lambda one: (one.t_us, one.seq))
        for one in oracle.takes:
            if (one.channel, one.attempt, one.seq) != (cut.channel, cut.attempt, cut.seq):
                continue
            known = firsts.get((channel, one.taker))
            if known is None or one.t_us < known.t_us:
                firsts[channel, one.taker] = one
    return list(firsts.values())
