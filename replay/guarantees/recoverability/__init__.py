"""Recoverability: for every moment and every set of failures, whether survivors hold what survivors follow from."""

from replay.guarantees.recoverability.section import recoverability

__all__ = ["recoverability"]
