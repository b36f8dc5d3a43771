"""Operators without state: one function of a record."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from replay.model import Record
from replay.runtime.operators.base import Context, Operator


class Map(Operator):
    """One record in, one out."""

    @abstractmethod
    def map(self, record: Record) -> Record:
        """What is emitted in place of the record."""

    def on_record(self, record: Record, context: Context) -> None:
        """Emits what `map` makes of it."""
        context.emit(self.map(record))


class Filter(Operator):
    """One record in; it goes on as it is, or ends here."""

    @abstractmethod
    def keeps(self, record: Record) -> bool:
        """Whether it goes on."""

    def on_record(self, record: Record, context: Context) -> None:
        """Emits the record if `keeps` says so."""
        if self.keeps(record):
            context.emit(record)


class FlatMap(Operator):
    """One record in, any number out."""

    @abstractmethod
    def flat_map(self, record: Record) -> Iterable[Record]:
        """What is emitted in place of the record, in this order."""

    def on_record(self, record: Record, context: Context) -> None:
        """Emits all that `flat_map` makes of it."""
        for made in self.flat_map(record):
            context.emit(made)
