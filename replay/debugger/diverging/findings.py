"""The divergences of one replay: it stops at the first, or goes on and numbers what follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from replay.debugger.outcome import DivergenceFound

OnDivergence = Literal["stop", "go-on"]
ON_DIVERGENCE: tuple[OnDivergence, ...] = ("stop", "go-on")
"""What a replay does at a divergence: it ends there, or takes the recording's word and goes on."""

MOST_DIVERGENCES = 100
"""So many are told of, then a replay stops that would go on: by then they follow from one another."""

Tell = Callable[[DivergenceFound, int], tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Finding:
    """A divergence that was told of: the sentence, and everything else."""

    sentence: str
    detail: dict[str, Any]


@dataclass(slots=True)
class Findings:
    """`tell` writes the step of the so-and-so-many-th divergence."""

    on_divergence: OnDivergence = "stop"
    tell: Tell = field(default=lambda found, number: (found.sentence, found.detail))
    all: list[Finding] = field(default_factory=list)
    stopped: bool = False

    @property
    def goes_on(self) -> bool:
        """Whether a divergence is no reason to stop."""
        return self.on_divergence == "go-on" and not self.stopped

    def differs(self, found: DivergenceFound) -> None:
        """Raises it where the replay is to stop; else it is told of, and whoever calls goes on."""
        if not self.goes_on:
            raise found
        self.stopped = len(self.all) + 1 >= MOST_DIVERGENCES
        if self.stopped:
            raise found
        self.add(found)

    def add(self, found: DivergenceFound) -> None:
        """Tells of it, whatever happens then."""
        self.all.append(Finding(*self.tell(found, len(self.all) + 1)))

    def detail(self) -> dict[str, Any]:
        """That of the first, with the others in short."""
        first = self.all[0].detail
        if self.on_divergence == "stop":
            return first
        further = [
            {"sentence": one.sentence, **{name: one.detail[name] for name in _KEPT if name in one.detail}}
            for one in self.all[1:]
        ]
        return {**first, "divergences": len(self.all), "further": further, "stopped": self.stopped}


_KEPT = ("step", "member", "thread", "epoch", "offset", "byte", "channel", "buffer", "asked", "logged", "task")
