"""The papers' worked examples. Their figures are not in the texts, so each test says which diagram it assumes."""

from __future__ import annotations

import pytest

from replay.causality.holders import holders
from replay.guarantees.cuts.cuts import Cuts
from replay.guarantees.cuts.pattern import (
    Message,
    Pattern,
    checkpoint_graph,
    line_by_checkpoints,
    line_by_dependencies,
    rollback_dependency_graph,
)
from replay.guarantees.cuts.section import consistent_cuts
from replay.guarantees.cuts.zigzag import z_cycles, z_path
from replay.guarantees.formal.folding import Determinant, Entered, Fold, Held, Saved, concatenation
from replay.guarantees.recoverability.log_walk import LogWalk, Step
from replay.guarantees.recoverability.port import Place
from replay.model import MAIN, TaskId
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import bundle_of

HOLDS, DEPENDS, ENDS = 0, 1, 2


def test_figure_2_3_of_clonos_a_state_that_received_what_was_not_sent_makes_a_cut_inconsistent() -> None:
    """Assumed: S_i is the state of P_i. P0 sends m to P1 after S0, and P1 has it in S1; P1 sends n to P2 before S1, and
    P2 has it after S2 only."""
    pattern = Pattern({"P0": 1, "P1": 1, "P2": 1}, (Message("m", "P0", 2, "P1", 1), Message("n", "P1", 1, "P2", 2)))
    cut = {"P0": 1, "P1": 1, "P2": 1}
    assert [one.name for one in pattern.orphans(cut)] == ["m"]
    assert [one.name for one in pattern.in_transit(cut)] == ["n"]
    assert Pattern({"P1": 1, "P2": 1}, pattern.messages[1:]).is_consistent({"P1": 1, "P2": 1})
    assert pattern.recovery_line(cut) == {"P0": 1, "P1": 0, "P2": 1}


def _figure_2_4() -> Pattern:
    """Assumed: messages go round, each sent before the one that its sender receives in the same interval. m4 from P1 to
    P0, m3 from P0 to P2, and so on back to the beginning."""
    round_trip = [
        Message("m4", "P1", 3, "P0", 3),
        Message("m3", "P0", 3, "P2", 2),
        Message("m2", "P2", 2, "P1", 2),
        Message("m1", "P1", 2, "P0", 2),
        Message("m0", "P0", 2, "P2", 1),
        Message("m-1", "P2", 1, "P1", 1),
        Message("m-2", "P1", 1, "P0", 1),
    ]
    return Pattern({"P0": 3, "P1": 2, "P2": 2}, tuple(round_trip))


def test_figure_2_4_of_clonos_dominoes_fall_to_the_beginning() -> None:
    pattern = _figure_2_4()
    line = {"P0": 3, "P1": 2, "P2": 2}
    assert [one.name for one in pattern.orphans(line)] == ["m4"]
    assert [one.name for one in pattern.orphans(line | {"P0": 2})] == ["m3"]
    assert [one.name for one in pattern.orphans(line | {"P0": 2, "P2": 1})] == ["m2"]
    assert pattern.recovery_line(line) == {"P0": 0, "P1": 0, "P2": 0}
    assert pattern.passed(line, pattern.recovery_line(line)) == {"P0": 3, "P1": 2, "P2": 2}


def test_figure_2_4_of_clonos_until_the_chain_of_messages_ends() -> None:
    """The same, had m2 never been sent: it stops where the text stops telling."""
    pattern = _figure_2_4()
    short = Pattern(pattern.last, pattern.messages[:2])
    assert short.recovery_line({"P0": 3, "P1": 2, "P2": 2}) == {"P0": 2, "P1": 2, "P2": 1}


def test_figure_2_5_of_clonos_what_is_in_a_checkpoint_is_stable_and_a_survivor_tells_the_rest() -> None:
    """Assumed: P2 has delivered m2, taken a checkpoint to give something to the outside, then delivered m5 and m6, and
    sent P1 a message with #m5 and #m6. P0 has a message of P2 from after the checkpoint, so no #m2. P2 fails."""
    m2, m5, m6 = (Entered(n, 0, name) for n, name in enumerate(("m2", "m5", "m6")))
    flow = Fold(("m2", "m5", "m6"), concatenation(9), "")
    checkpoint = Saved(Held("m2", (m2,)))
    told_by_p1 = (Determinant(1, m5), Determinant(2, m6))
    recovered = list(flow.reprocessing((m2, m5, m6), (checkpoint, *told_by_p1)))
    states = [one for working in recovered for one in working if isinstance(one, Held)]
    assert [one.of for one in states] == [(m2, m5, m6)]
    # Without the checkpoint #m2 would have had to be held too; without P1 nobody knew what came first.
    assert len(list(flow.reprocessing((m2, m5, m6), told_by_p1))) == 1
    assert {
        one.of[0] for working in flow.reprocessing((m2, m5, m6), told_by_p1) for one in working if isinstance(one, Held)
    } == {m2}
    given = tuple(one for one in told_by_p1 if one.place == 2)
    assert len(list(flow.reprocessing((m2, m5, m6), (checkpoint, *given)))) == 1


def test_figure_2_5_of_clonos_p2_alone_may_fail_and_p2_with_p1_orphans_who_depends_on_it() -> None:
    """As above, with P0 depending on m6 through P1, and holding nothing of it."""
    walk = LogWalk(Place("P2", MAIN, 1), {})
    for step in (
        Step(0, HOLDS, ("P2", 0), 1 << 60),
        Step(1, HOLDS, ("P1", 0), 2),
        Step(1, DEPENDS, ("P1", 0), 2),
        Step(2, DEPENDS, ("P0", 0), 2),
    ):
        walk.take(step)
    assert walk.sizes().tasks == 2
    walk.take(Step(3, ENDS, ("P2", 0), 0))
    assert walk.sizes().tasks == 1


@pytest.mark.parametrize("depth", [1, 2, None])
def test_figure_3_6_of_clonos_determinants_go_as_deep_as_they_are_shared_and_an_outputs_log_only_its_own_way(
    depth: int | None,
) -> None:
    """Assumed: source, map 1, map 2, sink, two of each; source.0 has an output to either map 1, that one goes on to one
    map 2 alone, and that one to one sink."""
    options = {} if depth is None else {"sharing_depth": depth}
    bundle = bundle_of(failing(depth=4, checkpoint_interval_ms=1_000, **options))
    graph = bundle.graph
    source = TaskId("source.0")
    growths = holders(bundle, source).growths
    reached = {one.holder for one in growths if one.thread == MAIN}
    assert reached == {
        task for task in graph.all_downstream(source) if depth is None or (graph.distance(source, task) or 0) <= depth
    }
    first_ways = []
    for k, below in enumerate(graph.downstream(source)):
        its_way = {below, *graph.all_downstream(below)} & reached
        assert {one.holder for one in growths if one.thread == f"out-{k}"} == its_way
        first_ways.append(below)
    assert len(first_ways) == 2 and first_ways[0] not in {one.holder for one in growths if one.thread == "out-1"}


def test_figure_3_10_of_clonos_a_checkpoint_that_a_failure_meets_is_ignored_downstream_and_never_a_cut() -> None:
    """Assumed: two sources, map 1 and map 2 (both of one vertex here), two sinks. Map 2 fails while a checkpoint is
    pending, so the sinks hold the channels from map 1 and wait for a barrier that is far away."""
    bundle = bundle_of(failing("map-1.1@122", depth=3, checkpoint_interval_ms=60))
    events = list(bundle.events())
    ignored = [one for one in events if one["type"] == "checkpoint-ignored"]
    assert {one["task"] for one in ignored} == {"sink.0", "sink.1"}
    checkpoint = ignored[0]["checkpoint"]
    completed = [one["checkpoint"] for one in events if one["type"] == "checkpoint-completed"]
    assert checkpoint not in completed and any(one > checkpoint for one in completed)
    section = consistent_cuts(bundle)
    assert section.verdict == "consistent"
    assert [one["checkpoint"] for one in section.numbers["checkpoints"]] == completed
    # Whoever had passed that barrier has a snapshot of it; with those that ignored it there is no whole one.
    cuts = Cuts.of(bundle)
    assert None in cuts.snapshots(checkpoint).values()


def test_figure_3_3_of_checkpointing_an_orphan_makes_the_latest_checkpoint_useless() -> None:
    """Section 3.2.2. Assumed: P2 sends m after C_2,1, and P1 has it before C_1,2."""
    pattern = Pattern({"P1": 2, "P2": 1}, (Message("m", "P2", 2, "P1", 2),))
    latest = {"P1": 2, "P2": 1}
    assert [one.name for one in pattern.orphans(latest)] == ["m"]
    line = pattern.recovery_line(latest)
    assert line == {"P1": 1, "P2": 1}
    assert pattern.passed(latest, line) == {"P1": 1, "P2": 0}


def test_figure_3_4_of_checkpointing_both_graphs_lead_to_one_line() -> None:
    """Assumed: three processes with two checkpoints each; m1 from P1's second interval to P2's second, m2 from P2's
    last to P3's second, m3 from P3's first to P1's first. In both an edge leads on to a process's next checkpoint."""
    pattern = Pattern(
        {"P1": 2, "P2": 2, "P3": 2},
        (Message("m1", "P1", 2, "P2", 2), Message("m2", "P2", 3, "P3", 2), Message("m3", "P3", 1, "P1", 1)),
    )
    dependencies, checkpoints = rollback_dependency_graph(pattern), checkpoint_graph(pattern)
    assert dependencies["P1", 2] == {("P1", 3), ("P2", 2)}
    assert checkpoints["P1", 1] == {("P1", 2), ("P2", 2)}
    assert dependencies["P2", 3] == {("P3", 2)} and ("P3", 2) in checkpoints["P2", 2]
    start = {"P1": 2, "P2": 2, "P3": 2}
    assert pattern.recovery_line(start) == {"P1": 2, "P2": 2, "P3": 1}
    assert line_by_dependencies(pattern, start) == line_by_checkpoints(pattern, start) == pattern.recovery_line(start)


def test_figure_3_5_of_checkpointing_all_checkpoints_become_useless() -> None:
    """Assumed: in every interval P2 sends to P1 after its checkpoint, then P1 to P2 after its own, and so on down."""
    pattern = Pattern(
        {"P1": 2, "P2": 2},
        (
            Message("m4", "P2", 3, "P1", 2),
            Message("m3", "P1", 2, "P2", 2),
            Message("m2", "P2", 2, "P1", 1),
            Message("m1", "P1", 1, "P2", 1),
        ),
    )
    latest = {"P1": 2, "P2": 2}
    assert [one.name for one in pattern.orphans(latest)] == ["m4"]
    assert [one.name for one in pattern.orphans({"P1": 1, "P2": 2})] == ["m3"]
    line = pattern.recovery_line(latest)
    assert line == {"P1": 0, "P2": 0} and pattern.passed(latest, line) == {"P1": 2, "P2": 2}


def test_figure_3_6_of_checkpointing_two_z_paths_connect_two_checkpoints() -> None:
    """Assumed: m2 and m3 leave P1 after C_1,1 and come to P2 in the interval in which m4 leaves it, before or after; m4
    comes to P3 before C_3,3. m1 has nothing to do with it."""
    messages = {
        "m1": Message("m1", "P3", 1, "P2", 1),
        "m2": Message("m2", "P1", 2, "P2", 2),
        "m3": Message("m3", "P1", 2, "P2", 2),
        "m4": Message("m4", "P2", 2, "P3", 3),
    }
    last = {"P1": 2, "P2": 2, "P3": 3}
    for other in ("m2", "m3"):
        kept = tuple(one for name, one in messages.items() if name not in {"m2", "m3"} - {other})
        path = z_path(Pattern(last, kept), ("P1", 1), ("P3", 3))
        assert path is not None and [one.name for one in path] == [other, "m4"]
    assert z_path(Pattern(last, tuple(messages.values())), ("P1", 2), ("P3", 3)) is None
    # A message may leave in a later interval than the one in which the last arrived.
    later = Message("m4", "P2", 3, "P3", 3)
    assert z_path(Pattern(last, (messages["m3"], later)), ("P1", 1), ("P3", 3)) is not None
    earlier = Message("m4", "P2", 1, "P3", 3)
    assert z_path(Pattern(last, (messages["m3"], earlier)), ("P1", 1), ("P3", 3)) is None


def test_figure_3_7_of_checkpointing_a_checkpoint_on_a_z_cycle_is_on_no_line() -> None:
    """Assumed: P2 sends m2 after C_2,1; P1 gets it in the interval in which it sent m1, which P2 got before that."""
    pattern = Pattern({"P1": 2, "P2": 1}, (Message("m1", "P1", 2, "P2", 1), Message("m2", "P2", 2, "P1", 2)))
    cycles = z_cycles(pattern)
    assert {node: [one.name for one in path] for node, path in cycles.items()} == {("P2", 1): ["m2", "m1"]}
    assert not any(pattern.is_consistent({"P1": at, "P2": 1}) for at in range(4))
