"""What kind of recovery each failure got, and what kind of operator each vertex can be, as far as a recording shows."""

from replay.guarantees.recovery_types.section import recovery_types

__all__ = ["recovery_types"]
