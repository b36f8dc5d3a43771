"""The table of protocols says what the protocols say of themselves."""

from __future__ import annotations

from replay.model import Protocol
from replay.protocols import PROTOCOLS
from tests.docs.pages import sections, tables


def test_every_protocol_is_documented_with_what_it_keeps() -> None:
    (table,) = tables("protocols.md")
    said = [
        (one.name, "yes" if one.in_flight else "no", "yes" if one.shares else "no")
        for one in (make() for make in PROTOCOLS.values())
    ]
    assert [one.name for one in PROTOCOLS.values() if one.waits] == [
        name for name in PROTOCOLS if Protocol(name).waits
    ], "what a recording's manifest says of it is what the engine does"
    columns = [table.column(name) for name in ("protocol", "keeps sent buffers", "piggybacks determinants")]
    assert list(zip(*columns, strict=True)) == said
    assert list(sections("protocols.md")) == [name for name, _, _ in said]
