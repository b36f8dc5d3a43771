"""Operators: small classes that say what a task does with its records, and the context that they are given."""

from replay.runtime.operators.base import (
    Clock,
    Context,
    Lineage,
    Operator,
    RandomNumbers,
    Timer,
    merged_lineage,
)
from replay.services import ExternalFault

__all__ = [
    "Clock",
    "Context",
    "ExternalFault",
    "Lineage",
    "Operator",
    "RandomNumbers",
    "Timer",
    "merged_lineage",
]
