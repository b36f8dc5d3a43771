"""NEXMark's events, each a pure function of seed, partition and index: whoever it names exists by then.

Partitions run side by side: events of one index come into being at one time. Rounds of one person, three auctions and
46 bids are dealt out to the partitions in turn, so ids count on over all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from replay.jobs.draws import Draws, mixed
from replay.jobs.graphs import ORIGIN_MS
from replay.jobs.nexmark import model
from replay.jobs.nexmark.rate import Rate
from replay.model import Record

_BARE_BYTES = 116
"""What records have on average where none has an `extra`, without lineage."""
_WEIGHTS = {"person": 2, "auction": 5, "bid": 1}
"""How large they are to one another, as in the published generators: 200, 500 and 100 bytes."""
_HOT_BATCH = 100
_POOL = 8192


@dataclass(frozen=True, slots=True)
class Habits:
    """One in so many sellers, auctions and bidders isn't the hot one; how many are looked back on."""

    hot_sellers: int = 4
    hot_auctions: int = 2
    hot_bidders: int = 4
    active_people: int = 1000
    auctions_in_flight: int = 100
    record_bytes: int = 119


class Generator:
    """The events of one partition of `partitions`, by their index, in the order in which they come into being."""

    def __init__(self, *, seed: int, partition: int, partitions: int, rate: Rate, habits: Habits):
        self.rate = rate
        self._base = mixed(mixed(seed) + partition)
        self._partition = partition
        self._partitions = partitions
        self._habits = habits
        events = sum((_WEIGHTS["person"], model.AUCTIONS * _WEIGHTS["auction"], model.BIDS * _WEIGHTS["bid"]))
        extra = max(0, habits.record_bytes - _BARE_BYTES) * model.ROUND / events
        self._extra = {kind: round(extra * weight) for kind, weight in _WEIGHTS.items()}

    def record(self, index: int) -> Record:
        """The event of that index."""
        draws = Draws(mixed(self._base + index))
        at_ms = ORIGIN_MS + self.rate.at_ns(index) // 1_000_000
        turn, place = divmod(index, model.ROUND)
        if place >= model.PERSONS + model.AUCTIONS:
            value = self._bid(turn, at_ms, draws)
            return Record(value["auction"], at_ms, value)
        value = self._auction(index, turn, place, at_ms, draws) if place else self._person(turn, at_ms, draws)
        return Record(value["id"], at_ms, value)

    def _person(self, turn: int, at_ms: int, draws: Draws) -> dict[str, Any]:
        card = " ".join(f"{draws.below(10_000):04d}" for _ in range(4))
        return {
            "id": model.FIRST_PERSON_ID + turn * self._partitions + self._partition,
            "name": f"{_one_of(model.FIRST_NAMES, draws)} {_one_of(model.LAST_NAMES, draws)}",
            "emailAddress": f"{_text(draws, 7)}@{_text(draws, 5)}.com",
            "creditCard": card,
            "city": _one_of(model.CITIES, draws),
            "state": _one_of(model.STATES, draws),
            "dateTime": at_ms,
            "extra": self._extra_of("person", draws),
        }

    def _auction(self, index: int, turn: int, place: int, at_ms: int, draws: Draws) -> dict[str, Any]:
        people = (turn + 1) * self._partitions
        if draws.below(self._habits.hot_sellers):
            seller = (people - 1) // _HOT_BATCH * _HOT_BATCH
        else:
            seller = self._active_person(people, draws)
        initial = _price(draws)
        number = (turn * self._partitions + self._partition) * model.AUCTIONS + place - model.PERSONS
        return {
            "id": model.FIRST_AUCTION_ID + number,
            "itemName": _text(draws, 20),
            "description": _text(draws, 100),
            "initialBid": initial,
            "reserve": initial + _price(draws),
            "dateTime": at_ms,
            "expires": at_ms + 1 + draws.below(2 * self._horizon_ms(index) + 1),
            "seller": model.FIRST_PERSON_ID + seller,
            "category": model.FIRST_CATEGORY_ID + draws.below(model.CATEGORIES),
            "extra": self._extra_of("auction", draws),
        }

    def _bid(self, turn: int, at_ms: int, draws: Draws) -> dict[str, Any]:
        people = (turn + 1) * self._partitions
        last = people * model.AUCTIONS - 1
        if draws.below(self._habits.hot_auctions):
            auction = last // _HOT_BATCH * _HOT_BATCH
        else:
            first = max(0, last - self._habits.auctions_in_flight)
            auction = first + draws.below(last - first + 1)
        if draws.below(self._habits.hot_bidders):
            # The second of its batch, so that hot bidders aren't the hot sellers.
            bidder = min((people - 1) // _HOT_BATCH * _HOT_BATCH + 1, people - 1)
        else:
            bidder = self._active_person(people, draws)
        return {
            "auction": model.FIRST_AUCTION_ID + auction,
            "bidder": model.FIRST_PERSON_ID + bidder,
            "price": _price(draws),
            "dateTime": at_ms,
            "extra": self._extra_of("bid", draws),
        }

    def _active_person(self, people: int, draws: Draws) -> int:
        active = min(people, self._habits.active_people)
        return people - active + draws.below(active)

    def _horizon_ms(self, index: int) -> int:
        """How long until as many auctions as are in flight at once have begun: half of how long one may last."""
        ahead = -(-self._habits.auctions_in_flight * model.ROUND // (model.AUCTIONS * self._partitions))
        return (self.rate.at_ns(index + ahead) - self.rate.at_ns(index)) // 1_000_000

    def _extra_of(self, kind: str, draws: Draws) -> str:
        wanted = self._extra[kind]
        delta = wanted // 5
        size = wanted - delta + draws.below(2 * delta + 1) if delta else wanted
        return _slice(_pool("extra", 0), size, draws) if size else ""


def _price(draws: Draws) -> int:
    """In cents, from 1 to a million of the currency, every power of ten as often."""
    return round(math.pow(10.0, draws.part() * 6.0) * 100.0)


def _one_of(words: tuple[str, ...], draws: Draws) -> str:
    return words[draws.below(len(words))]


def _text(draws: Draws, longest: int) -> str:
    """From three letters on."""
    return _slice(_pool("text", 13), 3 + draws.below(longest - 3), draws).strip()


def _slice(pool: str, size: int, draws: Draws) -> str:
    if size > _POOL // 2:
        pool *= -(-2 * size // _POOL)
    at = draws.below(len(pool) - size)
    return pool[at : at + size]


@cache
def _pool(name: str, spaces: int) -> str:
    """Letters to cut texts from, one in so many being a space: cheaper than drawing letter by letter."""
    draws = Draws(mixed(len(name)))
    return "".join(" " if spaces and not draws.below(spaces) else chr(97 + draws.below(26)) for _ in range(_POOL))
