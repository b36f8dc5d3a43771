"""One key, both sides: how many records the sources had, how many rows the outside holds, and what follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from replay.guarantees.outside.mapping import PerRecord
from replay.guarantees.outside.spool import Joined, Taken

Open = Literal["", "unfinished", "shared", "untold", "left out"]


@dataclass(frozen=True, slots=True)
class Judged:
    """What one key comes to: rows too many and a loss are proven. `open` is why there may be another of either:

    its epoch never ended; records share the key; the number of rows proves nothing; there is none, which may be meant.
    """

    joined: Joined
    too_many: int = 0
    lost: bool = False
    open: Open = ""
    lost_open: bool = False
    more_open: bool = False

    @property
    def made_up(self) -> bool:
        """Whether it is no record's key."""
        return not self.joined.taken


def judged(joined: Joined, per: PerRecord, parts: bool, by_place: bool, by_offset: bool = False) -> Judged:
    """Of one key. `parts`: rows of a record are told apart. `by_place`: so are records, by partition and offset.
    `by_offset`: checkpoints are offsets, and a record that stands behind the last one is read again."""
    if not joined.taken:
        return Judged(joined)
    least, most = records_of(joined, by_place)
    settled = any(one.settled and (one.committed or not by_offset) for one in joined.taken)
    too_many = _too_many(joined, per, parts, most)
    if (least, most) != (1, 1):
        return _of_several(joined, too_many, bool(per.least) and settled)
    rows = len({one.part for one in joined.found}) if parts else joined.rows
    lost = rows < per.least and not joined.found_beyond
    if not settled:
        return Judged(joined, too_many, False, "unfinished", lost or not per.fixed, True)
    if not parts and per.most != 1:
        return Judged(joined, too_many, lost, "untold", True, True)
    if not lost and (per.most is None or rows < per.most):
        return Judged(joined, too_many, False, "untold" if rows else "left out", True)
    return Judged(joined, too_many, lost)


def _of_several(joined: Joined, too_many: int, due: bool) -> Judged:
    """Of some of them nobody knows whether they have what they should; with no row at all, each has none."""
    if joined.rows:
        return Judged(joined, too_many, False, "shared", True, True)
    return Judged(joined, 0, due, "" if due else "left out", not due)


def _too_many(joined: Joined, per: PerRecord, parts: bool, most: int | None) -> int:
    """Rows beyond those that the records of a key can have."""
    if most is None:
        return 0
    beyond = 0 if per.most is None else max(0, joined.rows - most * per.most)
    if parts:
        of_part = Counter(one.part for one in joined.found)
        beyond = max(beyond, sum(max(0, count - most) for count in of_part.values()))
    return beyond


def records_of(joined: Joined, by_place: bool) -> tuple[int, int | None]:
    """At least and at most so many records have the key; None where nobody counts them."""
    if joined.taken_beyond:
        return 2, None
    if by_place and all(one.at is not None for one in joined.taken):
        places = len({(one.label, one.at) for one in joined.taken})
        return places, places
    at_once = Counter((one.task, one.attempt) for one in set(map(_without_epoch, joined.taken)))
    least = max(at_once.values())
    numbers = len({(one.task, one.number) for one in joined.taken})
    return least, max(least, min(numbers, _by_epoch(joined.taken)))


def _without_epoch(one: Taken) -> Taken:
    return one._replace(epoch=0, settled=False, committed=False, said="")


def _by_epoch(taken: Sequence[Taken]) -> int:
    """An epoch that is executed again takes the same records, whatever their order."""
    counts = Counter((one.task, one.epoch, one.attempt) for one in taken)
    most: dict[tuple[int, int], int] = {}
    for (task, epoch, _), count in counts.items():
        most[task, epoch] = max(most.get((task, epoch), 0), count)
    return sum(most.values())
