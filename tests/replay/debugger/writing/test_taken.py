"""What a determinant says, in one number and one name."""

import pytest

from replay.debugger.writing.taken import facts_of
from replay.log.determinants import (
    KINDS,
    BufferBuilt,
    Determinant,
    IgnoreCheckpoint,
    Order,
    Rng,
    Serializable,
    SourceCheckpoint,
    Take,
    TimerTrigger,
    Timestamp,
)

SAID: list[tuple[Determinant, tuple[int | None, str | None]]] = [
    (Order(3), (3, None)),
    (Timestamp(1_600_000_000_000), (1_600_000_000_000, None)),
    (Rng(-5), (-5, None)),
    (Serializable.of(3, b'{"call":"external","name":"price","effect":"read","value":1020}'), (None, "price")),
    (Serializable.of(2, b"hello"), (None, None)),
    (TimerTrigger(7, 1_000, "watermark"), (1_000, "watermark")),
    (SourceCheckpoint(7, 4, 1_000, "savepoint"), (4, "savepoint")),
    (IgnoreCheckpoint(7, 4), (4, None)),
    (BufferBuilt(32_768), (32_768, None)),
    (Take(2, 100, 5), (2, None)),
]


@pytest.mark.parametrize(("determinant", "facts"), SAID, ids=lambda one: str(one)[:40])
def test_facts(determinant: Determinant, facts: tuple[int | None, str | None]) -> None:
    assert facts_of(determinant) == facts


def test_every_kind_is_among_them() -> None:
    assert {type(determinant) for determinant, _ in SAID} == set(KINDS)
