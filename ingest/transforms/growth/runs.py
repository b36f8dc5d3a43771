"""Runs: the rows that one attempt of one task made, in time, and again by place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ingest.transforms.growth.spool import Spool


@dataclass(slots=True)
class Run:
    """Rows by place, and in time within each; `first` says where those of each of `places` begin."""

    who: int
    attempt: int
    places: Any
    first: Any
    place: Any
    t_us: Any
    upto: Any
    whose: Any | None = None
    most: Any | None = None
    in_time: tuple[Any, Any, Any] | None = None
    """(t_us, place, upto): what a receiver merges."""

    def __len__(self) -> int:
        return len(self.t_us)


def run_of(who: int, attempt: int, rows: tuple[Any, ...], spool: Spool, *, merged: bool) -> Run:
    """From rows in time, (t_us, place, upto) or with whose attempt's bytes they are."""
    t_us, place, upto, *more = rows
    order = np.argsort(place, kind="stable")
    by_place = place[order]
    places, first = np.unique(by_place, return_index=True)
    found = Run(
        who,
        attempt,
        places,
        np.append(first, len(by_place)),
        spool.keep(by_place),
        spool.keep(t_us[order]),
        spool.keep(upto[order]),
    )
    if more:
        found.whose = spool.keep(more[0][order])
        found.most = spool.keep(_most(found.upto, found.first))
    if merged:
        found.in_time = (spool.keep(t_us.copy()), spool.keep(place.copy()), spool.keep(upto.copy()))
    return found


def _most(upto: Any, first: Any) -> Any:
    """The greatest so far, within each place."""
    if not len(upto):
        return upto
    # Lifted by place, so that one running maximum does for all of them.
    lift = np.repeat(np.arange(len(first) - 1), np.diff(first)) * (int(upto.max()) + 1)
    return np.maximum.accumulate(upto + lift) - lift
