"""The fault-tolerance protocols, by name."""

from replay.protocols.clonos import Clonos
from replay.protocols.coordinated import Coordinated
from replay.protocols.gaps import Gaps
from replay.protocols.optimistic import Optimistic
from replay.protocols.pessimistic import Pessimistic
from replay.runtime.protocol import FaultTolerance

PROTOCOLS: dict[str, type[FaultTolerance]] = {
    one.name: one for one in (Clonos, Gaps, Pessimistic, Optimistic, Coordinated)
}

__all__ = ["PROTOCOLS", "Clonos", "Coordinated", "Gaps", "Optimistic", "Pessimistic"]
