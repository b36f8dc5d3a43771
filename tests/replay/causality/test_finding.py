"""Whether a failed task's log was to be found: by definition, and beside what the engine's recoveries came to."""

from __future__ import annotations

from functools import lru_cache

import pytest

from replay.bundle.reader import Bundle
from replay.causality.carried import Depth
from replay.causality.depths import follow
from replay.causality.finding import Failed, failed
from replay.causality.life import Life, lives
from replay.causality.turns import turns_of
from replay.model import WORLD, TaskId
from tests.replay.causality.brute_force import Raw, as_raw
from tests.replay.debugger.worlds import bundle_of, world_of

Place = tuple[str, int]


def failures(bundle: Bundle) -> list[tuple[Life, Failed, Depth]]:
    """Each with what was recorded of its holders; none where logs are not shared."""
    protocol = bundle.manifest.protocol
    if not protocol.logs or protocol.in_storage:
        return []
    events = list(bundle.events())
    known, turns, found = lives(events), turns_of(events), []
    for life in (life for of_task in known.values() for life in of_task):
        failure = failed(bundle, life, turns, known)
        if failure is not None:
            followed = follow(bundle, TaskId(life.task), life.attempt, life.ended_us, turns, known)
            found.append((life, failure, followed.recorded))
    return found


class Asked(Raw):
    """By definition, from the members' bytes."""

    def needed(self, task: str, failure: Failed) -> dict[Place, int]:
        """All that follows from any buffer that had come to anybody who lived."""
        found: dict[Place, int] = {}
        for one, attempt in failure.living:
            for i, channel in enumerate(self.tasks[one]["inputs"] if one != WORLD else ()):
                sender, cuts = self.ends[channel][0], self.cuts(channel)
                for receipt in self.receipts(one, attempt, i):
                    if receipt[3] <= failure.t_us:
                        cut_us, main_epoch, main_offset, epoch, built = cuts[receipt[1], receipt[0]]
                        depends = dict(self.depends(sender, receipt[1], cut_us))
                        depends[sender, "main", main_epoch] = main_offset
                        depends[sender, f"out-{self.ends[channel][1]}", epoch] = built
                        for (of, thread, its_epoch), upto in depends.items():
                            if of == task and its_epoch >= failure.epoch and upto:
                                place = thread, its_epoch
                                found[place] = max(upto, found.get(place, 0))
        return found

    def lacking(self, task: str, failure: Failed) -> dict[Place, tuple[int, int]]:
        held: dict[Place, int] = {}
        for one, attempt in failure.living:
            for (of, thread, epoch), data in self.held(one, attempt, failure.t_us).items() if one != WORLD else ():
                if of == task:
                    held[thread, epoch] = max(len(data), held.get((thread, epoch), 0))
        needed = self.needed(task, failure).items()
        return {place: (held.get(place, 0), upto) for place, upto in needed if held.get(place, 0) < upto}


@pytest.mark.parametrize("seed", range(1, 49))
def test_what_is_lacking_is_what_somebody_follows_and_nobody_holds(seed: int) -> None:
    world, members = world_of(seed)
    bundle = bundle_of(members)
    if bundle.manifest.protocol.sink == "determinant":
        return  # the outside holds some too, and is told of in no receipt
    raw = Asked(as_raw(members).members)
    for name in ("cuts", "receipts", "sendings", "depends"):
        setattr(raw, name, lru_cache(maxsize=None)(getattr(raw, name)))
    for life, failure, recorded in failures(bundle):
        told = {(one.place[0], one.place[1]): (one.held, one.needed) for one in failure.lacking(recorded)}
        assert told == raw.lacking(life.task, failure), f"{life}: {world.reproduce_with}"
        assert failure.bound.unknown == 0


def test_where_something_is_lacking_no_recovery_of_the_engine_goes_on() -> None:
    lacking = found = 0
    for seed in range(1, 121):
        world, members = world_of(seed)
        bundle = bundle_of(members)
        events = list(bundle.events())
        asked = {
            (e["at"], e["attempt"]) for e in events if e["type"] == "determinants-requested" and e["of"] == e["at"]
        }
        went_on = {
            (e["task"], e["attempt"]) for e in events if e["type"] == "recovery-state" and e["to"] == "Replaying"
        } - {(e["task"], e["attempt"]) for e in events if e["type"] == "escalated"}
        for life, failure, recorded in failures(bundle):
            following = life.task, life.attempt + 1
            if following not in asked:
                continue
            if failure.lacking(recorded):
                lacking += 1
                assert following not in went_on, f"{life}: {world.reproduce_with}"
            else:
                found += 1
    assert lacking > 5 and found > 100
