"""What NEXMark's events look like, and how many there are of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PERSONS, AUCTIONS, BIDS = 1, 3, 46
"""Of so many events in a row, in this order."""

ROUND = PERSONS + AUCTIONS + BIDS
FIRST_PERSON_ID = 1000
FIRST_AUCTION_ID = 1000
FIRST_CATEGORY_ID = 10
CATEGORIES = 5

STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
)  # fmt: skip
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")


def is_person(value: Mapping[str, Any]) -> bool:
    """Whether an event is a new person."""
    return "emailAddress" in value


def is_auction(value: Mapping[str, Any]) -> bool:
    """Whether an event is a new auction."""
    return "itemName" in value


def is_bid(value: Mapping[str, Any]) -> bool:
    """Whether an event is a bid."""
    return "bidder" in value
