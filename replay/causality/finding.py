"""Finding: whether those who lived when a failed task asked for its log held together all that any of them follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from replay.causality.bound import Bound, bound_by
from replay.causality.carried import Depth
from replay.causality.life import ENDED_WITH_RECORDING, Life
from replay.causality.passing_on import Place
from replay.causality.recording import Recording
from replay.causality.turns import Execution, Turns
from replay.errors import ReplayError
from replay.model import WORLD, TaskId

MOST_LACKING = 100


@dataclass(frozen=True, slots=True)
class Lacking:
    """From `held` up to `needed`, nobody had a log that these follow."""

    place: Place
    held: int
    needed: int
    by: tuple[Execution, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure as its recovery found it: `t_us` is when the last answer came, or when it failed if nobody answered."""

    t_us: int
    epoch: int
    living: frozenset[Execution]
    bound: Bound

    @property
    def needed(self) -> dict[Place, int]:
        """The furthest that anybody depends on, of the epochs that are not in the checkpoint."""
        found: dict[Place, int] = {}
        for upto in self.bound.upto.values():
            for place, length in upto.items():
                if place[1] >= self.epoch and length:
                    found[place] = max(length, found.get(place, 0))
        return found

    def lacking(self, depth: Depth | None) -> list[Lacking]:
        """What could not have been found at that depth; None is depth 0, where nobody holds anything."""
        held: dict[Place, int] = {}
        for who, copies in depth.copies.items() if depth is not None else ():
            if who in self.living:
                for place, upto in copies.at(self.t_us).items():
                    held[place] = max(upto, held.get(place, 0))
        found = []
        for place, needed in sorted(self.needed.items()):
            had = held.get(place, 0)
            if had < needed:
                by = sorted(who for who, upto in self.bound.upto.items() if upto.get(place, 0) > had)
                found.append(Lacking(place, had, needed, tuple(by)))
        return found


def failed(recording: Recording, life: Life, turns: Turns, known: Mapping[str, list[Life]]) -> Failed | None:
    """None where that attempt did not fail."""
    if life.failure is None:
        return None
    task, following = TaskId(life.task), (TaskId(life.task), life.attempt + 1)
    asked = turns.questions.get(following)
    if asked:
        epoch, t_us = asked[-1][1], turns.answered.get(following, asked[-1][0])
    else:
        t_us = life.ended_us
        epoch = max((checkpoint for when, checkpoint in turns.completed if when <= t_us), default=0)
    outside = (TaskId(WORLD), turns.lineage(t_us))
    living = frozenset((*_living(recording, task, known, t_us), outside))
    try:
        bound = bound_by(recording, task, set(living), t_us)
    except ReplayError:  # a member is damaged: what came with it is not known
        bound = Bound(unknown=1)
    return Failed(t_us, epoch, living, bound)


def _living(recording: Recording, task: TaskId, known: Mapping[str, list[Life]], t_us: int) -> list[Execution]:
    """The attempts downstream that had not ended; one that only recovers counts with what came to it."""
    found = []
    for one in recording.graph.all_downstream(task):
        lives = known.get(one, [])
        begun = max((life.attempt for life in lives if life.started_us <= t_us), default=0)
        over = {life.attempt for life in lives if life.ended_us <= t_us and life.ended_by != ENDED_WITH_RECORDING}
        found += [(one, n) for n in recording.attempts(one) if n >= begun and n not in over]
    return found
