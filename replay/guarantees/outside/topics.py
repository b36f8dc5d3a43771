"""What references of a recording stand for: the records of its sources' topics, by where they stand."""

from __future__ import annotations

from collections.abc import Iterator

from replay.errors import ReplayError
from replay.guarantees.outside.keys import digest, shown_key, text_of_all
from replay.guarantees.outside.mapping import How
from replay.guarantees.outside.rows import Outside, Row
from replay.guarantees.outside.spool import Known

_REMEDY = "Name a dump of the topic: kafka-dump:PATH"


def known_records(topics: Outside, how: How) -> Iterator[Known]:
    """With the keys that the records of a recording would have. Raises `ReplayError` for what stands nowhere."""
    for row in topics.rows():
        label, at = _place(row, topics.name)
        values = how.source_key.of(row.fields)
        text = None if values is None else text_of_all(values)
        yield Known(label, at, None if text is None else digest(text), "" if text is None else shown_key(text))


def _place(row: Row, name: str) -> tuple[str, int]:
    label, _, at = (row.place or "").rpartition("#")
    if not label or label.startswith("["):
        raise ReplayError(f"row {row.where} tells no topic, partition and offset", path=name, remedy=_REMEDY)
    return label, int(at)
