"""The fault-tolerance protocols, by name."""

from replay.protocols.clonos import Clonos
from replay.runtime.protocol import FaultTolerance

PROTOCOLS: dict[str, type[FaultTolerance]] = {Clonos.name: Clonos}

__all__ = ["PROTOCOLS", "Clonos"]
