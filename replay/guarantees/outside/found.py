"""The rows of the outside, on their way to the join: which have a key, and which do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replay.errors import ReplayError, printable
from replay.guarantees.outside.doubts import Doubts
from replay.guarantees.outside.keys import digest, text_of_all
from replay.guarantees.outside.mapping import How
from replay.guarantees.outside.rows import Outside, Row
from replay.guarantees.outside.spool import Found, Spool
from replay.model import json_bytes

_LONGEST_SAID = 1_024


@dataclass(slots=True)
class Rows:
    """Reads the outside once. `without_key`: the first row that has none, and how many there are."""

    outside: Outside
    how: How
    doubts: Doubts
    rows: int = 0
    without_key: int = 0
    first_without: str = ""

    def read(self, spool: Spool) -> None:
        """What can't be read to its end is a doubt, and what stands before it counts."""
        name = printable(self.outside.name)
        try:
            spool.find(self._found())
        except ReplayError as fault:
            self.doubts.unproven_losses(
                f"{name} can't be read to its end: {fault}", f"the rest of {name}", f"outside:{name}"
            )
        if self.without_key:
            count = f"{self.without_key:,} row{'' if self.without_key == 1 else 's'} of {name}"
            self.doubts.unproven_losses(
                f"{count} without {self._named()}, as row {printable(self.first_without)}: any record may be theirs.",
                "a column or path that every row has (--key)",
                f"outside:{name}",
            )

    def _named(self) -> str:
        return str(self.how.key) if self.how.part is None else f"{self.how.key} or {self.how.part}"

    def _found(self) -> Iterator[Found]:
        for row in self.outside.rows():
            self.rows += 1
            try:
                key, part, data = *self._keys(row), json_bytes(row.value)
            except RecursionError:
                why = f"row {row.where}: its value is nested too deeply"
                raise ReplayError(why, path=self.outside.name, remedy="Leave it out") from None
            if key is None or (part is None and self.how.part is not None):
                self.without_key += 1
                self.first_without = self.first_without or row.where
                continue
            said = data.decode() if len(data) <= _LONGEST_SAID else ""
            yield Found(digest(key), row.place, part, digest(data), self.rows, row.where, said)

    def _keys(self, row: Row) -> tuple[str | None, bytes | None]:
        key, part = self.how.key.of(row.fields), self.how.part.of(row.fields) if self.how.part else None
        told = text_of_all(part) if part is not None else None
        return None if key is None else text_of_all(key), None if told is None else digest(told)
