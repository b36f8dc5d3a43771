"""NEXMark over windows: query 5, hot items; 7, highest bid; 8, new users; 11, user sessions; 12, bids by the clock."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from replay.model import Record
from replay.runtime.operators import Context, Lineage
from replay.runtime.operators.joins import WindowedJoin
from replay.runtime.operators.panes import Window
from replay.runtime.operators.windows import WindowOperator


class _Count(WindowOperator):
    """How many records a window has of a key."""

    def empty(self) -> Any:
        """None yet."""
        return 0

    def add(self, held: Any, record: Record, context: Context) -> Any:
        """One more."""
        return held + 1


class BidsPerAuction(_Count):
    """Query 5, first half: how many bids there were on each auction in each window."""

    description = "Counts the bids on each auction in sliding windows."

    def results(self, key: Any, window: Window, held: Any, lineage: Lineage) -> Iterable[Record]:
        """By window, so that one task sees all counts of it."""
        yield Record(window.end_ms, window.last_ms, {"auction": key, "num": held}, lineage)


class _Best(WindowOperator):
    """The best of a window, and all that are as good, each with its own lineage."""

    @abstractmethod
    def score(self, value: Mapping[str, Any]) -> Any:
        """What is best where it is largest."""

    @abstractmethod
    def order(self, value: Mapping[str, Any]) -> Any:
        """How those that are equally good are put in order."""

    def names(self, record: Record) -> Lineage:
        """None: each of the best names its own."""
        return ()

    def add(self, held: Any, record: Record, context: Context) -> Any:
        """Only the best so far are held."""
        one = [record.value, [list(pair) for pair in record.lineage or ()]]
        score = self.score(record.value)
        best = self.score(held[0][0]) if held else score
        if score > best:
            return [one]
        return [*held, one] if score == best else held

    def results(self, key: Any, window: Window, held: Any, lineage: Lineage) -> Iterable[Record]:
        """All of the best."""
        for value, names in sorted(held, key=lambda one: (self.order(one[0]), one[1])):
            pairs = tuple((task, offset) for task, offset in names)
            yield Record(self.key_of(window, value), window.last_ms, value, pairs)

    @abstractmethod
    def key_of(self, window: Window, value: Mapping[str, Any]) -> Any:
        """The key that a result goes on with."""


class HottestAuctions(_Best):
    """Query 5, second half: the auctions with the most bids of each window."""

    description = "Finds the auctions with the most bids in each window, all of those that have as many."

    def score(self, value: Mapping[str, Any]) -> Any:
        """The number of bids."""
        return value["num"]

    def order(self, value: Mapping[str, Any]) -> Any:
        """By auction."""
        return value["auction"]

    def key_of(self, window: Window, value: Mapping[str, Any]) -> Any:
        """The auction."""
        return value["auction"]


class _HighestBids(_Best):
    def score(self, value: Mapping[str, Any]) -> Any:
        """The price."""
        return value["price"]

    def order(self, value: Mapping[str, Any]) -> Any:
        """By time, auction and bidder."""
        return value["dateTime"], value["auction"], value["bidder"]


class HighestBidsHere(_HighestBids):
    """Query 7, first half: the highest bids of a window among those that came to one task."""

    description = "Finds the highest bids of each window among those that come to this task."

    def key_of(self, window: Window, value: Mapping[str, Any]) -> Any:
        """The window, so that one task sees all that may be the highest."""
        return window.end_ms


class HighestBids(_HighestBids):
    """Query 7, second half: the highest bids of a window."""

    description = "Finds the highest bids of each window, all of those that bid as much."

    def key_of(self, window: Window, value: Mapping[str, Any]) -> Any:
        """The auction."""
        return value["auction"]


class NewUsers(WindowedJoin):
    """Query 8: SELECT P.id, P.name, A.reserve WHERE P.id = A.seller, both new in one window."""

    description = "Joins the persons who are new in a window with the auctions that they open in it."

    def join(self, left: Mapping[str, Any], right: Mapping[str, Any]) -> Any:
        """Who, and what he wants at least."""
        return {"id": left["id"], "name": left["name"], "reserve": right["reserve"]}


class BidsPerWindow(_Count):
    """Queries 11 and 12: how many bids each bidder made in each session, or in each window of the wall clock."""

    description = "Counts the bids of each bidder in each of his windows."

    def merge(self, one: Any, other: Any) -> Any:
        """Together."""
        return one + other

    def results(self, key: Any, window: Window, held: Any, lineage: Lineage) -> Iterable[Record]:
        """With the window's bounds."""
        value = {"bidder": key, "bid_count": held, "starttime": window.start_ms, "endtime": window.end_ms}
        yield Record(key, window.last_ms, value, lineage)
