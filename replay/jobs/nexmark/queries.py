"""NEXMark's queries without windows: 1, currency conversion; 2, selection; 3, local item suggestion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from replay.jobs.nexmark.model import is_auction, is_bid, is_person
from replay.model import Record
from replay.runtime.operators.functional import FlatMap
from replay.runtime.operators.joins import StreamingJoin

DOLLARS_TO_EUROS = (908, 1000)
AUCTION_SKIP = 123
LOCAL_STATES = ("OR", "ID", "CA")
LOCAL_CATEGORY = 10


class CurrencyConversion(FlatMap):
    """Query 1: SELECT auction, bidder, DOLTOEUR(price), dateTime, extra FROM bid."""

    description = "Turns the price of each bid from dollar cents into euro cents; other events end here."

    def flat_map(self, record: Record) -> Iterable[Record]:
        """Whole cents, rounded down; all other fields stay as they are."""
        if is_bid(record.value):
            numerator, denominator = DOLLARS_TO_EUROS
            price = record.value["price"] * numerator // denominator
            yield Record(record.key, record.timestamp, {**record.value, "price": price}, record.lineage)


class Selection(FlatMap):
    """Query 2: SELECT auction, price FROM bid WHERE auction % 123 = 0."""

    description = "Passes on auction and price of the bids on every 123rd auction; all else ends here."

    def flat_map(self, record: Record) -> Iterable[Record]:
        """Nothing of a bid but auction and price."""
        value = record.value
        if is_bid(value) and value["auction"] % AUCTION_SKIP == 0:
            chosen = {"auction": value["auction"], "price": value["price"]}
            yield Record(record.key, record.timestamp, chosen, record.lineage)


class Persons(FlatMap):
    """New persons, by their id."""

    description = "Passes on new persons; all else ends here."

    def flat_map(self, record: Record) -> Iterable[Record]:
        """A person is its own key."""
        if is_person(record.value):
            yield record


class Auctions(FlatMap):
    """New auctions, by their seller."""

    description = "Passes on new auctions by seller; all else ends here."

    def flat_map(self, record: Record) -> Iterable[Record]:
        """Keyed as the persons are that they are to meet."""
        if is_auction(record.value):
            yield Record(record.value["seller"], record.timestamp, record.value, record.lineage)


class Bids(FlatMap):
    """Bids, by their auction."""

    description = "Passes on bids by auction; all else ends here."

    def flat_map(self, record: Record) -> Iterable[Record]:
        """A bid is keyed by its auction."""
        if is_bid(record.value):
            yield record


class BidsByBidder(FlatMap):
    """Bids, by their bidder."""

    description = "Passes on bids by bidder; all else ends here."

    def flat_map(self, record: Record) -> Iterable[Record]:
        """Keyed by who bids."""
        if is_bid(record.value):
            yield Record(record.value["bidder"], record.timestamp, record.value, record.lineage)


class LocalPersons(FlatMap):
    """Of query 3: WHERE P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA'."""

    description = "Passes on new persons from Oregon, Idaho and California; all else ends here."

    def flat_map(self, record: Record) -> Iterable[Record]:
        """A person is its own key."""
        if is_person(record.value) and record.value["state"] in LOCAL_STATES:
            yield record


class LocalAuctions(FlatMap):
    """Of query 3: WHERE A.category = 10."""

    description = "Passes on new auctions of category 10, by seller; all else ends here."

    def flat_map(self, record: Record) -> Iterable[Record]:
        """Keyed as the persons are that they are to meet."""
        if is_auction(record.value) and record.value["category"] == LOCAL_CATEGORY:
            yield Record(record.value["seller"], record.timestamp, record.value, record.lineage)


class LocalItemSuggestion(StreamingJoin):
    """Query 3: SELECT P.name, P.city, P.state, A.id WHERE A.seller = P.id, each pair as soon as both are there."""

    description = "Joins persons with the auctions that they sell, whichever comes first."
    left_is_unique = True

    def join(self, left: Mapping[str, Any], right: Mapping[str, Any]) -> Any:
        """Who sells what, and where."""
        return {"name": left["name"], "city": left["city"], "state": left["state"], "id": right["id"]}
