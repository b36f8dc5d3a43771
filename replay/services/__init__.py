"""What a task may ask of the world, live or replayed: every answer is a determinant in the task's main log."""

from replay.services.choices import Choices, Wall
from replay.services.clock import CausalClock, PeriodicClock
from replay.services.cursor import Cursor, Divergence
from replay.services.external import ExternalCalls, ExternalFault
from replay.services.random_numbers import RandomPerCall, RandomPerEpoch

__all__ = [
    "CausalClock",
    "Choices",
    "Cursor",
    "Divergence",
    "ExternalCalls",
    "ExternalFault",
    "PeriodicClock",
    "RandomPerCall",
    "RandomPerEpoch",
    "Wall",
]
