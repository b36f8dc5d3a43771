"""What the join of sources and outside has come to: counts of all, examples of some."""

from __future__ import annotations

from dataclasses import dataclass, field

from replay.guarantees.claims import MOST_CLAIMS
from replay.guarantees.outside.judging import Judged, Open


@dataclass(slots=True)
class Ledger:
    """By what was found. `name` is the outside's."""

    name: str
    records: int = 0
    matched: int = 0
    twice: list[Judged] = field(default_factory=list)
    twice_count: int = 0
    differing: int = 0
    lost: list[Judged] = field(default_factory=list)
    lost_count: int = 0
    made_up: list[Judged] = field(default_factory=list)
    made_up_count: int = 0
    open: dict[Open, list[Judged]] = field(default_factory=dict)
    open_count: dict[Open, int] = field(default_factory=dict)
    lost_open: bool = False
    more_open: bool = False

    def add(self, one: Judged) -> None:
        """One key more."""
        if one.made_up:
            self.made_up_count += one.joined.rows
            _keep(self.made_up, one)
            return
        self.records += 1
        self.matched += bool(one.joined.rows)
        self.lost_open |= one.lost_open
        self.more_open |= one.more_open
        if one.too_many:
            self.twice_count += 1
            self.differing += differs(one)
            _keep(self.twice, one)
        if one.lost:
            self.lost_count += 1
            _keep(self.lost, one)
        if one.open:
            self.open_count[one.open] = self.open_count.get(one.open, 0) + 1
            _keep(self.open.setdefault(one.open, []), one, 3)


def _keep(kept: list[Judged], one: Judged, most: int = MOST_CLAIMS) -> None:
    if len(kept) < most:
        kept.append(one)


def differs(one: Judged) -> bool:
    """Whether its rows are not all the same."""
    return len({row.what for row in one.joined.found}) > 1
