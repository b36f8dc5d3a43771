"""How long a recovery takes: equations 3.1 and 3.2 of the paper with a recording's own numbers."""

from replay.guarantees.recovery_time.model import Parameters, interval_for, what_if
from replay.guarantees.recovery_time.section import recovery_time

__all__ = ["Parameters", "interval_for", "recovery_time", "what_if"]
