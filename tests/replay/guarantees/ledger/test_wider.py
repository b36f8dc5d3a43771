"""Faults of more than one frame or line: moved, copied, altered or gone as a whole. None is taken for what is so."""

import pytest

from bench.truths.plants import planted
from bench.truths.trials import trial
from bench.truths.wider_plants import WIDER, planted_widely
from bench.truths.worlds import Known, known_world
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.guarantees.claims import Section
from replay.guarantees.ledger import delivery, processing
from replay.guarantees.ledger.executions import Executions
from replay.guarantees.ledger.writes import writes_of
from replay.model import json_bytes, read_json


def planted_in(known: Known, kind: str, seed: int) -> tuple[Section, Section]:
    plant = planted_widely(kind, known.members, seed)
    assert plant is not None
    return both(plant.members)


def both(members: dict[str, bytes]) -> tuple[Section, Section]:
    bundle = Bundle(MembersInMemory(members))
    return processing(bundle), delivery(bundle)


@pytest.mark.parametrize("seed", range(7_300, 7_305))
def test_wider_faults_are_never_taken_for_exactly_once(seed: int) -> None:
    """A fifth of the kinds each: all are planted in every five worlds."""
    found = trial(seed, plants=len(WIDER) // 5, wider=True)
    assert not found.faults, f"world {seed}: {found.faults}"
    for plant in found.plants:
        assert not plant.wrong, f"world {seed}, {plant.kind} in {plant.member}: {plant.said}"


@pytest.mark.parametrize("seed", [7_001, 5_000_007])
def test_clocks_that_are_apart_are_no_fault(seed: int) -> None:
    known = known_world(seed)
    for section, truth in zip(
        planted_in(known, "wall clocks apart", seed), (known.truth.processing, known.truth.delivery), strict=True
    ):
        assert section.verdict == truth
        assert not any(one.verdict == "contradiction" for one in section.claims)


@pytest.mark.parametrize("seed", [5_000_004, 5_000_005])
def test_an_attempt_that_no_event_tells_of_does_not_count(seed: int) -> None:
    """It was taken for the last one, and what the real one had taken for lost."""
    known = known_world(seed)
    for kind in ("attempt copied", "attempt of sink copied"):
        for section in planted_in(known, kind, seed):
            assert section.verdict == "undecided", f"world {seed}, {kind}: {section.sentence}"


def test_a_task_that_is_gone_has_lost_nothing() -> None:
    """Its receipts are not there; that it took nothing is not said by that."""
    known = known_world(5_000_011)
    assert known.truth.processing == "exactly once"
    members = {name: data for name, data in known.members.items() if not name.startswith("tasks/sink.0/")}
    found, _ = both(members)
    assert found.verdict == "undecided"
    assert any(one.wants.startswith("tasks/sink.0/") for one in found.lacks)


@pytest.mark.parametrize(("kind", "wanted"), [("idempotent", "id in"), ("transactional", "txn in")])
def test_writes_that_do_not_say_how_the_outside_counts_them_prove_nothing(kind: str, wanted: str) -> None:
    known = known_world(7_001)
    manifest = read_json(known.members["job.json"])
    assert manifest["protocol"]["sink"] == "plain"
    assert known.truth.delivery == "exactly once"
    manifest["protocol"]["sink"] = kind
    members = {**known.members, "job.json": json_bytes(manifest)}
    bundle = Bundle(MembersInMemory(members))
    writes = writes_of(bundle, Executions.read(bundle), "sink.0")
    assert [wants for _, wants in writes.unknown if wants.startswith(wanted)]
    assert both(members)[1].verdict == "undecided"


def test_a_line_in_an_epoch_in_which_its_task_was_not_is_named() -> None:
    known = known_world(5_000_010)
    plant = planted_widely("sink line in the next epoch", known.members, 5_000_010)
    assert plant is not None
    found, _ = both(plant.members)
    later = next(name for name, data in plant.members.items() if data != known.members[name] and name != plant.member)
    named = [one for one in found.claims if one.verdict == "contradiction" and later in one.sentence]
    assert named, found.sentence


def test_a_receipt_that_must_have_been_there_is_missed() -> None:
    """Without it all that is there is as if each record had counted once, which is not so."""
    known = known_world(2_000_762)
    assert known.truth.processing == "at least once"
    plant = planted("receipt dropped", known.members, 2_000_762)
    assert plant is not None
    for found in both(plant.members):
        assert found.verdict == "undecided", found.sentence
        assert any(one.wants == plant.member for one in found.lacks), found.lacks
