"""Runs: rows that one attempt of one task made in a span of time, by place."""

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

    def __len__(self) -> int:
        return len(self.t_us)


def run_of(who: int, attempt: int, rows: tuple[Any, ...], spool: Spool) -> Run:
    """From rows in time, (t_us, place, upto) or with whose attempt's bytes they are."""
    t_us, place, upto, *more = rows
    order = np.argsort(place, kind="stable")
    by_place = place[order]
    places, first = np.unique(by_place, return_index=True)
    columns = (spool.keep(one) for one in (by_place, *(each[order] for each in (t_us, upto, *more))))
    return Run(who, attempt, places, np.append(first, len(by_place)), *columns)
