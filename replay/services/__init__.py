"""What a task may ask of the world, live or replayed: every answer is a determinant in the task's main log."""

from replay.services.choices import Choices, Wall
from replay.services.clock import CausalClock
from replay.services.cursor import Cursor, Divergence

__all__ = ["CausalClock", "Choices", "Cursor", "Divergence", "Wall"]
