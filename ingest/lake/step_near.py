"""Relations of steps: near one another, or of one record or buffer, of which there may be as many as steps.

Both sides are put into one order, by what they have in common and by step; the nearest of the other side is then the
neighbour there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from ingest.lake.step_arrays import MOST_STEPS, NO_STEPS, Ask, Numbers, StepArrays, pieces
from ingest.lake.step_condition import RANGE
from ingest.lake.step_plan import Asked, Near

LOOKED_UP = 1_000
SPARSE = 64
FEW = 4_096
MANY = 16
"""One in so many steps is a hit of one side: then all are read at once, with what they have in common."""
NAMES = frozenset(("task", "actor", "state", "channel"))
_LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class Common:
    """Steps, ascending, and column by column what they may have in common; `known` where none is lacking."""

    steps: Numbers
    columns: tuple[Numbers, ...]
    known: npt.NDArray[np.bool_]

    def at(self, steps: Numbers) -> Common:
        """Of these of the steps."""
        if not len(steps):
            places = steps
        elif int(self.steps[-1]) - int(self.steps[0]) + 1 == len(self.steps):  # none is left out
            places = steps - self.steps[0]
        else:
            places = np.searchsorted(self.steps, steps)
        return Common(steps, tuple(column[places] for column in self.columns), self.known[places])

    def where(self, met: npt.NDArray[np.bool_]) -> Common:
        return Common(self.steps[met], tuple(column[met] for column in self.columns), self.known[met])

    def among(self, first: int, last: int) -> Common:
        """Those from first up to last."""
        here = slice(np.searchsorted(self.steps, first), np.searchsorted(self.steps, last, "right"))
        return Common(self.steps[here], tuple(column[here] for column in self.columns), self.known[here])

    def whole(self) -> Common:
        """Of those steps that lack none of it."""
        return self if self.known.all() else self.where(self.known)


class NearSteps:
    """`coded` says in SQL which number stands for what a column of names holds; None: it holds the same throughout."""

    def __init__(self, ask: Ask, coded: Callable[[str], str | None], steps: int) -> None:
        self._ask = ask
        self._coded = coded
        self._steps = steps
        self._are_many = False
        self.arrays = StepArrays(ask, self.of, steps)

    def of(self, plan: Near, begin: int, end: int) -> Numbers:
        """The steps of a relation from begin up to, and without, end."""
        before = plan.related.before
        columns = tuple(name for name in plan.columns if name not in NAMES or self._coded(name) is not None)
        sides = self._both_sides(plan, columns, begin, end)
        ones = self.arrays.of(plan.one, begin, end) if sides is None else sides[0].steps
        self._are_many = len(ones) * MANY > end - begin
        if not len(ones):
            return ones
        first, last = int(ones[0]), int(ones[-1])
        # What stands among them counts in any case; how far beyond others do, depends on what they have in common.
        if sides is None:
            among = self.arrays.of(plan.other, first, last + 1)
            one, other = self._common(columns, (ones, among), first, last + 1)
        else:
            one, other = sides[0], sides[1].among(first, last)
        found, known = np.zeros(len(ones), np.bool_), one.whole()
        if len(known.steps):
            outside = self._outside(plan, columns, known)
            others = _joined([outside, other] if before else [other, outside], len(columns))
            found[one.known] = _have_near(known, others.whole(), before, plan.related.within)
        return ones[found != plan.related.negated]

    def _both_sides(self, plan: Near, columns: tuple[str, ...], begin: int, end: int) -> tuple[Common, Common] | None:
        """Ones and others in one go: where there were many before, there may be many again."""
        if not self._are_many or not columns or end - begin > MOST_STEPS:
            return None
        if not isinstance(plan.one, Asked) or not isinstance(plan.other, Asked):
            return None
        sides = f"coalesce({plan.one.condition}, FALSE) AS is_one, coalesce({plan.other.condition}, FALSE) AS is_other"
        asked = f"{self._selected(columns, sides)} WHERE {RANGE} AND (is_one OR is_other)"
        found = self._ask(asked, range_from=begin, range_end=end)
        read = _ordered(found["step"], [found[name] for name in (*columns, "is_one", "is_other")])
        steps = Common(read.steps, read.columns[:-2], read.known)
        is_one, is_other = (column.astype(np.bool_) for column in read.columns[-2:])
        return steps.where(is_one), steps.where(is_other)

    def _outside(self, plan: Near, columns: tuple[str, ...], ones: Common) -> Common:
        """The others before these, or behind them, that may have everything in common with one of them."""
        first, last = int(ones.steps[0]), int(ones.steps[-1])
        before, within = plan.related.before, plan.related.within
        if within is not None:
            beyond = (max(0, first - within), first) if before else (last + 1, min(self._steps, last + within + 1))
            return self._common(columns, (self.arrays.of(plan.other, *beyond),), *beyond)[0]
        condition, params = _alike(columns, ones, before)
        sought = f"{'step < $edge' if before else 'step > $edge'} AND {condition}"
        params["edge"] = first if before else last
        found = self._ask(f"{self._selected(columns)} WHERE {sought} LIMIT {FEW + 1}", **params)
        if len(found["step"]) <= FEW:
            alike = _ordered(found["step"], [found[name] for name in columns])
            ends = (int(alike.steps[0]), int(alike.steps[-1]) + 1) if len(alike.steps) else (0, 0)
            return alike.at(np.intersect1d(self.arrays.of(plan.other, *ends), alike.steps, assume_unique=True))
        edge = self._ask(f"SELECT {'min' if before else 'max'}(step) AS step FROM steps WHERE {sought}", **params)[
            "step"
        ]
        beyond = (int(edge[0]), first) if before else (last + 1, int(edge[0]) + 1)
        return self._common(columns, (self.arrays.of(plan.other, *beyond),), *beyond)[0]

    def _common(self, columns: tuple[str, ...], wanted: Sequence[Numbers], begin: int, end: int) -> list[Common]:
        """What each of these have in common with others, all of a stretch."""
        found: list[list[Common]] = [[] for _ in wanted]
        for piece in pieces(begin, end):
            here = [one[np.searchsorted(one, piece[0]) : np.searchsorted(one, piece[1])] for one in wanted]
            if any(map(len, here)):
                read = self._read(columns, np.concatenate(here), *piece)
                for parts, steps in zip(found, here, strict=True):
                    parts.append(read.at(steps))
        return [_joined(parts, len(columns)) for parts in found]

    def _read(self, columns: tuple[str, ...], wanted: Numbers, begin: int, end: int) -> Common:
        """Of few steps what is asked for, of many what there is: to look each up costs more."""
        if not columns:
            steps = np.arange(begin, end)
            return Common(steps, (), np.ones(len(steps), np.bool_))
        query, params = f"{self._selected(columns)} WHERE {RANGE}", {}
        if len(wanted) <= LOOKED_UP and end - begin > SPARSE * len(wanted):
            query += " AND step IN (SELECT unnest($looked_up))"
            params = {"looked_up": wanted.tolist()}
        found = self._ask(query, range_from=begin, range_end=end, **params)
        return _ordered(found["step"], [found[name] for name in columns])

    def _selected(self, columns: tuple[str, ...], *more: str) -> str:
        """Of steps what they may have in common; names as their numbers."""
        listed = [f"{self._coded(name)} AS {name}" if name in NAMES else name for name in columns]
        return f"SELECT {', '.join(('step', *listed, *more))} FROM steps"


def numbered(column: str, hashes: Set[int], may_be_null: bool) -> str:
    """Another number for each name that stands there, as small as that goes: DuckDB hashes each name that a block of
    steps holds once, where to look it up in a table takes longer than to read the steps."""
    size = next(size for size in count(len(hashes)) if len({code % size for code in hashes}) == len(hashes))
    number = f"CAST(hash({column}) % {size} AS BIGINT)"
    return f"CASE WHEN {column} IS NOT NULL THEN {number} END" if may_be_null else number


def _alike(columns: tuple[str, ...], ones: Common, before: bool) -> tuple[str, dict[str, int]]:
    """What all steps meet that have everything in common with one of these, and as few others as may be."""
    numbers = {name: values for name, values in zip(columns, ones.columns, strict=True) if name not in NAMES}
    bounds = {name: (int(values.min()), int(values.max())) for name, values in numbers.items()}
    if "record_count" not in bounds or bounds["epoch"][0] == bounds["epoch"][1]:
        return _within(bounds), _bound(bounds)
    # Records are counted anew in every epoch: of the epoch at the edge only some can be meant, of others all.
    there = bounds["epoch"][0 if before else 1]
    counts = numbers.pop("record_count")[numbers["epoch"] == there]
    some = "(epoch <> $epoch_there OR record_count BETWEEN $least_there AND $most_there)"
    params = _bound({**{name: bounds[name] for name in numbers}, "there": (int(counts.min()), int(counts.max()))})
    return f"{_within(numbers)} AND {some}", {**params, "epoch_there": there}


def _within(names: Iterable[str]) -> str:
    return " AND ".join(f"{name} BETWEEN $least_{name} AND $most_{name}" for name in names) or "TRUE"


def _bound(bounds: dict[str, tuple[int, int]]) -> dict[str, int]:
    least = {f"least_{name}": bound[0] for name, bound in bounds.items()}
    return least | {f"most_{name}": bound[1] for name, bound in bounds.items()}


def _ordered(steps: Numbers, columns: Sequence[Numbers]) -> Common:
    known = np.ones(len(steps), np.bool_)
    for column in columns:
        if np.ma.isMaskedArray(column):
            known &= ~np.ma.getmaskarray(column)
    plain = [np.ma.getdata(column).astype(np.int64, copy=False) for column in columns]
    if len(steps) > 1 and not (steps[1:] > steps[:-1]).all():
        order = np.argsort(steps, kind="stable")
        steps, plain, known = steps[order], [column[order] for column in plain], known[order]
    return Common(steps, tuple(plain), known)


def _joined(parts: Sequence[Common], columns: int) -> Common:
    if len(parts) == 1:
        return parts[0]
    steps = np.concatenate([NO_STEPS, *(part.steps for part in parts)])
    known = np.concatenate([np.empty(0, np.bool_), *(part.known for part in parts)])
    return Common(
        steps, tuple(np.concatenate([NO_STEPS, *(p.columns[i] for p in parts)]) for i in range(columns)), known
    )


def _have_near(ones: Common, others: Common, before: bool, within: int | None) -> npt.NDArray[np.bool_]:
    """Which of these have one of the others before them, or behind, with everything in common."""
    if not len(others.steps):
        return np.zeros(len(ones.steps), np.bool_)
    low = min(int(ones.steps[0]), int(others.steps[0]))
    width = max(int(ones.steps[-1]), int(others.steps[-1])) - low + 1
    place = ones.steps - low
    one, other = _numbered(ones.columns, others.columns, width, (place, others.steps - low))
    if not (other[1:] > other[:-1]).all():
        other.sort(kind="stable")
    # Of others with nothing in common the nearest are farther apart than the edge of what is looked at.
    if before:
        beside = np.searchsorted(other, one, "left")
        beside -= 1
        apart = one - other.take(beside, mode="clip")
        there, most = beside >= 0, place
    else:
        beside = np.searchsorted(other, one, "right")
        apart = other.take(beside, mode="clip") - one
        there, most = beside < len(other), width - 1 - place
    return there & (apart <= (most if within is None else np.minimum(most, within)))


def _numbered(
    ones: Sequence[Numbers], others: Sequence[Numbers], width: int, places: tuple[Numbers, Numbers]
) -> tuple[Numbers, Numbers]:
    """One number for all that is in common and the place behind it: equal for equal, and in the order of places.

    In place, as far as may be: what is asked of memory costs more than what is reckoned.
    """
    spans = [_span(*pair) for pair in zip(ones, others, strict=True)]
    if math.prod(most - least + 1 for least, most in spans) * width >= _LARGEST:
        ones, others, spans = _squeezed(ones, others)
    found = []
    for columns, place in ((ones, places[0]), (others, places[1])):
        numbers = columns[0] - spans[0][0] if columns else np.zeros(len(place), np.int64)
        for column, (least, most) in zip(columns[1:], spans[1:], strict=True):
            numbers *= most - least + 1
            numbers += column
            numbers -= least
        numbers *= width
        numbers += place
        found.append(numbers)
    return found[0], found[1]


def _span(one: Numbers, other: Numbers) -> tuple[int, int]:
    return min(int(one.min()), int(other.min())), max(int(one.max()), int(other.max()))


def _squeezed(
    ones: Sequence[Numbers], others: Sequence[Numbers]
) -> tuple[list[Numbers], list[Numbers], list[tuple[int, int]]]:
    """All columns as one, without gaps: there are no more of its numbers than steps."""
    numbers, size = np.zeros(len(ones[0]) + len(others[0]), np.int64), 1
    for pair in zip(ones, others, strict=True):
        column, span = _renumbered(np.concatenate(pair))
        numbers, size = _renumbered(numbers * span + column)
    return [numbers[: len(ones[0])]], [numbers[len(ones[0]) :]], [(0, size - 1)]


def _renumbered(numbers: Numbers) -> tuple[Numbers, int]:
    """Equal ones stay equal, and there are no gaps."""
    distinct, places = np.unique(numbers, return_inverse=True)
    return places.astype(np.int64), len(distinct)
