"""Consistent cuts: whether nothing was received in one that was not sent in it, and the latest one that is so."""

from replay.guarantees.cuts.cut import Cut, InFlight, Orphan, Stand
from replay.guarantees.cuts.cuts import Cuts
from replay.guarantees.cuts.section import consistent_cuts

__all__ = ["Cut", "Cuts", "InFlight", "Orphan", "Stand", "consistent_cuts"]
