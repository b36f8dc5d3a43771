"""The sweep against the definition: random tables of growth, every set of failures, every moment."""

from __future__ import annotations

import pytest

from replay.guarantees.recoverability.course import Course, course_of
from replay.guarantees.recoverability.port import Depended, Held, Place, Question, Swept
from replay.guarantees.recoverability.sweep import Rows, sweep
from replay.jobs.graphs import manifest_of
from replay.model import Graph, Job, Protocol, Vertex
from tests.replay.guarantees.recoverability.brute_force import Definition
from tests.replay.guarantees.recoverability.growing import Grown, grown, moments

QUESTIONS = [Question(by, world) for by in ("task", "host") for world in (False, True)]


def graph_of(made: Grown) -> Graph:
    vertex = Vertex("a", "map", parallelism=len(made.tasks))
    return Graph(manifest_of(Job("growth", "", "", 0, ""), Protocol("clonos"), [vertex], []))


def rows_of(made: Grown) -> Rows:
    held = [Held(Place(*one.log), one.whose, one.who, one.attempt, one.t_us, one.upto) for one in made.held]
    depended = [Depended(one.who, one.attempt, one.t_us, Place(*one.log), one.upto) for one in made.depended]
    return Rows.of(held, depended)


def swept(made: Grown) -> tuple[Course, Swept]:
    graph = graph_of(made)
    course = course_of(made.events, graph)
    return course, sweep(rows_of(made), course, graph, QUESTIONS, [made.now_us])


def check(seed: int) -> int:
    """How many answers were compared."""
    made = grown(seed)
    _, found = swept(made)
    definition = Definition(made.events, made.held, made.depended)
    compared = 0
    for t_us in moments(made):
        for one in QUESTIONS:
            expected = definition.answer(t_us, by=one.by, world=one.world)
            assert found.worst[one].at(t_us) == expected, f"seed {seed}, {one} at {t_us} us"
            compared += 1
    return compared


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_the_smallest_set_is_what_trying_all_sets_finds(first: int) -> None:
    assert sum(check(seed) for seed in range(first, first + 50))


def test_random_tables_have_answers_of_every_kind() -> None:
    worst = [one for seed in range(100) for one in swept(grown(seed))[1].worst.values()]
    assert {None, 0, 1, 2, 3} <= {size for one in worst for _, size in one.steps}
