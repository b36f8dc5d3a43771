"""Sets of failures that somebody asks about, against the definition: random tables and random worlds, every moment."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations
from random import Random

import pytest

from replay.errors import WrongSetting
from replay.guarantees.recoverability.course import Course, course_of
from replay.guarantees.recoverability.failing import Failing, failing_of, failing_section, orphaned_by
from replay.guarantees.recoverability.of_bundle import BundleCausality
from replay.guarantees.recoverability.sweep import Rows
from replay.model import Graph
from tests.replay.debugger.worlds import bundle_of, world_of
from tests.replay.guarantees.recoverability.brute_force import WORLD, Definition
from tests.replay.guarantees.recoverability.growing import grown, moments
from tests.replay.guarantees.recoverability.test_sweep import graph_of, rows_of
from tests.replay.guarantees.recoverability.worlds import Remembering, ask_at


class Tables(BundleCausality):
    """Rows and events that no recording holds."""

    def __init__(self, course: Course, rows: Rows, graph: Graph) -> None:
        self.course, self.rows, self._graph = course, rows, graph

    @property
    def graph(self) -> Graph:
        return self._graph


def answers(definition: Definition, t_us: int, failing: Failing) -> bool:
    """Whether it orphans anybody: all who have it fail, and not all who follow from it."""
    sets = definition.sets(t_us)
    if not failing.world:
        sets = [(log, depend - {WORLD}) for log, depend in sets]
    if failing.by == "host":
        hosts = {**definition.hosts(definition.alive(t_us)), WORLD: WORLD}
        sets = [(frozenset(map(hosts.__getitem__, a)), frozenset(map(hosts.__getitem__, b))) for a, b in sets]
    return any(log <= failing.failed and not depend <= failing.failed for log, depend in sets)


def asked(t_us: int, alive: dict[str, int], hosts: dict[str, str]) -> Iterator[Failing]:
    for by, names in (("task", sorted(alive)), ("host", sorted(set(hosts.values())))):
        for size in range(len(names) + 1):
            for some in combinations(names, size):
                yield from (Failing(t_us, frozenset(some), by, world) for world in (False, True))


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_every_set_at_every_moment_of_random_tables(first: int) -> None:
    bad = 0
    for seed in range(first, first + 20):
        made, draw = grown(seed), Random(seed)
        graph = graph_of(made)
        tables = Tables(course_of(made.events, graph), rows_of(made), graph)
        definition = Definition(made.events, made.held, made.depended)
        for t_us in moments(made):
            alive = definition.alive(t_us)
            every = list(asked(t_us, alive, definition.hosts(alive)))
            for one in draw.sample(every, min(len(every), 12)):
                expected = answers(definition, t_us, one)
                assert bool(orphaned_by(tables, one)) == expected, f"seed {seed}: {one}"
                bad += expected
    assert bad > 50


def check_world(seed: int, moments_asked: int = 3) -> int:
    world, members = world_of(seed)
    bundle = bundle_of(members)
    if not bundle.manifest.protocol.logs or len(bundle.tasks()) > 12:
        return 0
    causality, raw, events = BundleCausality(bundle), Remembering(members.members), list(bundle.events())
    draw, definition, bad = Random(seed), Definition(events, [], []), 0
    for t_us in draw.sample(sorted({one["t_us"] for one in events}), moments_asked):
        ask_at(definition, raw, causality, t_us)
        alive = definition.alive(t_us)
        hosts = definition.hosts(alive)
        for one in some_of(draw, t_us, alive, set(hosts.values())):
            expected = answers(definition, t_us, one)
            assert bool(orphaned_by(causality, one)) == expected, f"{one}: {world.reproduce_with}"
            bad += expected
    return bad


def some_of(draw: Random, t_us: int, tasks: Collection[str], hosts: Collection[str]) -> Iterator[Failing]:
    for by, names in (("task", sorted(tasks)), ("host", sorted(hosts))):
        for _ in range(6 if names else 0):
            some = draw.sample(names, draw.randint(1, len(names)))
            yield Failing(t_us, frozenset(some), by, draw.random() < 0.5)


def test_sets_at_moments_of_random_worlds() -> None:
    assert sum(check_world(seed) for seed in range(1, 25))


def test_a_section_names_who_is_left_and_with_what() -> None:
    for seed in range(1, 60):
        _, members = world_of(seed)
        causality = BundleCausality(bundle_of(members))
        if causality.manifest.protocol.name != "clonos" or causality.manifest.protocol.sharing_depth != 1:
            continue
        task = str(causality.graph.order[0])
        found = failing_section(causality, Failing(causality.course.end_us // 2, frozenset({task})))
        assert found.verdict in ("orphaned", "nobody orphaned", "undecided")
        assert bool(found.numbers["orphaned"]) == bool(found.claims)
        assert all(one.evidence[0].startswith(f"log:{one.about[5:]}/") for one in found.claims)


def test_what_names_no_failures_is_refused() -> None:
    assert failing_of("join.0, map.1@20") == Failing(20_000, frozenset({"join.0", "map.1"}), "task", True)
    assert failing_of("host:host-1@0").by == "host"
    for text in ("", "join.0", "@5", "join.0@x", "join.0@-1"):
        with pytest.raises(WrongSetting):
            failing_of(text)
    causality = BundleCausality(bundle_of(world_of(1)[1]))
    with pytest.raises(WrongSetting, match="no task"):
        failing_section(causality, failing_of("nobody.0@1"))
