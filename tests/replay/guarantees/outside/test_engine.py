"""Worlds of the engine under all settings, with what could be seen outside: the verdict from outside is the truth."""

import sys
from collections import Counter

import pytest

from bench.truths.watching import ONE_FOR_ONE, seen_outside
from bench.truths.worlds import Known, known_world
from replay.guarantees.outside import Held, How, outside
from replay.jobs.churn import TIMER_KEY


def verdicts(seeds: range) -> Counter[tuple[str, str]]:
    """By truth, of jobs that give one record for each."""
    found: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        known = known_world(seed)
        if known.truth.delivery is not None and _one_for_one(known):
            told = outside(known.bundle, _rows(known), How.parse("task,n", "task,offset"))
            assert told.verdict in ("undecided", known.truth.delivery), (seed, known.truth, told)
            found[known.truth.delivery, told.verdict] += 1
    return found


def _one_for_one(known: Known) -> bool:
    ways = known.recording.ways_to("sink").values()
    return known.recording.manifest.job.name in ONE_FOR_ONE and set(ways) == {1}


def _rows(known: Known) -> Held:
    """Each by the source's record that it is of."""
    seen = [one for one in seen_outside(known.world, known.recording) if one.key != TIMER_KEY and one.lineage]
    places = [one.lineage[0] for one in seen if one.lineage]
    return Held.of(
        "sink", [{"task": task, "n": n, "value": one.value} for one, (task, n) in zip(seen, places, strict=True)]
    )


@pytest.mark.parametrize("block", range(3))
def test_what_the_engines_sinks_gave_is_judged_as_it_is(block: int) -> None:
    found = verdicts(range(7_000 + 30 * block, 7_030 + 30 * block))
    assert not any(told == "undecided" for _, told in found), found
    assert found["exactly once", "exactly once"] and found["at least once", "at least once"], found


if __name__ == "__main__":
    print(verdicts(range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2]))))
