"""The changes of a fork, one after the other: where each begins, and what it needs to know of the run before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from replay.debugger.forks.answering import Answering
from replay.debugger.forks.changes import Change, LostDeterminant, OfAnswers, OtherOrder, OtherValue
from replay.debugger.forks.edits import edited
from replay.debugger.forks.places import ForkPlace
from replay.debugger.forks.survival import Survival
from replay.debugger.recorded.logs import Logs
from replay.model import ChannelId
from replay.recovery.answers import Answer


@dataclass(frozen=True, slots=True)
class Losing:
    """What of the logs nobody has: by output, how many buffers are still named; and from which (epoch, offset) on the
    main log is lost, if it is."""

    named: tuple[int, ...]
    main: tuple[int, int] | None


@dataclass(slots=True)
class Stage:
    """`at` is the step from which on it is otherwise, `words` what is, as soon as that is known.

    `altered`: by output, what is answered instead. `first`: by output, the first buffer that it may affect.
    `asked` answers to whoever asks from there on, where that is otherwise.
    `survival`: of another task that fails there, or of this one, which fails `again`.
    """

    change: Change
    place: ForkPlace
    at: int
    words: str = ""
    losing: Losing | None = None
    altered: Mapping[ChannelId, Answer] = field(default_factory=dict)
    first: Mapping[str, int] = field(default_factory=dict)
    survival: Survival | None = None
    asked: Answering | None = None
    again: bool = False

    def edited(self, logs: Logs) -> Logs:
        """The logs as they are from here on."""
        if self.place.own or not isinstance(self.change, OtherOrder | OtherValue | LostDeterminant):
            return logs
        changed, self.words = edited(logs, self.place, self.change)
        return changed


def seed_of_answers(stages: Sequence[Stage]) -> int:
    """By which a task chooses to which less is answered."""
    seeds = [stage.change.seed for stage in stages if isinstance(stage.change, OfAnswers)]
    return seeds[-1] if seeds else 0
