"""Two executions of the same work held against each other: what was given before a failure, and what after it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from replay.guarantees.recovery_types.streams import Given


@dataclass(frozen=True, slots=True)
class Compared:
    """`same`: how many records the new execution gave as the old one had; `missing`: how many not, of which `gone` is
    the first. `differing`: the first of one lineage that is not the same, as it was and as it is."""

    same: int
    missing: int
    gone: Given | None = None
    differing: tuple[Given, Given] | None = None


def compare(old: Sequence[Given], new: Sequence[Given]) -> Compared:
    """In order as long as all is the same; past that by lineage, each record as often as it was given."""
    agree = 0
    for one, other in zip(old, new, strict=False):
        if one.what != other.what:
            break
        agree += 1
    if agree in (len(old), len(new)):
        return Compared(agree, len(old) - agree, old[agree] if agree < len(old) else None)
    return _by_lineage(old[agree:], new[agree:], agree)


def _by_lineage(old: Sequence[Given], new: Sequence[Given], agree: int) -> Compared:
    """Of a lineage of which the new execution gave other records it also gave, those are what became of the old."""
    theirs: dict[bytes, list[Given]] = defaultdict(list)
    for one in new:
        theirs[one.whose].append(one)
    left = {whose: Counter(one.what for one in those) for whose, those in theirs.items()}
    lost = []
    for one in old:
        those = left.get(one.whose)
        if those and those[one.what]:
            those[one.what] -= 1
        else:
            lost.append(one)
    differing = None
    for one in lost:
        more = left.get(one.whose) if one.whose else None
        other = next((each for each in theirs.get(one.whose, ()) if more and more[each.what]), None)
        if other is not None:
            differing = one, other
            break
    return Compared(agree + len(old) - len(lost), len(lost), lost[0] if lost else None, differing)
