"""Cuts of recorded jobs, against an oracle that goes through all frames, and tries every stand of every task."""

from __future__ import annotations

import random
from itertools import product

import pytest

from replay.bundle.reader import Bundle
from replay.guarantees.cuts.cut import Cut
from replay.guarantees.cuts.cuts import Cuts
from replay.jobs.options import RecordOptions
from replay.jobs.record import run_of
from replay.model import TaskId
from replay.protocols import PROTOCOLS
from replay.runtime.engine import Engine
from replay.runtime.recorder import MemoryMembers as EngineMembers
from tests.replay.debugger.worlds import MemoryMembers
from tests.replay.guarantees.cuts.oracle import Oracle, Place

SEEDS = range(14)


def recorded(seed: int, **options: object) -> tuple[Bundle, int]:
    """A tiny job of three tasks in a row, under some protocol, with failures of any of them."""
    draw = random.Random(seed)
    name = draw.choice(["clonos", "clonos", "clonos", "coordinated", "none", "pessimistic", "optimistic"])
    chosen: dict[str, object] = {
        "job": "pass-through",
        "seed": seed,
        "events": 60,
        "rate_per_s": 2000.0,
        "parallelism": 1,
        "depth": 3,
        "checkpoint_interval_ms": draw.choice([10, 12, 50]),
        "buffer_bytes": 512,
        "protocol": name,
        "sharing_depth": draw.choice([None, None, 0, 1]) if name == "clonos" else None,
        "kills": tuple(
            f"{draw.choice(['source.0', 'map-1.0', 'sink.0'])}@{draw.randint(4, 40)}" for _ in range(draw.randint(0, 3))
        ),
        **options,
    }
    if chosen["sharing_depth"] == 1:
        chosen["on_lost"] = draw.choice(["rollback", "continue"])
    run = run_of(RecordOptions(**chosen), PROTOCOLS)  # type: ignore[arg-type]
    members = EngineMembers()
    Engine(run, members).run()
    files = {one: bytes(data) for one, data in members.members.items()}
    return Bundle(MemoryMembers({**files, "job.json": run.manifest.to_bytes()})), seed


def places_of(cut: Cut) -> dict[TaskId, Place]:
    return {task: (stand.attempt, stand.t_us) for task, stand in cut.stands.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_orphans_and_what_is_in_flight_are_what_the_frames_say(seed: int) -> None:
    bundle, _ = recorded(seed)
    cuts, oracle, draw = Cuts.of(bundle), Oracle(bundle), random.Random(seed)
    for _ in range(12):
        cut = cuts.at(draw.randint(0, cuts.end_us))
        places = places_of(cut)
        expected = {
            channel.id: oracle.orphans(channel, places[channel.source], places[channel.target])
            for channel in bundle.graph.channels
        }
        found: dict[str, list[int]] = {channel.id: [] for channel in bundle.graph.channels}
        for orphan in cuts.orphans(cut):
            found[orphan.channel].append(orphan.seq)
        assert {one: sorted(seqs) for one, seqs in found.items()} == {
            one: [seq for seq, _ in those] for one, those in expected.items()
        }, seed
        on_the_way: dict[str, list[int]] = {channel.id: [] for channel in bundle.graph.channels}
        for some in cuts.in_flight(cut):
            on_the_way[some.channel] += range(some.first, some.last + 1)
        assert {one: sorted(seqs) for one, seqs in on_the_way.items()} == {
            channel.id: oracle.in_flight(channel, places[channel.source], places[channel.target])
            for channel in bundle.graph.channels
        }, seed
        assert cuts.is_consistent(cut) == (not any(expected.values())), seed


@pytest.mark.parametrize("seed", SEEDS)
def test_the_latest_consistent_cut_is_the_latest_of_all_that_are(seed: int) -> None:
    bundle, _ = recorded(seed, events=24)
    cuts, oracle, draw = Cuts.of(bundle), Oracle(bundle), random.Random(-seed)
    first, second = bundle.graph.channels
    for t_us in [draw.randint(0, cuts.end_us) for _ in range(3)]:
        places = {task: oracle.places(task, t_us) for task in bundle.graph.order}
        source, middle, sink = places.values()
        fits_above = {(a, b): not oracle.orphans(first, a, b) for a, b in product(source, middle)}
        fits_below = {(b, c): not oracle.orphans(second, b, c) for b, c in product(middle, sink)}
        best = [
            max(those)
            for those in zip(
                *(
                    (source.index(a), middle.index(b), sink.index(c))
                    for (a, b), fits in fits_above.items()
                    if fits
                    for c in sink
                    if fits_below[b, c]
                ),
                strict=True,
            )
        ]
        cut = cuts.latest_before(t_us)
        # Between two of its events a task stands as at the first of them.
        found = [
            max(n for n, place in enumerate(places[task]) if place[0] == attempt and place[1] <= at)
            for task, (attempt, at) in places_of(cut).items()
        ]
        assert found == best, (seed, t_us)
        assert cuts.is_consistent(cut)


def test_a_buffer_that_no_member_has_is_not_called_an_orphan() -> None:
    bundle, _ = recorded(3, kills=(), protocol="clonos", sharing_depth=None)
    assert isinstance(bundle.members, MemoryMembers)
    lost = Bundle(bundle.members.without("source.0/0/sent-0/0.buf"))
    cuts = Cuts.of(lost)
    first = next(one.taken_us for one in lost.receipts("map-1.0", 0, 0) if one.taken)
    assert cuts.is_consistent(cuts.at(first))
    assert cuts.unknown == ["buffer:source.0>map-1.0/0#0"]


def test_an_attempt_that_is_down_stands_where_it_ended() -> None:
    bundle, _ = recorded(1, protocol="clonos", sharing_depth=None, kills=("map-1.0@20",))
    cuts = Cuts.of(bundle)
    began = next(one for one in bundle.events() if one["type"] == "attempt-started" and one["attempt"] == 1)
    assert cuts.at(began["t_us"] - 1).stands[TaskId("map-1.0")].attempt == 0
    assert cuts.at(began["t_us"]).stands[TaskId("map-1.0")].attempt == 1
