"""Operators on recorded records: a pair that does not commute is one, and what can't be tried is said."""

from __future__ import annotations

import json

import pytest

from replay.guarantees.formal import formal
from replay.guarantees.formal.commuting import Commuting, commutativity
from replay.jobs.concat import Concat
from replay.model import Record, TaskId
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import MemoryMembers, bundle_of
from tests.replay.guarantees.observed.worlds import manifest


def of_vertex(members: MemoryMembers, vertex: str) -> Commuting:
    return next(one for one in commutativity(bundle_of(members)) if one.vertex == vertex)


def test_letters_that_are_put_one_behind_the_other_do_not_commute_and_the_pair_is_named() -> None:
    members = failing(job="concat", depth=None)
    found = of_vertex(members, "concat")
    assert found.verdict == "does not commute" and found.pair is not None
    x, y = found.pair.x.record, found.pair.y.record
    assert found.pair.across and x.key == y.key and x.lineage != y.lineage
    section = formal(bundle_of(members))
    claim = next(one for one in section.claims if one.verdict == "does not commute")
    ((task, offset),) = x.lineage or ()
    assert f"record {offset} of {task}" in claim.sentence and f"source:{task}/0#{offset}" in claim.evidence
    assert section.sentence.endswith("The order of records tells in concat.")


def test_the_pair_that_is_named_comes_to_another_text_by_hand_too() -> None:
    pair = of_vertex(failing(job="concat", depth=None), "concat").pair
    assert pair is not None and pair.after == 0
    texts = []
    for one, other in ((pair.x, pair.y), (pair.y, pair.x)):
        operator, given = Concat(), _Given()
        operator.on_record(one.record, given)  # type: ignore[arg-type]
        operator.on_record(other.record, given)  # type: ignore[arg-type]
        texts.append(sorted(json.dumps(record.value) for record in given.records))
    assert texts[0] != texts[1]


class _Given:
    """As much of a context as the operator asks for."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def emit(self, record: Record) -> None:
        self.records.append(record)


@pytest.mark.parametrize(
    ("job", "vertex"), [("word-count", "split"), ("nexmark-q1", "convert"), ("pass-through", "sink")]
)
def test_what_looks_at_one_record_alone_is_not_refuted_and_not_called_proven(job: str, vertex: str) -> None:
    found = of_vertex(failing(job=job, depth=None), vertex)
    assert found.verdict == "no counterexample" and found.tried_across > 50


def test_what_keeps_the_last_of_a_key_does_not_commute_within_a_channel_either() -> None:
    found = of_vertex(failing(job="concat", depth=None), "concat")
    assert found.within is not None and not found.within.across


def test_an_operator_that_asks_the_outside_is_not_tried_further() -> None:
    found = of_vertex(failing(job="enrich", depth=None), "enrich")
    assert (found.verdict, found.unknown) == ("unknown", "it asks the outside (profile)")


def test_an_operator_that_is_not_installed_is_named_as_what_is_missing() -> None:
    section = formal(bundle_of(MemoryMembers({"job.json": manifest().to_bytes()})))
    assert "the operator jobs.orders:process" in [one.wants for one in section.lacks]
    assert section.verdict == "nothing left" and section.good is None


def test_records_that_are_not_recorded_are_named() -> None:
    found = of_vertex(failing(job="concat", depth=None).without("tasks/source.0/0/sent-"), "concat")
    assert found.verdict == "unknown" and found.wants.startswith("tasks/source.0/0/sent-0")


def test_sources_have_one_channel() -> None:
    members = failing(job="concat", depth=None)
    assert bundle_of(members).graph.task(TaskId("source.0")).inputs == ()
    assert of_vertex(members, "source").verdict == "one channel"
