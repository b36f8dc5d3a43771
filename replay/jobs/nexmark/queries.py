"""NEXMark's stateless queries: 1, currency conversion, and 2, selection."""

from __future__ import annotations

from replay.jobs.nexmark.model import is_bid
from replay.model import Record
from replay.runtime.operators import Context, Operator

DOLLARS_TO_EUROS = (908, 1000)
AUCTION_SKIP = 123


class CurrencyConversion(Operator):
    """Query 1: SELECT auction, bidder, DOLTOEUR(price), dateTime, extra FROM bid."""

    description = "Turns the price of each bid from dollar cents into euro cents; other events end here."

    def on_record(self, record: Record, context: Context) -> None:
        """Whole cents, rounded down; all other fields stay as they are."""
        if is_bid(record.value):
            numerator, denominator = DOLLARS_TO_EUROS
            price = record.value["price"] * numerator // denominator
            context.emit(Record(record.key, record.timestamp, {**record.value, "price": price}, record.lineage))


class Selection(Operator):
    """Query 2: SELECT auction, price FROM bid WHERE auction % 123 = 0."""

    description = "Passes on auction and price of the bids on every 123rd auction; all else ends here."

    def on_record(self, record: Record, context: Context) -> None:
        """Nothing of a bid but auction and price."""
        value = record.value
        if is_bid(value) and value["auction"] % AUCTION_SKIP == 0:
            chosen = {"auction": value["auction"], "price": value["price"]}
            context.emit(Record(record.key, record.timestamp, chosen, record.lineage))
