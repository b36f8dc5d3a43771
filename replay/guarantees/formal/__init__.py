"""The formal model of delivery, consistency and determinism: its definitions decided, and held against recordings."""

from replay.guarantees.formal.section import formal

__all__ = ["formal"]
