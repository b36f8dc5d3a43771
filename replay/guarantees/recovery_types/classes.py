"""The classes of operators of §2.3.3.1, and what a vertex's logs say against each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from replay.debugger.ports import RecordingSource
from replay.log.determinants import INTERNAL_PREFIX, Rng, Serializable, TimerTrigger, Timestamp
from replay.model import MAIN, Vertex
from replay.runtime.body.timers import CLOCK_CALLBACK

Class = Literal["repeatable", "convergent-capable", "deterministic", "delivery-dependent", "arbitrary"]
CLASSES: tuple[Class, ...] = ("repeatable", "convergent-capable", "deterministic", "delivery-dependent", "arbitrary")
"""The strongest first; each holds all before it."""


@dataclass(frozen=True, slots=True)
class Against:
    """What refutes a class, and with it all that are stronger."""

    refuted: Class
    sentence: str
    evidence: tuple[str, ...] = ()


@dataclass(slots=True)
class OfVertex:
    """One vertex. `against`: of each class the first thing that refutes it; `open`: what is open, and its want."""

    vertex: str
    against: dict[Class, Against] = field(default_factory=dict)
    open: list[tuple[str, str]] = field(default_factory=list)

    def add(self, found: Against) -> None:
        """The first one of each class is enough."""
        self.against.setdefault(found.refuted, found)

    @property
    def strongest(self) -> Class:
        """The strongest class that nothing refutes."""
        refuted = max((CLASSES.index(one) for one in self.against), default=-1)
        return CLASSES[refuted + 1]

    def to_json(self) -> dict[str, Any]:
        """As `numbers` hold it."""
        against = {
            name: {"sentence": one.sentence, "evidence": list(one.evidence)} for name, one in self.against.items()
        }
        return {"vertex": self.vertex, "class": self.strongest, "against": against}


def of_logs(source: RecordingSource, vertex: Vertex, found: OfVertex) -> None:
    """What its tasks were told by clocks, chance, the outside and timers: another execution would be told otherwise."""
    told = {}
    for task in (task.id for task in source.manifest.tasks if task.vertex == vertex.id):
        for attempt in source.attempts(task):
            for epoch in source.epochs(task, attempt, MAIN):
                for number, (_, _, one) in enumerate(source.determinants(task, attempt, MAIN, epoch)):
                    if type(one) in _ASKS and type(one) not in told and _is_the_operators(one):
                        told[type(one)] = f"det:{task}/{attempt}/{MAIN}/{epoch}#{number}"
    for kind, evidence in told.items():
        if reason := _whether_it_asked(vertex, kind):
            found.open.append((f"Whether {vertex.id} {reason}", "the operator's code"))
        else:
            found.add(Against("delivery-dependent", f"it {_ASKS[kind]}", (evidence,)))


_ASKS: dict[type, str] = {
    Timestamp: "asked the wall clock",
    Rng: "drew random numbers",
    Serializable: "asked the outside",
    TimerTrigger: "had timers fire by the wall clock",
}


def _is_the_operators(one: object) -> bool:
    """Timers of the runtime's own read the clock, or make watermarks."""
    if not isinstance(one, TimerTrigger):
        return True
    return one.callback.startswith(INTERNAL_PREFIX) and one.callback != CLOCK_CALLBACK


def _whether_it_asked(vertex: Vertex, kind: type) -> str:
    """A clock that is read by itself, or a generator that is seeded once an epoch, tells of nobody who asked."""
    if kind is Timestamp and str(vertex.services.get("time", "")).startswith("periodic"):
        return "looked at the clock that is read for it can't be told"
    if kind is Rng and vertex.seeds_random:
        return "drew from the generator that is seeded for it can't be told"
    return ""
